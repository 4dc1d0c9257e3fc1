#include "server/app/plaintext_warning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/base/logging.h"
#include "tests/testing/fake_clock.h"

namespace winnow::server {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PlaintextWarningTest : public ::testing::Test {
 protected:
  FakeClock clock_;
  PlaintextWarning warning_{&clock_};
  std::vector<std::string> lines_;
  ScopedLogSink sink_{[this](absl::string_view line) { lines_.emplace_back(line); }};
};

TEST_F(PlaintextWarningTest, TheFirstLineNamesEveryAddressAndTheWayOut) {
  warning_.Add("0.0.0.0:7070");
  warning_.Add("[::]:7071");
  warning_.WarnIfDue();
  EXPECT_THAT(lines_, ElementsAre(AllOf(HasSubstr("level=warning"), HasSubstr("in the clear"),
                                        HasSubstr("listeners=0.0.0.0:7070,[::]:7071"),
                                        HasSubstr("way_out=--tls-cert"))));
}

TEST_F(PlaintextWarningTest, ItComesOnceAMinuteHoweverOftenItIsAsked) {
  warning_.Add("0.0.0.0:7070");
  for (int second = 0; second < 60; ++second) {
    warning_.WarnIfDue();
    clock_.Advance(absl::Seconds(1));
  }
  EXPECT_THAT(lines_, SizeIs(1));
  warning_.WarnIfDue();
  EXPECT_THAT(lines_, SizeIs(2));
}

TEST_F(PlaintextWarningTest, WithoutSuchAListenerItIsSilent) {
  warning_.WarnIfDue();
  clock_.Advance(absl::Minutes(2));
  warning_.WarnIfDue();
  EXPECT_THAT(lines_, IsEmpty());
}

}  // namespace
}  // namespace winnow::server
