#include "server/app/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace winnow::server {
namespace {

using ::testing::ElementsAre;
using testing::FailsWith;
using ::testing::HasSubstr;
using testing::StatusIs;

absl::StatusOr<ParsedFlags> Parse(std::vector<const char*> arguments,
                                  std::map<std::string, std::string> variables = {}) {
  return ParseFlags(arguments, [&variables](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(FlagsTest, WithoutArgumentsTheDefaultsHold) {
  const auto flags = Parse({});
  ASSERT_OK(flags);
  EXPECT_EQ(flags->config.backend, "auto");
  EXPECT_TRUE(flags->config.listeners.empty());
  EXPECT_EQ(flags->config.max_queued_requests, 4096);
  EXPECT_FALSE(flags->help);
}

TEST(FlagsTest, AValueFollowsAnEqualsSignOrASpace) {
  const auto flags = Parse({"--backend=cpu", "--threads", "3", "--listen", "127.0.0.1:1",
                            "--listen=unix:/tmp/x", "--tcp-admin"});
  ASSERT_OK(flags);
  EXPECT_EQ(flags->config.backend, "cpu");
  EXPECT_EQ(flags->config.threads, 3);
  EXPECT_TRUE(flags->config.tcp_admin);
  EXPECT_THAT(flags->config.listeners, ElementsAre("127.0.0.1:1", "unix:/tmp/x"));
}

TEST(FlagsTest, SizesAndTimesHaveSuffixes) {
  const auto flags = Parse({"--max-inline-bytes=3M", "--max-queued-bytes=2G",
                            "--max-batch-bytes=512K", "--drain-timeout=1m30s"});
  ASSERT_OK(flags);
  EXPECT_EQ(flags->config.max_inline_bytes, 3 << 20);
  EXPECT_EQ(flags->config.max_queued_bytes, int64_t{2} << 30);
  EXPECT_EQ(flags->config.max_batch_bytes, 512 << 10);
  EXPECT_EQ(flags->config.drain_timeout, absl::Seconds(90));
}

TEST(FlagsTest, AnUnknownFlagIsRefusedWithTheNearestOne) {
  EXPECT_THAT(Parse({"--bakend=cpu"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("did you mean --backend")));
  EXPECT_THAT(Parse({"--max-queue-bytes=1"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--max-queued-bytes")));
  EXPECT_THAT(Parse({"--xyzzyxyzzy"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--help lists all")));
  EXPECT_THAT(Parse({"serve"}), StatusIs(absl::StatusCode::kInvalidArgument,
                                         "\"serve\" is no flag; --help lists all"));
  EXPECT_THAT(Parse({"help"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("did you mean --help?")));
  EXPECT_THAT(Parse({"-listen=x"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("did you mean --listen?")));
  EXPECT_TRUE(Parse({"-h"})->help);
}

TEST(FlagsTest, AValueOfTheWrongKindSaysWhatTheFlagTakes) {
  EXPECT_THAT(Parse({"--threads=many"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a whole number")));
  EXPECT_THAT(Parse({"--max-inline-bytes=9999999999G"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a size")));
  EXPECT_THAT(Parse({"--log-level=loud"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("warning")));
  EXPECT_THAT(Parse({"--threads"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("needs a value")));
}

TEST(FlagsTest, NumbersAreDigitsAlone) {
  for (const char* value : {"+1", "-0", " 1", "1 ", "", "-", "0x1", "1.0", "+", "--1"}) {
    for (const char* flag : {"threads", "device", "max-leases", "max-inline-bytes"}) {
      EXPECT_THAT(Parse({absl::StrCat("--", flag, "=", value).c_str()}).status(),
                  FailsWith(ErrorReason::kValueOutOfRange, absl::StrCat("--", flag)))
          << value;
    }
    EXPECT_FALSE((ServerConfig{.listeners = {absl::StrCat("127.0.0.1:", value)}}.Validate().ok()))
        << value;
    EXPECT_THAT((ServerConfig{.allowed_uids = {value}}.Validate()),
                FailsWith(ErrorReason::kValueOutOfRange, "--allow-uids"))
        << value;
  }
}

TEST(FlagsTest, ListsHaveNoEmptyElements) {
  for (const char* value : {"", ",", " ", "0,", ",0", "0,,1", "0, ,1"}) {
    for (const char* flag : {"devices", "listen", "allow-uids", "tls-allow-names"}) {
      const auto flags = Parse({absl::StrCat("--", flag, "=", value).c_str()});
      ASSERT_THAT(flags.status(),
                  FailsWith(ErrorReason::kValueOutOfRange, absl::StrCat("--", flag)));
      EXPECT_EQ(GetErrorInfo(flags.status())->value, value);
      EXPECT_THAT(GetErrorInfo(flags.status())->limit, HasSubstr("none of them empty"));
    }
  }
  EXPECT_THAT(Parse({"--devices= 0 ,\t1"})->config.devices, ElementsAre("0", "1"));
}

TEST(FlagsTest, TheEnvironmentFillsWhatTheCommandLineLeavesOut) {
  const auto flags = Parse({"--threads=5"}, {{"WINNOW_THREADS", "9"},
                                             {"WINNOW_LOG_LEVEL", "debug"},
                                             {"WINNOW_LISTEN", "unix:/a,127.0.0.1:7"},
                                             {"WINNOW_HELP", "1"}});
  ASSERT_OK(flags);
  EXPECT_EQ(flags->config.threads, 5);
  EXPECT_EQ(flags->config.log_level, LogLevel::kDebug);
  EXPECT_THAT(flags->config.listeners, ElementsAre("unix:/a", "127.0.0.1:7"));
  EXPECT_FALSE(flags->help);
  EXPECT_THAT(Parse({}, {{"WINNOW_THREADS", "x"}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("WINNOW_THREADS")));
}

TEST(ServerConfigTest, TheDefaultsAreValid) { EXPECT_OK(ServerConfig{}.Validate()); }

TEST(ServerConfigTest, AValueOutsideItsRangeNamesTheFlagAndTheRange) {
  ServerConfig config;
  config.queues = 65;
  EXPECT_THAT(config.Validate(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--queues is 65; this server accepts 0 to 64")));
  config = {};
  config.backend = "tpu";
  EXPECT_THAT(config.Validate(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("auto, cuda or cpu")));
  config = {};
  config.max_queued_bytes = config.max_inline_bytes - 1;
  EXPECT_THAT(config.Validate(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--max-queued-bytes")));
  config = {};
  config.listeners = {"0.0.0.0:80"};
  EXPECT_THAT(config.Validate(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("TLS")));
}

TEST(ServerConfigTest, DevicesAreNumbersOrAll) {
  EXPECT_THAT(ServerConfig{}.DeviceNumbers(), ElementsAre(0));
  EXPECT_THAT(ServerConfig{.device = 3}.DeviceNumbers(), ElementsAre(3));
  const auto flags = Parse({"--devices=2,0", "--devices=7"});
  ASSERT_OK(flags);
  EXPECT_THAT(flags->config.DeviceNumbers(), ElementsAre(2, 0, 7));
  EXPECT_THAT((ServerConfig{.backend = "cpu", .devices = {"all"}}.DeviceNumbers()), ElementsAre(0));
}

TEST(ServerConfigTest, DevicesThatCannotBeAreRefused) {
  using Devices = std::vector<std::string>;
  for (const Devices& devices :
       {Devices{"0", "0"}, Devices{"-1"}, Devices{"1024"}, Devices{"x"}, Devices{"0", "all"},
        Devices{"all", "all"}, Devices{""}, Devices{"+1"}, Devices{"1 2"}, Devices{"01", "1"}}) {
    EXPECT_THAT((ServerConfig{.devices = devices}.Validate()),
                FailsWith(ErrorReason::kValueOutOfRange, "--devices"));
  }
  const absl::Status twice = ServerConfig{.devices = {"0", "1", "0"}}.Validate();
  EXPECT_EQ(GetErrorInfo(twice)->value, "0,1,0");
  EXPECT_EQ(GetErrorInfo(twice)->limit, "each number once");
  EXPECT_THAT(std::string(twice.message()), HasSubstr("names 0 more than once"));
  ServerConfig many;
  for (int device = 0; device < 65; ++device) many.devices.push_back(absl::StrCat(device));
  EXPECT_THAT(many.Validate(), FailsWith(ErrorReason::kValueOutOfRange, "--devices"));
  EXPECT_THAT((ServerConfig{.device = 1, .devices = {"0"}}.Validate()),
              FailsWith(ErrorReason::kValueOutOfRange, "--device"));
}

TEST(ServerConfigTest, AnAddressIsNamedByOneFlag) {
  ServerConfig config;
  config.listeners = {"unix:/a", "127.0.0.1:0", "127.0.0.1:0"};
  EXPECT_OK(config.Validate());
  config.admin_listeners = {"unix:/a"};
  EXPECT_THAT(config.Validate(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "--admin-listen is \"unix:/a\"; it takes an address of its own; --listen "
                       "names it already"));
  config = {};
  config.listeners = {"localhost:7"};
  config.http_listeners = {"127.0.0.1:7"};
  EXPECT_THAT(config.Validate(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--http-listen")));
}

TEST(ServerConfigTest, WhatTlsLacksIsNamed) {
  ServerConfig config;
  config.tls_key = "/k";
  EXPECT_THAT(config.Validate(), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("--tls-key needs --tls-cert, the PEM file")));
  config.tls_certificate = "/c";
  EXPECT_THAT(config.Validate(), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("--tls-cert needs --tls-client-ca, ")));
  config.tls_client_auth = "none";
  EXPECT_OK(config.Validate());
  config.tls_key = "";
  EXPECT_THAT(config.Validate(), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("--tls-cert needs --tls-key, the PEM file")));
}

}  // namespace
}  // namespace winnow::server
