#include "server/app/flags_help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/app/settings.h"

namespace winnow::server {
namespace {

using ::testing::HasSubstr;

// The part of the help about one flag.
std::string About(absl::string_view name) {
  const std::string help = FlagsHelp();
  const size_t begin = help.find(absl::StrCat("\n  --", name));
  if (begin == std::string::npos) return "";
  return help.substr(begin,
                     std::min(help.find("\n  --", begin + 1), help.find("\n\n", begin)) - begin);
}

TEST(FlagsHelpTest, EverySettingStandsUnderItsGroupOnce) {
  const std::string help = FlagsHelp();
  for (const Setting& setting : AllSettings()) {
    const std::string line =
        absl::StrCat("\n  --", setting.name, setting.value_name.empty() ? " " : "=");
    const size_t at = help.find(line);
    ASSERT_NE(at, std::string::npos) << setting.name;
    EXPECT_EQ(help.find(line, at + 1), std::string::npos) << setting.name;
    const size_t heading = help.rfind("\n\n", at);
    EXPECT_EQ(help.substr(heading + 2, setting.group.size() + 1), setting.group + ":");
  }
  for (const CommandFlag& flag : CommandFlags()) EXPECT_NE(About(flag.name), "") << flag.name;
}

TEST(FlagsHelpTest, EverySettingShowsItsDefault) {
  EXPECT_THAT(About("max-inline-bytes"), HasSubstr("[64M]"));
  EXPECT_THAT(About("drain-timeout"), HasSubstr("[30s]"));
  EXPECT_THAT(About("max-leases"), HasSubstr("[1024]"));
  EXPECT_THAT(About("socket-mode"), HasSubstr("[0660]"));
  EXPECT_THAT(About("tls-cert"), HasSubstr("[none]"));
  EXPECT_THAT(About("tcp-admin"), HasSubstr("[false]"));
  for (const Setting& setting : AllSettings()) {
    EXPECT_THAT(About(setting.name), HasSubstr("[")) << setting.name;
  }
}

TEST(FlagsHelpTest, LinesFitATerminal) {
  for (const absl::string_view line : absl::StrSplit(FlagsHelp(), '\n')) {
    EXPECT_LE(line.size(), 96u) << line;
    EXPECT_FALSE(absl::EndsWith(line, " ")) << line;
  }
}

TEST(FlagsHelpTest, ExitCodesAreExplained) {
  EXPECT_THAT(FlagsHelp(), HasSubstr("Exit codes: 0 drained; 1 failed to start; 2 wrong flags"));
}

}  // namespace
}  // namespace winnow::server
