// winnow plan, info, probe and drain; and what every command says when no server answers.

#include <signal.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cli/demo/child_server.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/npy_bytes.h"
#include "tests/cli/run_command.h"
#include "tests/cli/temp_dir.h"
#include "winnow/client/lease.h"

namespace winnow::cli {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

TEST(PlanCommandTest, ThresholdIsTakenLiterally) {
  TempDir dir;
  const std::string lengths = dir.Write("l.npy", NpyInts({10, 5000, -1, 4000, 4001}, {5}));
  const nlohmann::json json =
      ParseJson(RunOnServer({"plan", "--lengths", lengths, "--columns=8192", "--k=512",
                             "--static-threshold=4000", "--list-pooled", "--json"}));
  EXPECT_EQ(json["rows"], 5);
  EXPECT_EQ(json["negative_rows"], 1);
  EXPECT_EQ(json["effective_threshold"], 4000);
  EXPECT_EQ(json["reason"], "as requested");
  EXPECT_EQ(json["pooled_rows"], nlohmann::json({1, 4}));
}

TEST(PlanCommandTest, HeuristicIsNamedAndNegativeThresholdIsAccepted) {
  TempDir dir;
  const std::string lengths = dir.Write("l.npy", NpyInts({10, 5000}, {2}));
  const CommandResult result =
      RunOnServer({"plan", "--lengths", lengths, "--columns", "8192", "--static-threshold", "-1"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("plan for top 512 of 2 rows"));
  EXPECT_THAT(result.out, HasSubstr("heuristic"));
}

TEST(InfoCommandTest, TellsWhoTheServerIs) {
  const CommandResult text = RunOnServer({"info"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  for (const char* word : {"winnow-server", "serving", "device", "cpu", "limits", "routes"}) {
    EXPECT_THAT(text.out, HasSubstr(word));
  }
  for (const char* word : {"\nGetServerInfo ", " about "}) EXPECT_THAT(text.out, HasSubstr(word));
  const nlohmann::json json = ParseJson(RunOnServer({"info", "--json"}));
  EXPECT_EQ(json["state"], "serving");
  EXPECT_EQ(json["device"]["kind"], "cpu");
  EXPECT_EQ(json["limits"]["max_k"], 2048);
  EXPECT_GT(json["process_id"], 0);
  EXPECT_TRUE(json["stats"]["rpcs"].is_array());
}

TEST(ProbeCommandTest, ServingServerIsExitZero) {
  const CommandResult result = RunOnServer({"probe", "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(ParseJson(result)["health"], "serving");
}

TEST(LeasesCommandTest, ServerWithoutLeasesListsNone) {
  const CommandResult text = RunOnServer({"leases"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr(": 0 leases, 0 B\n"));
  EXPECT_EQ(ParseJson(RunOnServer({"leases", "--json"}))["leases"], nlohmann::json::array());
}

TEST(LeasesCommandTest, AnOperatorSeesWhoHoldsMemoryAndEndsIt) {
  auto server = ChildServer::Start(WINNOW_SERVER_PROGRAM, "cpu");
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string target = (*server)->target();
  const auto client = client::Client::Create({.target = target});
  ASSERT_TRUE(client.ok()) << client.status();
  const auto lease = client->OpenLease({.display_name = "my-engine"});
  ASSERT_TRUE(lease.ok()) << lease.status();
  const auto buffer = lease->AllocateBuffer(1 << 20);
  ASSERT_TRUE(buffer.ok()) << buffer.status();
  const CommandResult text = RunWinnow({"leases", "--target", target});
  EXPECT_THAT(text.out, HasSubstr(": 1 lease, 1.0 MiB\n"));
  EXPECT_THAT(text.out, HasSubstr("my-engine"));
  EXPECT_THAT(text.out, ContainsRegex(" open +0 +[0-9]+s "));
  const nlohmann::json leases =
      ParseJson(RunWinnow({"leases", "--target", target, "--json"}))["leases"];
  ASSERT_EQ(leases.size(), 1u);
  EXPECT_EQ(leases[0]["name"], "my-engine");
  EXPECT_EQ(leases[0]["state"], "open");
  EXPECT_EQ(leases[0]["used_bytes"], 1 << 20);
  EXPECT_EQ(leases[0]["buffers"], 1);
  const std::string number = leases[0]["number"].dump();
  const CommandResult ended =
      RunWinnow({"leases", "end", number, "--message", "maintenance", "--target", target});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("lease " + number + " ended"));
  EXPECT_EQ(ParseJson(RunWinnow({"leases", "--target", target, "--json"}))["leases"].size(), 0u);
  EXPECT_FALSE(lease->AllocateBuffer(64).ok());
}

TEST(LeasesCommandTest, EndingALeaseThatIsNotThereSaysWhereToLook) {
  const CommandResult result = RunOnServer({"leases", "end", "12345", "--json"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("has the number 12345; 'winnow leases' lists them\n"));
  EXPECT_EQ(ParseJson(result)["error"]["reason"], "LEASE_NOT_FOUND");
}

TEST(LeasesCommandTest, BadUsageNamesTheCommandToAsk) {
  for (const auto& [arguments, message] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"leases", "end"}, "number"},
           {{"leases", "end", "0"}, "1 to 9223372036854775807"},
           {{"leases", "end", "three"}, "three"},
           {{"leases", "end", "3", "--mesage", "x"}, "did you mean --message?"},
           {{"leases", "ned", "3"}, "unknown command 'ned'"}}) {
    const CommandResult result = RunWinnow(arguments);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr(message));
    EXPECT_THAT(result.err, HasSubstr("winnow leases"));
  }
}

TEST(LeasesCommandTest, EndExplainsItself) {
  const CommandResult result = RunWinnow({"leases", "end", "--help"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* word : {"Usage: winnow leases end", "NUMBER", "--message", "Example"}) {
    EXPECT_THAT(result.out, HasSubstr(word));
  }
}

TEST(OccupancyCommandTest, AServerWithoutAGpuSaysSo) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"occupancy"}, {"occupancy", "--cluster-size", "8"}}) {
    const CommandResult result = RunOnServer(arguments);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr("cluster"));
  }
  EXPECT_EQ(ParseJson(RunOnServer({"occupancy", "--json"}))["error"]["reason"], "NOT_IN_BUILD");
  EXPECT_EQ(RunOnServer({"occupancy", "--cluster-size", "3"}).exit_code, 2);
  EXPECT_EQ(RunOnServer({"occupancy", "--blocks-per-sm", "33"}).exit_code, 2);
}

