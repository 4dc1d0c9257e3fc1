// --help of the program and of each command.

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/run_command.h"

namespace winnow::cli {
namespace {

using ::testing::HasSubstr;

const std::vector<std::pair<std::string, std::string>>& OptionsByCommand() {
  static const auto* options = new std::vector<std::pair<std::string, std::string>>{
      {"topk",
       "--scores --lengths --dtype --ragged --row-starts --index-offsets --k --deterministic "
       "--order --plan --page-table --page-size --pool-pages --page-table-rows --out-indices "
       "--out-slots --out-values"},
      {"plan", "--lengths --columns --dtype --k --static-threshold --list-pooled"},
      {"block-amax",
       "--scores --lengths --dtype --ragged --block-size --skip-at-most --out --out-block-counts"},
      {"sort-blocks",
       "--blocks --lengths --block-size --page-table --page-size --out-blocks --out-slots "
       "--out-candidate-lengths"},
      {"publish",
       "--scores --lengths --k --k-blocks --block-size --deterministic --order --page-table "
       "--page-size --out-slots --out-indices --out-blocks --out-block-slots "
       "--out-candidate-lengths"},
      {"consume",
       "--scores --candidate-lengths --block-slots --dtype --k --block-size --out-slots "
       "--out-indices --out-values"},
      {"demo", "--data --seed --picture --no-picture --server --backend"},
      {"info", ""},
      {"probe", "--deep"},
      {"leases", "end"},
      {"occupancy", "--cluster-size --blocks-per-sm"},
      {"drain", "--within"},
  };
  return *options;
}

TEST(HelpTest, EachCommandExplainsItsOptionsWithAnExample) {
  for (const auto& [command, options] : OptionsByCommand()) {
    const CommandResult result = RunWinnow({command, "--help"});
    EXPECT_EQ(result.exit_code, 0) << command;
    EXPECT_EQ(result.err, "") << command;
    EXPECT_THAT(result.out, HasSubstr("Usage: winnow " + command)) << command;
    EXPECT_THAT(result.out, HasSubstr("Example")) << command;
    const std::string all = options + " --target --timeout --json --help";
    for (absl::string_view option : absl::StrSplit(all, ' ', absl::SkipEmpty())) {
      EXPECT_THAT(result.out, HasSubstr(std::string(option))) << command;
    }
  }
}

TEST(HelpTest, LinesFitATerminal) {
  for (const auto& [command, options] : OptionsByCommand()) {
    for (absl::string_view line : absl::StrSplit(RunWinnow({command, "--help"}).out, '\n')) {
      EXPECT_LE(line.size(), 96u) << command << ": " << line;
    }
  }
}

TEST(HelpTest, ConsumeSaysWhatMustAgreeWithPublish) {
  const std::string help = RunWinnow({"consume", "--help"}).out;
  EXPECT_THAT(help, HasSubstr("must be that of publish"));
  EXPECT_THAT(help, HasSubstr("default bf16:\n"));
  EXPECT_THAT(help, HasSubstr("later layers score candidates in bfloat16"));
  EXPECT_THAT(RunWinnow({"publish", "--help"}).out, HasSubstr("default fp32\n"));
}

TEST(HelpTest, ProgramListsItsCommandsAndExitCodes) {
  const CommandResult result = RunWinnow({"--help"});
  EXPECT_EQ(result.exit_code, 0);
  for (const auto& [command, options] : OptionsByCommand()) {
    EXPECT_THAT(result.out, HasSubstr("\n  " + command + " ")) << command;
  }
  EXPECT_THAT(result.out, HasSubstr("Exit codes"));
}

TEST(HelpTest, HelpIsACommandToo) {
  for (const auto& [arguments, usage] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"help"}, "COMMAND"},
           {{"help", "topk"}, "topk --scores"},
           {{"help", "leases", "end"}, "leases end"}}) {
    const CommandResult result = RunWinnow(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("Usage: winnow " + usage));
  }
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"help", "tokp"}, std::vector<std::string>{"tokp", "--help"}}) {
    const CommandResult result = RunWinnow(arguments);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err,
              "winnow: unknown command 'tokp'; did you mean topk? See 'winnow --help'\n");
  }
}

TEST(HelpTest, NoCommandShowsTheHelpAndIsBadUsage) {
  const CommandResult result = RunWinnow({});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.out, HasSubstr("Usage: winnow COMMAND"));
}

TEST(HelpTest, VersionIsOneLine) {
  const CommandResult result = RunWinnow({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "winnow " WINNOW_VERSION "\n");
}

}  // namespace
}  // namespace winnow::cli
