#include "server/app/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "absl/strings/str_cat.h"
#include "server/app/flags.h"
#include "tests/testing/status_matchers.h"

namespace winnow::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::StatusIs;

auto Refused(const std::string& text) {
  return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text));
}

TEST(ConfigTextTest, ScalarsAndListsBecomeEntriesWithTheirLines) {
  const auto entries = ParseConfigText(
      "f", "# a comment\nthreads: 3\nlisten: [\"unix:/a\", 127.0.0.1:7]\ntcp-admin: true\n");
  ASSERT_OK(entries);
  ASSERT_EQ(entries->size(), 3u);
  EXPECT_EQ((*entries)[0].name, "threads");
  EXPECT_EQ((*entries)[0].line, 2);
  EXPECT_THAT((*entries)[1].values, ElementsAre("unix:/a", "127.0.0.1:7"));
  EXPECT_THAT((*entries)[2].values, ElementsAre("true"));
}

TEST(ConfigTextTest, AnEmptyFileHasNoEntries) {
  for (const char* text : {"", "\n", "# nothing\n", "---\n"}) {
    const auto entries = ParseConfigText("f", text);
    ASSERT_OK(entries) << text;
    EXPECT_THAT(*entries, IsEmpty());
  }
}

TEST(ConfigTextTest, AnUnknownKeyIsRefusedWithLineAndNearestName) {
  EXPECT_THAT(ParseConfigText("winnow.yaml", "threads: 1\nmax-queue-bytes: 1\n"),
              Refused("winnow.yaml:2: there is no setting max-queue-bytes; did you mean "
                      "max-queued-bytes"));
  EXPECT_THAT(ParseConfigText("f", "xyzzyxyzzy: 1\n"), Refused("--help lists all"));
  EXPECT_THAT(ParseConfigText("f", "help: true\n"), Refused("there is no setting help"));
  EXPECT_THAT(ParseConfigText("f", "max_leases: 1\n"), Refused("did you mean max-leases"));
}

TEST(ConfigTextTest, WhatIsNotOneValueForOneNameIsRefused) {
  EXPECT_THAT(ParseConfigText("f", "threads: 1\nthreads: 2\n"), Refused("f:2"));
  EXPECT_THAT(ParseConfigText("f", "threads: [1, 2]\n"), Refused("threads takes one value"));
  EXPECT_THAT(ParseConfigText("f", "threads: {a: 1}\n"), Refused("threads takes one value"));
  EXPECT_THAT(ParseConfigText("f", "threads:\n"),
              Refused("f:1: threads has no value; give one or remove the line"));
  EXPECT_THAT(ParseConfigText("f", "threads: 1\n---\nqueues: 1\n"),
              Refused("a second document begins here"));
  EXPECT_THAT(ParseConfigText("f", "listen: {a: b}\n"), Refused("a value or a list"));
  EXPECT_THAT(ParseConfigText("f", "listen: [[a]]\n"), Refused("plain values"));
  EXPECT_THAT(ParseConfigText("f", "just words\n"), Refused("name: value"));
  EXPECT_THAT(ParseConfigText("f", "[a]: b\n"), Refused("plain text"));
}

TEST(ConfigTextTest, TextThatIsNoYamlIsRefusedWithItsLine) {
  for (const char* text :
       {"a: [", "\"a", "a: b: c\n", "a: &x *y", "\t- :\n:", "%YAML 9\n", "{{{{"}) {
    EXPECT_EQ(ParseConfigText("f", text).status().code(), absl::StatusCode::kInvalidArgument)
        << text;
  }
  EXPECT_THAT(ParseConfigText("f", "threads: 1\n  bad: [\n"), Refused("f:"));
  EXPECT_THAT(ParseConfigText("f", "a: [\n"), Refused("f:2: not YAML ("));
  EXPECT_THAT(ParseConfigText("f", "\"\\\x01\""), Refused("; write name: value"));
  EXPECT_THAT(ParseConfigText("f", std::string(100000, '[')), Refused("not YAML"));
}

class ConfigFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/winnow_config_test.XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
    path_ = folder_ + "/winnow.yaml";
    flag_ = "--config=" + path_;
  }
  void TearDown() override {
    unlink(path_.c_str());
    EXPECT_EQ(rmdir(folder_.c_str()), 0);
  }
  void Write(const std::string& text) const { std::ofstream(path_) << text; }

  absl::StatusOr<ParsedFlags> Parse(std::vector<const char*> arguments,
                                    std::map<std::string, std::string> variables = {}) const {
    return ParseFlags(arguments, [&variables](const char* name) -> const char* {
      const auto found = variables.find(name);
      return found == variables.end() ? nullptr : found->second.c_str();
    });
  }

  std::string folder_, path_, flag_;
};

