// Bad usage and bad input through the program: exit code 2, one line that names the option or file,
// nothing written, and the server unharmed.

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/npy_bytes.h"
#include "tests/cli/run_command.h"
#include "tests/cli/temp_dir.h"

namespace winnow::cli {
namespace {

using ::testing::HasSubstr;

struct BadCommand {
  std::string name;
  std::vector<std::string> arguments;  // @ stands for the folder of files
  std::string expected;                // part of the line
};

// For GoogleTest, which would print bytes.
void PrintTo(const BadCommand& command, std::ostream* out) { *out << command.name; }

// Good and bad files, by name.
void WriteFiles(const TempDir& dir) {
  const std::vector<float> scores(24, 1.0f);
  dir.Write("s.npy", NpyFloats(scores, {3, 8}));
  dir.Write("flat.npy", NpyFloats(scores, {24}));
  dir.Write("l.npy", NpyInts({8, 4, 2}, {3}));
  dir.Write("l_two.npy", NpyInts({8, 4}, {2}));
  dir.Write("l_long.npy", NpyInts({8, 9, 2}, {3}));
  dir.Write("l_square.npy", NpyInts({8, 4, 2, 1}, {2, 2}));
  dir.Write("l_float.npy", NpyFloats({8, 4, 2}, {3}));
  dir.Write("l_int64.npy", NpyOf<int64_t>("<i8", {8, 4, 2}, {3}));
  dir.Write("s_int.npy", NpyInts(std::vector<int32_t>(24, 1), {3, 8}));
  dir.Write("s_bits.npy", NpyOf<uint16_t>("<u2", std::vector<uint16_t>(24, 1), {3, 8}));
  dir.Write("s_fortran.npy", NpyBytes("<f4", "(3, 8)", std::string(96, '\0'), "True"));
  dir.Write("s_big.npy", NpyBytes(">f4", "(3, 8)", std::string(96, '\0')));
  dir.Write("s_cut.npy", NpyFloats(scores, {3, 8}).substr(0, 200));
  dir.Write("s_wide.npy", NpyBytes("<f4", "(0, 3000000)", ""));
  dir.Write("text.npy", "1 2 3\n");
  dir.Write("p.npy", NpyInts({0, 1, 2}, {3, 1}));
  dir.Write("p_two.npy", NpyInts({0, 1}, {2, 1}));
  dir.Write("p_negative.npy", NpyInts({0, -7, 2}, {3, 1}));
  dir.Write("p_huge.npy", NpyInts({0, 2147483647, 2}, {3, 1}));
  dir.Write("rows_bad.npy", NpyInts({0, 3, 1}, {3}));
  dir.Write("starts_bad.npy", NpyInts({0, 9, 1}, {3}));
  dir.Write("offsets_bad.npy", NpyInts({0, 2147483647, 1}, {3}));
  dir.Write("b.npy", NpyInts({0, 0, 0}, {3, 1}));
  dir.Write("b_bad.npy", NpyInts({-2, -1, -1}, {3, 1}));
  dir.Write("b_wide.npy", NpyBytes("<i4", "(0, 2049)", ""));
}

std::vector<std::string> TopK(std::vector<std::string> more) {
  std::vector<std::string> all = {"topk", "--scores", "@s.npy", "--lengths", "@l.npy"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}
std::vector<std::string> TopKOf(const std::string& scores, const std::string& lengths,
                                std::vector<std::string> more = {}) {
  std::vector<std::string> all = {"topk", "--scores", scores, "--lengths", lengths};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::vector<BadCommand> BadUsage() {
  return {
      {"UnknownOption", TopK({"--ordr=any"}), "unknown option --ordr; did you mean --order?"},
      {"UnknownCommand", {"topkk"}, "unknown command 'topkk'; did you mean topk?"},
      {"UnknownCommandSwapped", {"tokp"}, "unknown command 'tokp'; did you mean topk?"},
      {"OptionAsCommand", {"version"}, "unknown command 'version'; did you mean --version?"},
      {"OptionOfNoCommand", {"--scores", "@s.npy"}, "unknown option --scores"},
      {"ExtraArgument", TopK({"more"}), "unexpected argument 'more'"},
      {"MissingScores", {"topk", "--lengths", "@l.npy"}, "--scores is required"},
      {"MissingValue", {"topk", "--target=unix:/x", "--lengths=@l.npy", "--scores"}, "--scores"},
      {"OptionForAValue",
       {"topk", "--scores", "--lengths", "@l.npy"},
       "--scores: needs a value before --lengths"},
      {"KZero", TopK({"--k=0"}), "--k: '0' is not a whole number from 1 to 2048"},
      {"KNegative", TopK({"--k=-1"}), "--k: '-1' is not"},
      {"KWithAPlus", TopK({"--k=+5"}), "--k: '+5' is not a whole number from 1 to 2048"},
      {"KTooLarge", TopK({"--k=2049"}), "--k: '2049' is not a whole number from 1 to 2048"},
      {"KNoNumber", TopK({"--k=many"}), "--k: 'many' is not"},
      {"KOverflows", TopK({"--k=99999999999999999999"}), "--k: '99999999999999999999' is not"},
      {"KEmpty", TopK({"--k="}), "--k: needs a value"},
      {"KWithoutValue", TopK({"--k"}), "--k: needs a value"},
      {"KTwice", TopK({"--k=3", "--k=2"}), "--k: given more than once; give it once"},
      {"EmptyCommand", {""}, "unknown command ''; see 'winnow --help'"},
      {"EmptyOutput", TopK({"--out-indices", ""}), "--out-indices: '' is no path"},
      {"EmptyInput", TopKOf("", "@l.npy"), "'': no such file"},
      {"UnknownOrder", TopK({"--order=up"}), "--order: 'up' is not one of any, position, score"},
      {"UnknownType", TopK({"--dtype=fp64"}), "--dtype: 'fp64' is not one of fp32, bf16"},
      {"BadPlan", TopK({"--plan=sometimes"}), "--plan: 'sometimes' is not auto, none"},
      {"PlanNegative", TopK({"--plan=-5"}), "--plan: '-5' is not"},
      {"TimeoutPlus", TopK({"--timeout=+1"}), "--timeout: '+1' is not a number of seconds"},
      {"TimeoutZero", TopK({"--timeout=0"}), "--timeout: '0' is not a number of seconds"},
  };
}

std::vector<BadCommand> BadPathsAndTargets() {
  return {
      {"PageSizeThree", TopK({"--page-table=@p.npy", "--page-size=3"}),
       "--page-size: '3' is not a power of two"},
      {"PageTableWithoutSize", TopK({"--page-table=@p.npy"}), "--page-table requires --page-size"},
      {"SlotsWithoutTable", TopK({"--out-slots=@out.npy"}), "--out-slots: needs --page-table"},
      {"TableWithoutSlots",
       TopK({"--page-table=@p.npy", "--page-size=8", "--out-indices=@out.npy"}),
       "--page-table: only slots use it"},
      {"TwoOutputsOneFile", TopK({"--out-indices=@out.npy", "--out-values=@out.npy"}),
       "named for both indices and values"},
      {"OutputInNoFolder", TopK({"--out-indices=@none/out.npy"}), "its folder does not exist"},
      {"OutputIsAFolder", TopK({"--out-indices=@"}), "it is a directory"},
      {"BadTarget",
       {"info", "--target=nonsense:port:9"},
       "winnow: --target is \"nonsense:port:9\"; use unix:PATH or HOST:PORT"},
      {"TargetIsAPath",
       {"info", "--target=/run/w.sock"},
       "use unix:PATH or HOST:PORT; did you mean unix:/run/w.sock?"},
      {"EmptyOptionTarget", {"info", "--target=unix:"}, "--target"},
      {"EmptyTargetAfterSlashes", {"info", "--target=unix://"}, "--target"},
  };
}

std::vector<BadCommand> BadFiles() {
  return {
      {"NoSuchFile", TopKOf("@none.npy", "@l.npy"), "none.npy: no such file"},
      {"ScoresAreAFolder", TopKOf("@", "@l.npy"), "a directory"},
      {"ScoresAreADevice", TopKOf("/dev/zero", "@l.npy"), "/dev/zero: a device"},
      {"ScoresAreText", TopKOf("@text.npy", "@l.npy"), "not an .npy file"},
      {"FortranOrder", TopKOf("@s_fortran.npy", "@l.npy"),
       "Fortran order; save it with np.ascontiguousarray(...)"},
      {"BigEndian", TopKOf("@s_big.npy", "@l.npy"), "big-endian"},
      {"CutShort", TopKOf("@s_cut.npy", "@l.npy"), "holds 72 of the 96 bytes"},
      {"ScoresOfInt32", TopKOf("@s_int.npy", "@l.npy"), "int32; scores are float32"},
      {"BitsWithoutDtype", TopKOf("@s_bits.npy", "@l.npy"), "give --dtype=bf16"},
      {"FloatWithBf16", TopKOf("@s.npy", "@l.npy", {"--dtype=bf16"}), "give --dtype=fp32"},
      {"FlatWithoutRagged", TopKOf("@flat.npy", "@l.npy"), "give --ragged"},
      {"MatrixWithRagged", TopKOf("@s.npy", "@l.npy", {"--ragged"}), "leave out --ragged"},
      {"RaggedSum", TopKOf("@flat.npy", "@l.npy", {"--ragged"}), "add up to 14"},
      {"TooManyColumns", TopKOf("@s_wide.npy", "@l.npy"), "3000000 columns; at most 2097152"},
      {"LengthsOfFloats", TopKOf("@s.npy", "@l_float.npy"), "float32; int32 is needed here"},
      {"LengthsOfInt64", TopKOf("@s.npy", "@l_int64.npy"), "int64; save it with .astype(np.int32)"},
      {"LengthsSquare", TopKOf("@s.npy", "@l_square.npy"), "one number a row"},
      {"LengthsTooFew", TopKOf("@s.npy", "@l_two.npy"), "2 rows for the 3 of"},
      {"BlocksTooWide",
       {"sort-blocks", "--blocks=@b_wide.npy", "--lengths=@l.npy"},
       "2049 columns; at most 2048"},
      {"DemoWithoutData", {"demo", "--data=@none", "--no-picture"}, "text_seq_lens.npy: no such"},
  };
}

// Found by the server, and pointed at by the command.
std::vector<BadCommand> BadData() {
  auto with_pages = [](const std::string& table, std::vector<std::string> more) {
    more.insert(more.end(), {"--page-table", table, "--page-size=8", "--out-slots=@out.npy"});
    return TopK(more);
  };
  return {
      {"LengthTooLong", TopKOf("@s.npy", "@l_long.npy"), "(--lengths "},
      {"PageIdNegative", with_pages("@p_negative.npy", {}), "(--page-table "},
      {"PageIdOverflows", with_pages("@p_huge.npy", {}), "(--page-table "},
      {"PageIdPastPool", with_pages("@p.npy", {"--pool-pages=2"}), "(--page-table "},
      {"PageTableTooFewRows", with_pages("@p_two.npy", {}), "2 rows for the 3 of"},
      {"PageRowPastTable", with_pages("@p.npy", {"--page-table-rows=@rows_bad.npy"}),
       "(--page-table-rows "},
      {"StartPastColumns", TopK({"--row-starts=@starts_bad.npy"}), "(--row-starts "},
      {"OffsetOverflows", TopK({"--index-offsets=@offsets_bad.npy"}), "(--index-offsets "},
      {"BlockIdBad",
       {"sort-blocks", "--blocks=@b_bad.npy", "--lengths=@l.npy", "--block-size=2"},
       "(--blocks "},
      {"PlanLengthTooLong", {"plan", "--lengths=@l.npy", "--columns=7"}, "(--lengths "},
  };
}

class BadCommandTest : public ::testing::TestWithParam<BadCommand> {};

TEST_P(BadCommandTest, IsRefusedWithOneLineAndWritesNothing) {
  TempDir dir;
  WriteFiles(dir);
  std::vector<std::string> arguments = GetParam().arguments;
  for (std::string& argument : arguments) {
    argument = absl::StrReplaceAll(argument, {{"@", dir.path() + "/"}});
  }
  const bool has_target =
      std::any_of(arguments.begin(), arguments.end(),
                  [](const std::string& text) { return absl::StartsWith(text, "--target"); });
  const CommandResult result = has_target ? RunWinnow(arguments) : RunOnServer(arguments);
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_THAT(result.err, ::testing::StartsWith("winnow: "));
  EXPECT_THAT(result.err, HasSubstr(GetParam().expected));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_FALSE(std::filesystem::exists(dir.File("out.npy")));
  EXPECT_EQ(RunOnServer({"probe"}).exit_code, 0) << "the server still serves";
}

std::string NameOf(const ::testing::TestParamInfo<BadCommand>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Usage, BadCommandTest, ::testing::ValuesIn(BadUsage()), NameOf);
INSTANTIATE_TEST_SUITE_P(Paths, BadCommandTest, ::testing::ValuesIn(BadPathsAndTargets()), NameOf);
INSTANTIATE_TEST_SUITE_P(Files, BadCommandTest, ::testing::ValuesIn(BadFiles()), NameOf);
INSTANTIATE_TEST_SUITE_P(Data, BadCommandTest, ::testing::ValuesIn(BadData()), NameOf);

TEST(BadTargetTest, TheVariableThatGaveItIsNamed) {
  const CommandResult result = RunWinnow({"info"}, {"WINNOW_TARGET=nonsense"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "winnow: WINNOW_TARGET is \"nonsense\"; use unix:PATH or HOST:PORT\n");
}

TEST(BadOutputTest, FullDiskIsExitOne) {
  TempDir dir;
  WriteFiles(dir);
  const CommandResult result = RunOnServer({"topk", "--scores", dir.File("s.npy"), "--lengths",
                                            dir.File("l.npy"), "--k=2", "--out-indices=/dev/full"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("/dev/full: writing failed"));
}

TEST(BadOutputTest, FailedRunLeavesAnOldResultAlone) {
  TempDir dir;
  WriteFiles(dir);
  dir.Write("i.npy", "old");
  const CommandResult result =
      RunOnServer({"topk", "--scores", dir.File("s.npy"), "--lengths", dir.File("l_long.npy"),
                   "--k=2", "--out-indices", dir.File("i.npy")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(ReadWholeFile(dir.File("i.npy")), "old");
}

}  // namespace
}  // namespace winnow::cli