TEST(DrainCommandTest, ServerEndsAndThenProbeFindsNone) {
  auto server = ChildServer::Start(WINNOW_SERVER_PROGRAM, "cpu");
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string target = (*server)->target();
  const CommandResult drained = RunWinnow({"drain", "--within=5", "--target", target, "--json"});
  ASSERT_EQ(drained.exit_code, 0) << drained.err;
  EXPECT_EQ(ParseJson(drained)["process_id"], (*server)->process_id());
  const absl::Time give_up = absl::Now() + absl::Seconds(20);
  int exit_code = 0;
  while (exit_code != 3 && absl::Now() < give_up) {
    exit_code = RunWinnow({"probe", "--target", target}).exit_code;
  }
  EXPECT_EQ(exit_code, 3);
}

struct CommandLine {
  std::string name;
  std::vector<std::string> arguments;
};

// Every command, with input that is good.
std::vector<CommandLine> AllCommands(const TempDir& dir) {
  const std::string s = dir.Write("s.npy", NpyFloats({1, 2, 3, 4}, {1, 4}));
  const std::string c = dir.Write("c.npy", NpyOf<uint16_t>("<u2", {1, 2, 3, 4}, {1, 4}));
  const std::string l = dir.Write("l.npy", NpyInts({4}, {1}));
  const std::string p = dir.Write("p.npy", NpyInts({7}, {1, 1}));
  return {
      {"topk", {"topk", "--scores", s, "--lengths", l}},
      {"plan", {"plan", "--lengths", l, "--columns=4"}},
      {"block-amax", {"block-amax", "--scores", s, "--lengths", l}},
      {"sort-blocks", {"sort-blocks", "--blocks", p, "--lengths", l}},
      {"publish", {"publish", "--scores", s, "--lengths", l, "--page-table", p, "--page-size=8"}},
      {"consume", {"consume", "--scores", c, "--candidate-lengths", l, "--block-slots", p}},
      {"demo", {"demo", "--no-picture"}},
      {"info", {"info"}},
      {"probe", {"probe"}},
      {"leases", {"leases"}},
      {"occupancy", {"occupancy"}},
      {"drain", {"drain"}},
  };
}

TEST(UnreachableServerTest, EveryCommandExitsWithThreeAndOneLine) {
  TempDir dir;
  for (CommandLine& command : AllCommands(dir)) {
    const std::string target = "unix:" + dir.File("nobody.sock");
    command.arguments.insert(command.arguments.end(), {"--target", target, "--json"});
    const CommandResult result = RunWinnow(command.arguments);
    EXPECT_EQ(result.exit_code, 3) << command.name << ": " << result.err;
    EXPECT_EQ(result.err, "winnow: no server answers at " + target +
                              ": there is no such socket; start one with 'winnow-server', or name "
                              "another with --target\n");
    const nlohmann::json json = ParseJson(result);
    EXPECT_EQ(json["command"], command.name);
    EXPECT_EQ(json["error"]["code"], "UNAVAILABLE");
  }
}

TEST(UnreachableServerTest, TargetComesFromTheEnvironment) {
  const CommandResult result = RunWinnow({"info"}, {"WINNOW_TARGET=unix:/from/environment.sock"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("unix:/from/environment.sock"));
}

TEST(UnreachableServerTest, AnswerOfSomethingElseIsNoServer) {
  // A port that nothing listens on, on an address that exists.
  const CommandResult result = RunWinnow({"probe", "--target", "127.0.0.1:1", "--timeout=5"});
  EXPECT_EQ(result.exit_code, 3) << result.err;
}

TEST(AllCommandsTest, PrintJsonWithTheCommandFirst) {
  TempDir dir;
  for (CommandLine& command : AllCommands(dir)) {
    if (command.name == "drain") continue;      // it would end the server of the other tests
    if (command.name == "occupancy") continue;  // the tests' server has no GPU
    command.arguments.push_back("--json");
    const CommandResult result = RunOnServer(command.arguments);
    EXPECT_EQ(result.exit_code, 0) << command.name << ": " << result.err;
    EXPECT_EQ(ParseJson(result)["command"], command.name);
    EXPECT_EQ(result.out.find("{\n  \"command\":"), 0u) << result.out;
    EXPECT_EQ(result.err, "");
  }
}

}  // namespace
}  // namespace winnow::cli
