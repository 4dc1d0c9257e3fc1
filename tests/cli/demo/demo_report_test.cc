#include "client/cli/demo/demo_report.h"

#include <string>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace winnow::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// One row of 20,000 scores with everything in it.
struct Outcome {
  DemoRow row{.length = 20000};
  DemoOutcome outcome{
      .target = "unix:/x.sock", .device = "cpu, test", .seed = 7, .picture = "p.svg"};

  Outcome() {
    row.bytes.resize(20000 * sizeof(float));  // all 0
    TwoLevelResult result{.candidate_length = 16384,
                          .token_boundary = {.kept = 3, .equal = 17},
                          .later_boundary = {.kept = 1, .equal = 1},
                          .publish_time = absl::Microseconds(812),
                          .consume_time = absl::Microseconds(93)};
    result.tokens.resize(512);
    result.blocks.resize(2048);
    result.later.resize(512);
    outcome.rows = {&row};
    outcome.results = {result};
  }
};

TEST(DemoReportTest, EqualResultsAreSaidToBeEqual) {
  const Outcome good;
  const Report report = DemoReport(good.outcome);
  EXPECT_FALSE(report.failed);
  for (const char* part :
       {"20,000 fp32", "512", "3 of 17", "2,048 of 2,500", "812 us", "512 of 16,384", "no tie",
        "93 us", "up to 20,000 equal scores in one", "equal", "seed 7", "p.svg"}) {
    EXPECT_THAT(report.text, HasSubstr(part));
  }
  EXPECT_THAT(report.text, Not(HasSubstr("DIFFER")));
  EXPECT_EQ(report.json["rows"][0]["token_ties"]["equal"], 17);
}

TEST(DemoReportTest, DifferenceFailsAndIsShown) {
  Outcome bad;
  bad.outcome.results[0].difference = "slots[17] is 3, the reference has 4";
  const Report report = DemoReport(bad.outcome);
  EXPECT_TRUE(report.failed);
  EXPECT_THAT(report.text, HasSubstr("DIFFERS"));
  EXPECT_THAT(report.text, HasSubstr("row of 20,000 scores: slots[17] is 3"));
  EXPECT_THAT(report.text, Not(HasSubstr("equal the plain reference")));
  EXPECT_EQ(report.json["differing_rows"], 1);
  EXPECT_EQ(report.json["rows"][0]["difference"], "slots[17] is 3, the reference has 4");
}

TEST(DemoReportTest, TableFitsAHundredColumns) {
  const Outcome good;
  for (absl::string_view line : absl::StrSplit(DemoReport(good.outcome).text, '\n')) {
    EXPECT_LE(line.size(), 100u) << line;
  }
}

}  // namespace
}  // namespace winnow::cli
