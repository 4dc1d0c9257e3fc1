#include "server/app/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/testing/status_matchers.h"

namespace winnow::server {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST(SettingsTest, NamesAreUniqueAndSpeltAsFlags) {
  std::set<std::string> names;
  for (const Setting& setting : AllSettings()) {
    EXPECT_TRUE(names.insert(setting.name).second) << setting.name;
    for (const char c : setting.name) EXPECT_TRUE((c >= 'a' && c <= 'z') || c == '-') << c;
    EXPECT_FALSE(setting.help.empty()) << setting.name;
    EXPECT_FALSE(setting.group.empty()) << setting.name;
    EXPECT_EQ(FindSetting(setting.name), &setting);
  }
  EXPECT_EQ(FindSetting("none"), nullptr);
}

TEST(SettingsTest, EveryDefaultIsTakenBackAsItIsShown) {
  const ServerConfig defaults;
  for (const Setting& setting : AllSettings()) {
    ServerConfig config;
    if (setting.clear != nullptr) setting.clear(config);
    for (const std::string& value : setting.get(defaults)) {
      EXPECT_EQ(setting.set(config, value), "") << setting.name << " " << value;
    }
    EXPECT_EQ(setting.get(config), setting.get(defaults)) << setting.name;
  }
}

TEST(SettingsTest, AWrongValueNamesTheSourceAndWhatIsTaken) {
  ServerConfig config;
  EXPECT_THAT(ApplySetting(*FindSetting("threads"), "WINNOW_THREADS", "x", config),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("WINNOW_THREADS is \"x\"; it takes a whole number")));
}

TEST(SettingsTest, ATimeHasNoSign) {
  ServerConfig config;
  for (const char* name : {"slow-request", "drain-timeout", "max-resume-grace", "tls-reload"}) {
    for (const char* value : {"-500ms", "+1s", "-0s", "-0"}) {
      EXPECT_THAT(ApplySetting(*FindSetting(name), name, value, config),
                  StatusIs(absl::StatusCode::kInvalidArgument,
                           HasSubstr(absl::StrCat("\"", value, "\"; it takes a time"))));
    }
    EXPECT_OK(ApplySetting(*FindSetting(name), name, "1500ms", config));
  }
}

TEST(NearestNameTest, FewEditsAreAMistakeAndManyAreAnotherWord) {
  const std::vector<std::string> known = {"backend", "threads"};
  EXPECT_EQ(NearestName("bakend", known), "backend");
  EXPECT_EQ(NearestName("thread", known), "threads");
  EXPECT_EQ(NearestName("thraeds", known), "threads");
  EXPECT_EQ(NearestName("back", known), "backend");
  EXPECT_EQ(NearestName("xyzzyxyzzy", known), "");
  EXPECT_EQ(NearestName("", {}), "");
  EXPECT_EQ(NearestName(std::string(100000, 'x'), known), "");
}

}  // namespace
}  // namespace winnow::server
