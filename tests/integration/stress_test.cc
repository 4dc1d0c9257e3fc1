// winnow-stress against a real server: every mode ends with no wrong result, no failure that it
// does not explain, and nothing held. Long runs are in tests/bench/results/stress.md.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <future>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tests/integration/certificates.h"
#include "tests/integration/server_process.h"
#include "tests/integration/test_programs.h"

namespace winnow::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class StressTest : public ::testing::Test {
 protected:
  // Output and exit code of winnow-stress on the test's server.
  std::string Stress(const std::string& flags) const { return Stress(flags, server_); }
  static std::string Stress(const std::string& flags, const ServerProcess& server) {
    return RunCommand(absl::StrCat("{ timeout 120 ", ProgramPath(WINNOW_STRESS_PROGRAM),
                                   " --target=", server.unix_target(), " ", flags,
                                   "; echo \" code $?\"; }"));
  }
  static ::testing::Matcher<std::string> Passes() {
    return AllOf(HasSubstr("wrong results 0, unexpected failures 0, held by the server nothing"),
                 Not(HasSubstr("ENDED BY ITSELF")), HasSubstr(" code 0"));
  }
  nlohmann::json Json() const {
    return nlohmann::json::parse(ReadText(folder_.Path("r.json")), nullptr, false);
  }

  TempFolder folder_;
  const ServerProcess server_;
};

TEST_F(StressTest, EveryChaosEndsWithoutWrongResultsAndWithoutLeaks) {
  for (const char* chaos : {"none", "cancel", "deadline", "malformed", "churn", "lease", "slow"}) {
    const std::string output =
        Stress(absl::StrCat("--mix=topk:4x4096:256,amax:2x2048:16 --verify=1 --warm-up=0s "
                            "--duration=2s --in-flight=8 --chaos=",
                            chaos));
    EXPECT_THAT(output, Passes()) << chaos;
    EXPECT_THAT(output, Not(HasSubstr("; 0 results verified"))) << chaos;
  }
}

TEST_F(StressTest, LeasesAndSlowReadersHaveASecondProcess) {
  const std::string flags = "--mix=topk:4x4096:256 --duration=5s --warm-up=0s --in-flight=4 ";
  EXPECT_THAT(
      Stress(flags + "--chaos=lease"),
      AllOf(Passes(), HasSubstr("a second process was killed "), Not(HasSubstr("killed 0 times"))));
  EXPECT_THAT(Stress(flags + "--chaos=slow"),
              AllOf(Passes(), HasSubstr("a second process was stopped "),
                    Not(HasSubstr("stopped 0 times"))));
}

TEST_F(StressTest, TracesAreReplayedAtTheirTimes) {
  for (const char* name : {"decode", "prefill"}) {
    const std::string output =
        Stress(absl::StrCat("--trace=", WINNOW_TRACES_FOLDER, "/", name,
                            ".jsonl --speed=0.25 --verify=0.1 --json=", folder_.Path("r.json")));
    EXPECT_THAT(output, AllOf(Passes(), HasSubstr("not recorded"))) << name;
    const nlohmann::json run = Json()["runs"][0];
    const std::string trace = ReadText(absl::StrCat(WINNOW_TRACES_FOLDER, "/", name, ".jsonl"));
    EXPECT_EQ(run["ok"], std::count(trace.begin(), trace.end(), '\n') - 1) << "once through it";
  }
}

TEST_F(StressTest, FilesOfScoresAndStreamsAreSent) {
  const std::string scores = absl::StrCat(WINNOW_DATA_FOLDER, "/text_scores_bf16_bits.npy");
  EXPECT_THAT(Stress("--stream --verify=1 --duration=1s --warm-up=0s --mix=topk:" + scores + ":64"),
              AllOf(Passes(), Not(HasSubstr("; 0 results verified"))));
}

TEST_F(StressTest, TheLoadGrowsDuringTheRampAndThatIsNotCounted) {
  const std::string output =
      Stress("--rate=200 --ramp=1s --warm-up=0s --duration=1s --mix=topk:1x64:8 --json=" +
             folder_.Path("r.json"));
  EXPECT_THAT(output, Passes());
  EXPECT_NEAR(Json()["runs"][0]["ok"].get<double>(), 200, 70);
}

// The devices of the leases that are open while `load` runs.
std::set<int32_t> DevicesOfLeases(const ServerProcess& server,
                                  const std::future<std::string>& load) {
  std::set<int32_t> devices;
  const auto admin = server.Admin();
  while (load.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready) {
    v1::ListLeasesResponse leases;
    admin->ListLeases(Patient().get(), v1::ListLeasesRequest(), &leases);
    for (const v1::LeaseDescription& lease : leases.leases()) devices.insert(lease.device());
  }
  return devices;
}

TEST_F(StressTest, LeasesAskForTheDeviceThatIsNamed) {
  if (TestBackend() != "cpu") GTEST_SKIP() << "one GPU is no two devices";
  const ServerProcess server({.flags = {"--devices=0,1"}});
  const auto load = [this, &server](const std::string& flags) {
    return std::async(std::launch::async, [this, &server, flags] {
      return Stress("--chaos=lease --mix=topk:1x4096:16 --warm-up=0s --in-flight=4 " + flags,
                    server);
    });
  };
  auto second = load("--duration=2s --device=1");
  EXPECT_THAT(DevicesOfLeases(server, second), ElementsAre(1));
  EXPECT_THAT(second.get(), Passes());
  // Long enough to see leases on both, however late this thread comes to look.
  auto any = load("--duration=5s");
  EXPECT_THAT(DevicesOfLeases(server, any), ElementsAre(0, 1));
  EXPECT_THAT(any.get(), Passes());
  EXPECT_THAT(load("--duration=2s --device=2").get(),
              AllOf(HasSubstr("the devices 0, 1"), Not(HasSubstr(" code 0"))));
}

TEST_F(StressTest, WhatCannotBeIsRefusedBeforeAnythingIsSent) {
  EXPECT_THAT(Stress("--trace=/none.jsonl"),
              AllOf(HasSubstr("cannot read the trace /none.jsonl"), HasSubstr(" code 2")));
  EXPECT_THAT(Stress("--chaos=monkeys"),
              AllOf(HasSubstr("there is no chaos"), HasSubstr(" code 2")));
  EXPECT_THAT(Stress("--mix=topk:/none.npy:3"),
              AllOf(HasSubstr("/none.npy"), HasSubstr(" code 2")));
  EXPECT_THAT(Stress("--json=/none/r.json --duration=10ms --warm-up=0s"),
              AllOf(HasSubstr("cannot write /none/r.json"), HasSubstr(" code 1")));
}

}  // namespace
}  // namespace winnow::testing
