// The small parts of what a person reads: numbers, suggestions, failures.

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/cli/failure.h"
#include "client/cli/number_text.h"
#include "client/cli/report.h"
#include "client/cli/suggest.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "winnow/kernels/error.h"

namespace winnow::cli {
namespace {

using ::testing::HasSubstr;

TEST(NumberTextTest, ThousandsAreGrouped) {
  EXPECT_EQ(Grouped(0), "0");
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Grouped(1000), "1,000");
  EXPECT_EQ(Grouped(-131072), "-131,072");
  EXPECT_EQ(Grouped(-100), "-100");
  EXPECT_EQ(Grouped(INT64_MIN), "-9,223,372,036,854,775,808");
}

TEST(NumberTextTest, NounsAgreeWithTheirNumber) {
  EXPECT_EQ(Counted(1, "row"), "1 row");
  EXPECT_EQ(Counted(0, "row"), "0 rows");
  EXPECT_EQ(Counted(2048, "block"), "2,048 blocks");
}

TEST(NumberTextTest, DurationsHaveAFittingUnit) {
  EXPECT_EQ(Shown(absl::Microseconds(812)), "812 us");
  EXPECT_EQ(Shown(absl::Microseconds(2310)), "2.31 ms");
  EXPECT_EQ(Shown(absl::Milliseconds(1204)), "1.20 s");
}

TEST(NumberTextTest, AgesHaveAUnitFromTheStart) {
  EXPECT_EQ(ShownAge(absl::Milliseconds(999)), "0s");
  EXPECT_EQ(ShownAge(absl::Milliseconds(61500)), "1m1s");
  EXPECT_EQ(ShownAge(absl::Hours(26)), "26h");
}

TEST(NumberTextTest, BytesHaveAFittingUnit) {
  EXPECT_EQ(ShownBytes(0), "0 B");
  EXPECT_EQ(ShownBytes(1023), "1023 B");
  EXPECT_EQ(ShownBytes(1536 << 10), "1.5 MiB");
  EXPECT_EQ(ShownBytes(int64_t{16} << 30), "16 GiB");
  EXPECT_EQ(ShownBytes(INT64_MAX), "8388608 TiB");
}

TEST(ReportTest, RoutesWithoutRowsAreLeftOut) {
  EXPECT_EQ(Shown(client::RouteCounts{.identity = 3, .split = 5}), "3 identity, 5 split");
  EXPECT_EQ(Shown(client::RouteCounts{}), "none");
}

TEST(SuggestTest, SlipOfTheFingerFindsTheWord) {
  const std::vector<std::string> words = {"topk", "plan", "publish", "--scores", "--lengths"};
  EXPECT_EQ(Nearest("topkk", {"plan"}), "");
  EXPECT_EQ(Nearest("topkk", words), "topk");
  EXPECT_EQ(Nearest("pub", words), "publish");
  EXPECT_EQ(Nearest("--score", words), "--scores");
  EXPECT_EQ(Nearest("--lengts", words), "--lengths");
  EXPECT_EQ(Nearest("tokp", words), "topk");
  EXPECT_EQ(Nearest("lpan", words), "plan");
}

TEST(SuggestTest, NothingNearIsNothing) {
  const std::vector<std::string> words = {"topk", "plan"};
  EXPECT_EQ(Nearest("qwertyuiop", words), "");
  EXPECT_EQ(Nearest("", words), "");
  EXPECT_EQ(Nearest("p", words), "");
  EXPECT_EQ(Nearest(std::string(100000, 'x'), words), "");
}

TEST(FailureTest, ExitCodeSaysWhoMustAct) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCodeOf(absl::InvalidArgumentError("x")), 2);
  EXPECT_EQ(ExitCodeOf(absl::UnavailableError("x")), 3);
  EXPECT_EQ(ExitCodeOf(MakeError(absl::StatusCode::kUnavailable, "draining",
                                 {.reason = ErrorReason::kServerDraining})),
            1)
      << "a server that drains has answered";
  EXPECT_EQ(ExitCodeOf(absl::InternalError("x")), 1);
  EXPECT_EQ(ExitCodeOf(absl::DeadlineExceededError("x")), 1);
}

TEST(FailureTest, LineCannotControlTheTerminal) {
  EXPECT_EQ(FailureLine(absl::InternalError("a\nb\x1b[2J")), "winnow: a b [2J\n");
}

TEST(FailureTest, SourceIsTheOptionOfTheLongestField) {
  const FieldSources sources = {{"page_table", "--page-table p.npy"},
                                {"page_table.row_indices", "--page-table-rows r.npy"},
                                {"scores", "--scores s.npy"}};
  auto message = [&](const char* field) {
    return std::string(
        WithSource(InvalidField(ErrorReason::kValueOutOfRange, field, 5, "1 to 4"), sources)
            .message());
  };
  EXPECT_THAT(message("page_table.row_indices[3]"), HasSubstr("(--page-table-rows r.npy)"));
  EXPECT_THAT(message("page_table[2]"), HasSubstr("(--page-table p.npy)"));
  EXPECT_THAT(message("page_table_rows"), ::testing::Not(HasSubstr("(--")));
  EXPECT_THAT(message("k"), ::testing::Not(HasSubstr("(--")));
}

TEST(FailureTest, StepOfTheRequestIsNotShown) {
  const absl::Status status =
      InvalidField(ErrorReason::kValueOutOfRange, "step.lengths[1]", 21, "at most 20");
  const absl::Status shown = WithSource(status, {{"lengths", "--lengths l.npy"}});
  EXPECT_EQ(shown.message(), "lengths[1] is 21; this server accepts at most 20 (--lengths l.npy)");
  EXPECT_EQ(GetErrorInfo(shown)->field, "lengths[1]");
}

TEST(FailureTest, RowIsCountedFromTheStartOfTheFiles) {
  const absl::Status status =
      MakeError(absl::StatusCode::kInvalidArgument, "lengths[5] is 9",
                {.reason = ErrorReason::kLengthOutOfRange, .field = "lengths", .row = 5});
  const absl::Status shown = WithRowOffset(status, 100, 50);
  EXPECT_EQ(GetErrorInfo(shown)->row, 105);
  EXPECT_THAT(std::string(shown.message()),
              HasSubstr("rows 100 to 149: its row 5 is row 105 of the files"));
  EXPECT_EQ(WithRowOffset(status, 0, 50).message(), status.message());
}

TEST(FailureTest, JsonCarriesWhatProgramsBranchOn) {
  const Json json =
      FailureJson("topk", InvalidField(ErrorReason::kKOutOfRange, "k", 5000, "1 to 2048"));
  EXPECT_EQ(json["command"], "topk");
  EXPECT_EQ(json["error"]["code"], "INVALID_ARGUMENT");
  EXPECT_EQ(json["error"]["reason"], "K_OUT_OF_RANGE");
  EXPECT_EQ(json["error"]["value"], "5000");
  EXPECT_EQ(json["error"]["limit"], "1 to 2048");
}

}  // namespace
}  // namespace winnow::cli
