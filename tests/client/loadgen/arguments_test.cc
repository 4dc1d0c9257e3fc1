#include "client/loadgen/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace winnow::stress {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

const std::string kDecode = absl::StrCat(WINNOW_TRACES_FOLDER, "/decode.jsonl");

TEST(ArgumentsTest, DefaultsAreAClosedLoopOfTenSeconds) {
  const auto settings = Resolve({});
  ASSERT_OK(settings);
  EXPECT_EQ(settings->run.in_flight, 16);
  EXPECT_EQ(settings->run.duration, absl::Seconds(10));
  EXPECT_EQ(settings->run.warm_up, absl::Seconds(1));
  EXPECT_FALSE(settings->trace.has_value());
}

TEST(ArgumentsTest, ATraceLastsOnceThroughItAtItsSpeed) {
  const auto settings = Resolve({.trace = kDecode, .speed = 0.5});
  ASSERT_OK(settings);
  ASSERT_TRUE(settings->trace.has_value());
  EXPECT_EQ(settings->run.duration, settings->trace->period * 2);
  EXPECT_EQ(settings->run.warm_up, absl::ZeroDuration());
  EXPECT_EQ(settings->run.in_flight, 4096);
}

TEST(ArgumentsTest, WhatCannotBeIsNamedByItsFlag) {
  const std::pair<std::function<void(Arguments&)>, const char*> cases[] = {
      {[](Arguments& a) { a.duration = "soon"; }, "--duration is \"soon\""},
      {[](Arguments& a) { a.ramp = "-1s"; }, "--ramp is \"-1s\""},
      {[](Arguments& a) { a.ramp = "+1s"; }, "--ramp is \"+1s\""},
      {[](Arguments& a) { a.warm_up = "25h"; }, "--warm-up is \"25h\""},
      {[](Arguments& a) { a.objective = "x"; }, "--search-p99"},
      {[](Arguments& a) { a.duration = "0s"; }, "1ms or more"},
      {[](Arguments& a) { a.chaos = "monkeys"; }, "there is no chaos \"monkeys\""},
      {[](Arguments& a) { a.trace = kDecode, a.rate = 5; }, "--trace brings its own times"},
      {[](Arguments& a) { a.trace = kDecode, a.ramp = "1s"; }, "--trace brings its own times"},
      {[](Arguments& a) { a.device = 1; }, "--device is 1; it goes with --chaos=lease"},
      {[](Arguments& a) { a.trace = "/none"; }, "/none"}};
  for (const auto& [change, what] : cases) {
    Arguments arguments;
    change(arguments);
    EXPECT_THAT(Resolve(arguments), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
  }
}

// What the parser makes of `flag`.
Arguments Parse(const std::string& flag) {
  Arguments arguments;
  CLI::App app;
  Describe(app, arguments);
  app.parse(std::vector<std::string>{flag});
  return arguments;
}

TEST(ArgumentsTest, NumbersAreTheDigitsThatAreWritten) {
  EXPECT_EQ(Parse("--device=010").device, 10);
  EXPECT_EQ(Parse("--in-flight=010").in_flight, 10);
  EXPECT_EQ(Parse("--seed=010").seed, 10);
  EXPECT_EQ(Parse("--rate=2.5e3").rate, 2500);
  for (const char* flag :
       {"--device=+1", "--device=-1", "--in-flight= 5", "--in-flight=0", "--seed=-1", "--seed=0x1",
        "--seed=9223372036854775807", "--rate=nan", "--rate=inf", "--rate=+1", "--rate= 1",
        "--rate=-0", "--rate=-1", "--rate=1000001", "--speed=nan", "--speed=0", "--verify=nan",
        "--verify=1.1", "--verify=x"}) {
    EXPECT_THROW(Parse(flag), CLI::ValidationError) << flag;
  }
}

TEST(ArgumentsTest, TheSecondProcessSendsTheSameToTheSameServerAndDoesNotMultiply) {
  Arguments arguments{.target = "unix:/s", .mix = "topk:1x64:8", .chaos = "lease", .name = "n"};
  arguments.tls.ca_path = "/ca";
  arguments.device = 3;
  const auto settings = Resolve(arguments);
  ASSERT_OK(settings);
  const std::vector<std::string> words = ChildArguments(arguments, *settings);
  Arguments read;
  CLI::App app;
  Describe(app, read);
  std::vector<std::string> reversed(words.rbegin(), words.rend());
  app.parse(reversed);
  EXPECT_EQ(read.target, arguments.target);
  EXPECT_EQ(read.mix, arguments.mix);
  EXPECT_EQ(read.tls.ca_path, "/ca");
  EXPECT_EQ(read.name, "n");
  EXPECT_EQ(read.device, 3);
  EXPECT_EQ(read.chaos, "lease");
  EXPECT_TRUE(read.alone);
  EXPECT_OK(Resolve(read));
}

}  // namespace
}  // namespace winnow::stress
