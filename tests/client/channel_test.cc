#include "client/src/channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace winnow::client {
namespace {

TEST(ChannelTest, SocketsAndPortsAreTargets) {
  for (const std::string& target :
       {std::string("unix:/run/winnow.sock"), std::string("unix:relative.sock"),
        absl::StrCat("unix:/", std::string(106, 'a')), std::string("unix:///run/winnow.sock"),
        absl::StrCat("unix:///", std::string(106, 'a')), std::string("localhost:1"),
        std::string("127.0.0.1:65535"), std::string("[::1]:7070"),
        std::string("gpu-7.example.org:443")}) {
    EXPECT_OK(CheckTarget(target)) << target;
  }
}

TEST(ChannelTest, AnythingElseIsRefusedByName) {
  for (const std::string& target : {std::string(),
                                    std::string("unix:"),
                                    std::string("unix://"),
                                    std::string("unix://host/s"),
                                    absl::StrCat("unix:///", std::string(107, 'a')),
                                    absl::StrCat("unix:/", std::string(107, 'a')),
                                    std::string("localhost"),
                                    std::string(":7070"),
                                    std::string("localhost:"),
                                    std::string("localhost:0"),
                                    std::string("localhost:65536"),
                                    std::string("localhost:http"),
                                    std::string("localhost:+1"),
                                    std::string("localhost: 1"),
                                    std::string("localhost:1 "),
                                    std::string("::1:7070"),
                                    std::string("[]:7070"),
                                    std::string("dns:///localhost:7070"),
                                    std::string("a b:1"),
                                    std::string("host:99999999999999999999")}) {
    EXPECT_THAT(CheckTarget(target),
                winnow::testing::FailsWith(ErrorReason::kValueOutOfRange, "target"))
        << target;
  }
}

}  // namespace
}  // namespace winnow::client
