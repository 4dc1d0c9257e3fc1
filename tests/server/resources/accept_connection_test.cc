#include "server/resources/accept_connection.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/time/clock.h"
#include "tests/testing/status_matchers.h"

namespace winnow::server {
namespace {

using testing::StatusIs;

class AcceptConnectionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto* const generic = reinterpret_cast<sockaddr*>(&address_);
    socklen_t size = sizeof(address_);
    ASSERT_EQ(bind(listener_.get(), generic, size), 0);
    ASSERT_EQ(listen(listener_.get(), 4), 0);
    ASSERT_EQ(getsockname(listener_.get(), generic, &size), 0);
  }

  void Connect() {
    ASSERT_EQ(connect(client_.get(), reinterpret_cast<sockaddr*>(&address_), sizeof(address_)), 0);
  }

  sockaddr_in address_{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  const UniqueFd listener_{socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)};
  const UniqueFd client_{socket(AF_INET, SOCK_STREAM, 0)};
};

TEST_F(AcceptConnectionTest, OnlyAConnectionThatWaitsIsTaken) {
  EXPECT_THAT(AcceptConnection(listener_.get()),
              StatusIs(absl::StatusCode::kUnavailable, "no connection waits"));
  Connect();
  const auto connection = AcceptConnection(listener_.get());
  ASSERT_OK(connection);
  EXPECT_TRUE(connection->valid());
}

TEST_F(AcceptConnectionTest, WithoutDescriptorsItPausesAndTheConnectionWaits) {
  Connect();
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  // No descriptor at or above the lowest free one may be made.
  const int lowest_free = dup(client_.get());
  close(lowest_free);
  const rlimit none_left{.rlim_cur = static_cast<rlim_t>(lowest_free), .rlim_max = limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none_left), 0);
  const absl::Time begin = absl::Now();
  const auto refused = AcceptConnection(listener_.get());
  const absl::Duration pause = absl::Now() - begin;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kResourceExhausted, "no descriptors left"));
  EXPECT_GE(pause, absl::Milliseconds(50));
  EXPECT_OK(AcceptConnection(listener_.get()));
}

}  // namespace
}  // namespace winnow::server
