// winnow demo as a person runs it: with a server of its own.

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/run_command.h"
#include "tests/cli/temp_dir.h"
#include "tests/cli/xml_check.h"

namespace winnow::cli {
namespace {

using ::testing::HasSubstr;

constexpr const char* kPanels[] = {
    "1 score<",       "7 scores<",      "511 scores<",     "512 scores<",
    "513 scores<",    "2,047 scores<",  "2,048 scores<",   "2,049 scores<",
    "8,191 scores<",  "16,384 scores<", "30,000 scores<",  "32,768 scores<",
    "65,535 scores<", "65,536 scores<", "100,000 scores<", "131,072 scores<"};

TEST(DemoCommandTest, StartsItsOwnServerChecksAllRowsAndDraws) {
  TempDir dir;
  const std::string picture = dir.File("kept.svg");
  const CommandResult result =
      RunWinnow({"demo", "--server", WINNOW_SERVER_PROGRAM, "--picture", picture});
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("(started for this demo)"));
  EXPECT_THAT(result.out, HasSubstr("All 32 rows equal the plain reference"));
  EXPECT_THAT(result.out, HasSubstr("2,048 of 16,384"));
  EXPECT_THAT(result.out, HasSubstr("seed "));
  EXPECT_THAT(result.out, ::testing::Not(HasSubstr("DIFFER")));
  const std::string svg = ReadWholeFile(picture);
  EXPECT_EQ(XmlProblem(svg), "");
  for (const char* panel : kPanels) EXPECT_THAT(svg, HasSubstr(panel));
}

TEST(DemoCommandTest, ItsServerIsGoneAfterwards) {
  const nlohmann::json json =
      ParseJson(RunWinnow({"demo", "--server", WINNOW_SERVER_PROGRAM, "--no-picture", "--json"}));
  EXPECT_EQ(json["own_server"], true);
  const std::string target = json["target"];
  EXPECT_EQ(RunWinnow({"probe", "--target", target}).exit_code, 3);
  const std::filesystem::path socket(std::string(absl::StripPrefix(target, "unix:")));
  EXPECT_FALSE(std::filesystem::exists(socket.parent_path()));
}

TEST(DemoCommandTest, UsesTheServerThatItIsGiven) {
  const nlohmann::json json = ParseJson(RunOnServer({"demo", "--no-picture", "--json"}));
  EXPECT_EQ(json["own_server"], false);
  EXPECT_EQ(json["differing_rows"], 0);
  EXPECT_EQ(json["rows"].size(), 32u);
  for (const nlohmann::json& row : json["rows"]) {
    EXPECT_EQ(row["equal"], true);
    EXPECT_EQ(row["tokens"], std::min(512, row["length"].get<int>()));
    EXPECT_LE(row["token_ties"]["kept"], row["token_ties"]["equal"]);
  }
}

TEST(DemoCommandTest, OptionsOfItsOwnServerAreNotIgnoredWhereOneRuns) {
  const std::string running = TargetArguments().back();
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"--server", WINNOW_SERVER_PROGRAM},
        std::vector<std::string>{"--backend=auto"}}) {
    std::vector<std::string> arguments = {"demo", "--no-picture", "--json"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const nlohmann::json json = ParseJson(RunWinnow(arguments, {"WINNOW_TARGET=" + running}));
    EXPECT_EQ(json["own_server"], true) << options[0];
    EXPECT_NE(json["target"], running) << options[0];
  }
}

TEST(DemoCommandTest, OptionsOfItsOwnServerBesideATargetAreRefused) {
  for (const std::string option : {"--server", "--backend"}) {
    const CommandResult result =
        RunWinnow({"demo", "--no-picture", "--target=127.0.0.1:1", option, "cpu"});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.err, "winnow: " + option +
                              " is about a server that the demo starts, and --target names one "
                              "that runs; give one of the two\n");
  }
}

TEST(DemoCommandTest, PictureThatCannotBeWrittenNamesTheOptions) {
  TempDir dir;
  const std::string picture = dir.File("none/kept.svg");
  const CommandResult result = RunOnServer({"demo", "--picture", picture});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "winnow: " + picture +
                            ": cannot be written: its folder does not exist; give --picture FILE "
                            "or --no-picture\n");
}

TEST(DemoCommandTest, SeedChangesPagesButNotWhatIsKept) {
  TempDir dir;
  for (const char* seed : {"1", "2"}) {
    const CommandResult result = RunOnServer({"demo", "--seed", seed, "--picture", dir.File(seed)});
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
  EXPECT_EQ(ReadWholeFile(dir.File("1")), ReadWholeFile(dir.File("2")));
}

TEST(DemoCommandTest, ServerThatDoesNotStartIsAnErrorWithItsReason) {
  const CommandResult result = RunWinnow({"demo", "--server=/bin/false", "--no-picture"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("winnow-server ended at once"));
}

// As a server does whose device is not there: it listens first, and tells why it ends afterwards.
constexpr absl::string_view kAcceptsAndEnds = R"(#!/usr/bin/env python3
import os, socket, sys
path = next(word for word in sys.argv if word.startswith("--listen=unix:"))[len("--listen=unix:"):]
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen()
first, _ = listener.accept()
first.recv(1)
listener.close()
os.unlink(path)
sys.exit("no device to serve with")
)";

TEST(DemoCommandTest, ServerThatEndsAfterItAcceptedIsAnErrorWithItsReason) {
  TempDir dir;
  const std::string program = dir.Write("server", std::string(kAcceptsAndEnds));
  ASSERT_EQ(chmod(program.c_str(), 0700), 0);
  const CommandResult result = RunWinnow({"demo", "--server", program, "--no-picture"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err, "winnow: winnow-server ended at once: no device to serve with\n");
}

TEST(DemoCommandTest, ProgramThatCannotBeRunIsNamed) {
  TempDir dir;
  const std::vector<std::pair<std::string, std::string>> causes = {
      {dir.File("nowhere"), "No such file or directory"},
      {dir.Write("text", "no program"), "Permission denied"}};
  for (const auto& [program, why] : causes) {
    const CommandResult result = RunWinnow({"demo", "--server", program, "--no-picture"});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.err, "winnow: " + program + ": cannot be run: " + why + "\n");
  }
}

}  // namespace
}  // namespace winnow::cli
