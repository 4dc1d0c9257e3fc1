#include "client/loadgen/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace winnow::stress {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

constexpr char kHeader[] = R"({"winnow_trace": 1, "period_us": 100, "origin": "by hand"})";

absl::StatusOr<Trace> WithLine(const std::string& line) {
  return ParseTrace(absl::StrCat(kHeader, "\n", line, "\n"));
}

TEST(TraceTest, EveryOperationAndEveryFormOfLengthsIsRead) {
  const auto trace = ParseTrace(absl::StrCat(kHeader, R"(
{"t_us": 0, "op": "topk", "rows": 3, "columns": 64, "lengths": {"first": 5, "step": 2}, "k": 4,
)"));
  EXPECT_FALSE(trace.ok()) << "an object takes one line";
  const auto read = ParseTrace(absl::StrCat(kHeader,
                                            R"(
{"t_us": 0, "op": "topk", "rows": 3, "columns": 64, "lengths": {"first": 5, "step": 2}, "k": 4, "page_size": 8}
{"t_us": 7, "op": "block_amax", "rows": 2, "columns": 64, "lengths": 9, "block_size": 16, "dtype": "bfloat16"}

{"t_us": 7, "op": "publish", "rows": 2, "columns": 64, "lengths": [0, 64], "k": 4, "k_blocks": 2, "block_size": 8, "page_size": 8}
{"t_us": 9, "op": "consume", "rows": 1, "lengths": 16, "k": 4, "k_blocks": 2, "block_size": 8, "deterministic": true}
)"));
  ASSERT_OK(read);
  EXPECT_EQ(read->origin, "by hand");
  EXPECT_EQ(read->period, absl::Microseconds(100));
  ASSERT_EQ(read->entries.size(), 4u);
  EXPECT_THAT(read->entries[0].lengths, ElementsAre(5, 7, 9));
  EXPECT_EQ(read->entries[0].shape.page_size, 8);
  EXPECT_THAT(read->entries[1].lengths, ElementsAre(9, 9));
  EXPECT_EQ(read->entries[1].shape.dtype, DType::kBfloat16);
  EXPECT_EQ(read->entries[1].at, absl::Microseconds(7));
  EXPECT_THAT(read->entries[2].lengths, ElementsAre(0, 64));
  EXPECT_EQ(read->entries[3].shape.columns, 16);
  EXPECT_TRUE(read->entries[3].shape.deterministic);
}

TEST(TraceTest, WhatIsWrongIsNamedWithItsLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"nonsense", "no JSON object"},
      {"[1]", "no JSON object"},
      {R"({"op": "topk"})", "t_us is missing"},
      {R"({"t_us": -1, "op": "topk"})", "t_us is -1; it takes a whole number from 0 to"},
      {R"({"t_us": 18446744073709551615})", "t_us is 18446744073709551615"},
      {R"({"t_us": 1.5})", "t_us is 1.5"},
      {R"({"t_us": 0})", "op is missing"},
      {R"({"t_us": 0, "op": "sort"})", "op is \"sort\"; it takes topk, block_amax"},
      {R"({"t_us": 0, "op": "topk", "dtype": "int8"})", "dtype is \"int8\""},
      {R"({"t_us": 0, "op": "topk", "rows": 0})", "rows is 0; it takes a whole number from 1"},
      {R"({"t_us": 0, "op": "topk", "rows": 1, "k": 2049})", "k is 2049"},
      {R"({"t_us": 0, "op": "topk", "rows": 1, "k": 1, "columns": 3000000})", "columns is 3000000"},
      {R"({"t_us": 0, "op": "topk", "rows": 65536, "k": 1, "columns": 2097152})", "more than"},
      {R"({"t_us": 0, "op": "topk", "rows": 1, "k": 1, "columns": 9})", "lengths is missing"},
      {R"({"t_us": 0, "op": "topk", "rows": 1, "k": 1, "columns": 9, "lengths": 10})",
       "lengths is 10"},
      {R"({"t_us": 0, "op": "topk", "rows": 2, "k": 1, "columns": 9, "lengths": [1]})",
       "lengths has 1 number for 2 rows"},
      {R"({"t_us": 0, "op": "topk", "rows": 1, "k": 1, "columns": 9, "lengths": ["a"]})",
       "no whole number"},
      {R"({"t_us": 0, "op": "topk", "rows": 2, "k": 1, "columns": 9, "lengths": {"first": 9, "step": 1}})",
       "lengths has 10; a row holds 0 to 9"},
      {R"({"t_us": 0, "op": "topk", "rows": 1, "k": 1, "columns": 9, "lengths": 1, "page_size": 3})",
       "page_size is no power of two"},
      {R"({"t_us": 0, "op": "topk", "rows": 1, "k": 1, "columns": 9, "lengths": 1, "kk": 3})",
       "the key kk is unknown"},
      {R"({"t_us": 0, "op": "block_amax", "rows": 1, "k": 1, "columns": 9, "lengths": 1, "block_size": 8})",
       "the key k is unknown"},
      {R"({"t_us": 101, "op": "topk", "rows": 1, "k": 1, "columns": 9, "lengths": 1})",
       "more than period_us"}};
  for (const auto& [line, what] : cases) {
    EXPECT_THAT(WithLine(line), StatusIs(absl::StatusCode::kInvalidArgument,
                                         AllOf(HasSubstr("line 2: "), HasSubstr(what))))
        << line;
  }
}

TEST(TraceTest, AFileWithoutAHeaderOrRequestsOrInDisorderIsRefused) {
  EXPECT_THAT(ParseTrace(""),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no request")));
  EXPECT_THAT(ParseTrace(kHeader),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no request")));
  EXPECT_THAT(ParseTrace(R"({"t_us": 0})"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a trace begins with")));
  EXPECT_THAT(ParseTrace(R"({"winnow_trace": 2, "period_us": 1, "origin": "x"})"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("winnow_trace is 2")));
  EXPECT_THAT(ParseTrace(R"({"winnow_trace": 1, "period_us": 1})"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("origin is missing")));
  const std::string line = R"(, "op": "topk", "rows": 1, "k": 1, "columns": 9, "lengths": 1})";
  EXPECT_THAT(WithLine(absl::StrCat(R"({"t_us": 5)", line, "\n", R"({"t_us": 4)", line)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("line 3: t_us is less")));
  EXPECT_THAT(ReadTrace("/none.jsonl"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("/none.jsonl")));
}

TEST(TraceTest, TheTracesThatShipAreReadAndSayThatTheyWereNotRecorded) {
  for (const char* name : {"decode.jsonl", "prefill.jsonl"}) {
    const auto trace = ReadTrace(absl::StrCat(WINNOW_TRACES_FOLDER, "/", name));
    ASSERT_OK(trace) << name;
    EXPECT_GT(trace->entries.size(), 50u);
    EXPECT_THAT(trace->origin, HasSubstr("not recorded"));
  }
}

}  // namespace
}  // namespace winnow::stress