TEST_F(ConfigFileTest, AFlagBeatsTheEnvironmentWhichBeatsTheFile) {
  Write("threads: 1\nqueues: 1\ndevice: 1\n");
  const auto flags =
      Parse({flag_.c_str(), "--threads=3"}, {{"WINNOW_THREADS", "2"}, {"WINNOW_QUEUES", "2"}});
  ASSERT_OK(flags);
  EXPECT_EQ(flags->config.threads, 3);
  EXPECT_EQ(flags->config.queues, 2);
  EXPECT_EQ(flags->config.device, 1);
  EXPECT_EQ(flags->config.launch_slots, 4);
  EXPECT_EQ(flags->sources.at("threads"), "--threads");
  EXPECT_EQ(flags->sources.at("queues"), "WINNOW_QUEUES");
  EXPECT_EQ(flags->sources.at("device"), path_ + ":3");
  EXPECT_EQ(flags->sources.count("launch-slots"), 0u);
}

TEST_F(ConfigFileTest, AListComesFromOnePlaceAsAWhole) {
  Write("listen: [unix:/a, unix:/b]\n");
  const auto file = Parse({flag_.c_str()});
  ASSERT_OK(file);
  EXPECT_THAT(file->config.listeners, ElementsAre("unix:/a", "unix:/b"));
  const auto flag = Parse({flag_.c_str(), "--listen=unix:/c", "--listen=unix:/d"});
  ASSERT_OK(flag);
  EXPECT_THAT(flag->config.listeners, ElementsAre("unix:/c", "unix:/d"));
}

TEST_F(ConfigFileTest, TheEnvironmentMayNameTheFile) {
  Write("threads: 7\n");
  const auto flags = Parse({}, {{"WINNOW_CONFIG", path_}});
  ASSERT_OK(flags);
  EXPECT_EQ(flags->config.threads, 7);
}

TEST_F(ConfigFileTest, AWrongValueNamesItsLineEvenWhereAFlagWins) {
  Write("backend: cpu\nthreads: many\n");
  EXPECT_THAT(Parse({flag_.c_str(), "--threads=1"}),
              Refused(absl::StrCat(path_, ":2: threads is \"many\"; it takes a whole number")));
}

TEST_F(ConfigFileTest, AFileThatCannotBeReadIsNamed) {
  EXPECT_THAT(Parse({flag_.c_str()}),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr(absl::StrCat("--config=", path_, ": cannot be read: No such"))));
  EXPECT_THAT(
      Parse({}, {{"WINNOW_CONFIG", path_}}),
      StatusIs(absl::StatusCode::kNotFound,
               HasSubstr(absl::StrCat("WINNOW_CONFIG=", path_, ": cannot be read: No such"))));
  const std::string folder = "--config=" + folder_;
  EXPECT_THAT(Parse({folder.c_str()}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("directory")));
  Write(std::string((1 << 20) + 1, '#'));
  EXPECT_THAT(Parse({flag_.c_str()}), Refused("1 MiB"));
}

TEST_F(ConfigFileTest, WhatPrintConfigShowsGivesTheSameConfigurationAgain) {
  const auto first =
      Parse({"--threads=3", "--listen=unix:/a b\"c\\,127.0.0.1:7", "--max-queued-bytes=1536K",
             "--drain-timeout=90s", "--tcp-admin", "--log-level=warning"});
  ASSERT_OK(first);
  const std::string shown = PrintConfig(*first);
  EXPECT_THAT(shown, HasSubstr("threads: \"3\"  # --threads\n"));
  EXPECT_THAT(shown, HasSubstr("launch-slots: \"4\"  # default\n"));
  Write(shown);
  const auto second = Parse({flag_.c_str()});
  ASSERT_OK(second);
  ParsedFlags again = *second;
  again.sources = first->sources;
  EXPECT_EQ(PrintConfig(again), shown);
  EXPECT_EQ(second->config.max_queued_bytes, 1536 << 10);
  EXPECT_THAT(second->config.listeners, ElementsAre("unix:/a b\"c\\", "127.0.0.1:7"));
}

TEST(MistypedVariablesTest, OnlyNamesNearASettingAreReported) {
  const char* variables[] = {
      "WINNOW_THREDS=1", "WINNOW_THREADS=1", "WINNOW_CONFIG=x",      "WINNOW_SERVICE_HOST=10.0.0.1",
      "PATH=/bin",       "WINNOW_CONFG=",    "WINNOW_TARGET=unix:/a"};
  EXPECT_THAT(MistypedVariables(variables),
              ElementsAre("WINNOW_THREDS: did you mean WINNOW_THREADS",
                          "WINNOW_CONFG: did you mean WINNOW_CONFIG"));
}

}  // namespace
}  // namespace winnow::server
