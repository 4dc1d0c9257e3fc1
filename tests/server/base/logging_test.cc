#include "server/base/logging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace winnow::server {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class LoggingTest : public ::testing::Test {
 protected:
  ~LoggingTest() override { SetLogLevel(LogLevel::kInfo); }

  std::vector<std::string> lines_;
  ScopedLogSink sink_{[this](absl::string_view line) { lines_.emplace_back(line); }};
};

TEST_F(LoggingTest, ALineHasTimeLevelEventAndFieldsInOrder) {
  const absl::Time time = absl::FromUnixMicros(1'764'590'400'000'123);
  EXPECT_EQ(FormatLogLine(time, LogLevel::kInfo, "server ready",
                          {{"backend", "cpu"}, {"start_millis", 84}}),
            "time=2025-12-01T12:00:00.000123Z level=info event=\"server ready\" backend=cpu "
            "start_millis=84");
}

TEST_F(LoggingTest, AValueCannotForgeAFieldOrALine) {
  const std::string line = FormatLogLine(absl::UnixEpoch(), LogLevel::kError, "bad",
                                         {{"value", "x level=info\nevent=\"ok\""}, {"none", ""}});
  EXPECT_THAT(line, EndsWith(R"(value="x level=info\nevent=\"ok\"" none="")"));
}

TEST_F(LoggingTest, LinesBelowTheLevelAreDropped) {
  SetLogLevel(LogLevel::kWarning);
  Log(LogLevel::kInfo, "quiet");
  Log(LogLevel::kWarning, "heard", {{"count", 2}});
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("level=warning event=heard count=2")));
  EXPECT_EQ(GetLogLevel(), LogLevel::kWarning);
}

TEST_F(LoggingTest, OffSilencesEverything) {
  SetLogLevel(LogLevel::kOff);
  Log(LogLevel::kError, "quiet");
  EXPECT_THAT(lines_, ElementsAre());
}

TEST_F(LoggingTest, FormatSpecifiersInAValueAreText) {
  Log(LogLevel::kInfo, "odd", {{"value", "{}%s{0}"}});
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("value={}%s{0}")));
}

TEST_F(LoggingTest, LevelsHaveNames) {
  EXPECT_EQ(ParseLogLevel("debug"), LogLevel::kDebug);
  EXPECT_EQ(ParseLogLevel("off"), LogLevel::kOff);
  EXPECT_EQ(ParseLogLevel("Info"), std::nullopt);
  EXPECT_EQ(ParseLogLevel(""), std::nullopt);
}

}  // namespace
}  // namespace winnow::server
