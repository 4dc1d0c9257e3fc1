// winnow probe --deep, on servers that can do all, and on some that cannot.

#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "client/cli/probe_row.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/run_command.h"
#include "tests/integration/server_process.h"

namespace winnow::cli {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::winnow::testing::ServerProcess;
using ::winnow::testing::TempFolder;

struct Found {
  std::string verdict;  // empty when the probe says nothing of it
  std::string said;
};

Found Find(const nlohmann::json& probe, const std::string& what) {
  for (const auto& finding : probe["findings"]) {
    if (finding["what"] == what) return {finding["verdict"], finding["said"]};
  }
  return {};
}

TEST(ProbeRowTest, TheAnswerIsThatOfTheScores) {
  const ProbeScores scores = MakeProbeScores();
  const ProbeAnswer answer = MakeProbeAnswer();
  for (int32_t rank = 0; rank < kProbeK; ++rank) {
    EXPECT_EQ(scores[answer[rank]], static_cast<float>(kProbeColumns - 1 - rank)) << rank;
  }
  EXPECT_TRUE(CheckProbeAnswer(answer.data()).ok());
  ProbeAnswer wrong = answer;
  std::swap(wrong[0], wrong[1]);
  EXPECT_FALSE(CheckProbeAnswer(wrong.data()).ok());
}

TEST(DeepProbeTest, SelectsThroughEachWayOfThisHost) {
  const CommandResult text = RunOnServer({"probe", "--deep"});
  EXPECT_EQ(text.exit_code, 0) << text.out << text.err;
  EXPECT_THAT(text.out, ContainsRegex("\n  ok +shared memory +selects right\n"));
  const nlohmann::json json = ParseJson(RunOnServer({"probe", "--deep", "--json"}));
  for (const char* way : {"scores in the request", "buffer of the server", "shared memory"}) {
    EXPECT_EQ(Find(json, way).verdict, "ok") << way << json.dump(2);
  }
  EXPECT_EQ(Find(json, "GPU memory").verdict, "not_tried");
  EXPECT_EQ(Find(json, "IPC namespace").verdict, "ok");
  EXPECT_THAT(Find(json, "socket").said, HasSubstr("mode 0660"));
  // The probe's lease ends with it, as soon as the server has seen that its stream did.
  size_t leases = 1;
  for (int turn = 0; turn < 200 && leases > 0; ++turn) {
    leases = ParseJson(RunOnServer({"leases", "--json"}))["leases"].size();
  }
  EXPECT_EQ(leases, 0u);
}

TEST(DeepProbeTest, OverTcpSaysWhatCannotBeTried) {
  ServerProcess server;
  ASSERT_TRUE(server.running()) << server.log();
  const CommandResult result =
      RunWinnow({"probe", "--deep", "--json", "--target", server.tcp_target()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json json = ParseJson(result);
  EXPECT_EQ(Find(json, "buffer of the server").verdict, "ok");
  EXPECT_EQ(Find(json, "shared memory").verdict, "not_tried");
  EXPECT_THAT(Find(json, "shared memory").said, HasSubstr("TCP"));
  EXPECT_EQ(Find(json, "socket").verdict, "note");
}

TEST(DeepProbeTest, OfAServerWithoutMemoryForLeasesFailsAndNamesTheBound) {
  ServerProcess server({.flags = {"--max-lease-bytes=0"}});
  ASSERT_TRUE(server.running()) << server.log();
  const CommandResult result =
      RunWinnow({"probe", "--deep", "--json", "--target", server.unix_target()});
  EXPECT_EQ(result.exit_code, 1);
  const nlohmann::json json = ParseJson(result);
  EXPECT_EQ(Find(json, "scores in the request").verdict, "ok");
  EXPECT_EQ(Find(json, "buffer of the server").verdict, "not_ok");
  EXPECT_THAT(Find(json, "buffer of the server").said, HasSubstr("--max-lease-bytes"));
}

TEST(DeepProbeTest, OfAServerWithoutLeasesSaysWhatCouldNotBeTried) {
  ServerProcess server({.flags = {"--max-leases=0"}});
  ASSERT_TRUE(server.running()) << server.log();
  const nlohmann::json json =
      ParseJson(RunWinnow({"probe", "--deep", "--json", "--target", server.unix_target()}));
  EXPECT_EQ(Find(json, "lease").verdict, "not_ok");
  EXPECT_EQ(Find(json, "scores in the request").verdict, "ok");
}

TEST(DeepProbeTest, OfASocketInAFolderOfAllSaysWhoMayWriteThere) {
  TempFolder folder;
  ASSERT_EQ(mkdir(folder.Path("server").c_str(), 0700), 0);
  ServerProcess server({.socket_path = folder.Path("server/winnow.sock")});
  ASSERT_TRUE(server.running()) << server.log();
  ASSERT_EQ(chmod(folder.Path("server").c_str(), 01777), 0);
  const Found shared =
      Find(ParseJson(RunWinnow({"probe", "--deep", "--json", "--target", server.unix_target()})),
           "shared memory");
  EXPECT_EQ(shared.verdict, "not_ok");
  EXPECT_THAT(shared.said, HasSubstr("can be written by every user"));
  EXPECT_THAT(shared.said, HasSubstr("must belong to this user or to root"));
}

// As when two containers mount the folder of the socket under different paths.
TEST(DeepProbeTest, OfASocketUnderAnotherPathAllIsWell) {
  TempFolder folder;
  ASSERT_EQ(mkdir(folder.Path("server").c_str(), 0700), 0);
  ServerProcess server({.socket_path = folder.Path("server/winnow.sock")});
  ASSERT_TRUE(server.running()) << server.log();
  ASSERT_EQ(rename(folder.Path("server").c_str(), folder.Path("client").c_str()), 0);
  const CommandResult result = RunWinnow(
      {"probe", "--deep", "--json", "--target", "unix:" + folder.Path("client/winnow.sock")});
  ASSERT_EQ(rename(folder.Path("client").c_str(), folder.Path("server").c_str()), 0);
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_EQ(Find(ParseJson(result), "shared memory").verdict, "ok");
}

// As when one socket, not the folder, is mounted: the descriptor socket is nowhere.
TEST(DeepProbeTest, OfASocketUnderAnotherNameNamesTheDescriptorSocket) {
  TempFolder folder;
  ASSERT_EQ(mkdir(folder.Path("server").c_str(), 0700), 0);
  ServerProcess server({.socket_path = folder.Path("server/winnow.sock")});
  ASSERT_TRUE(server.running()) << server.log();
  ASSERT_EQ(rename(folder.Path("server").c_str(), folder.Path("client").c_str()), 0);
  const std::string other = folder.Path("client/other.sock");
  EXPECT_EQ(symlink("winnow.sock", other.c_str()), 0);
  const CommandResult result =
      RunWinnow({"probe", "--deep", "--json", "--target", "unix:" + other});
  EXPECT_EQ(unlink(other.c_str()), 0);
  ASSERT_EQ(rename(folder.Path("client").c_str(), folder.Path("server").c_str()), 0);
  EXPECT_EQ(result.exit_code, 1);
  const Found shared = Find(ParseJson(result), "shared memory");
  EXPECT_EQ(shared.verdict, "not_ok");
  EXPECT_THAT(shared.said, HasSubstr("winnow.sock.fd"));
  EXPECT_THAT(shared.said, HasSubstr("must be seen by both processes"));
}

}  // namespace
}  // namespace winnow::cli
