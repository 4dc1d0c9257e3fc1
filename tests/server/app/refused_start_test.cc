// Starts that are refused: each says which setting is to blame, and leaves no file behind.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/app/http_server.h"
#include "server/app/server.h"
#include "tests/testing/status_matchers.h"
#include "winnow/kernels/error.h"

namespace winnow::server {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

class RefusedStartTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/winnow_refused_test.XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
    config_.backend = "cpu";
    config_.buffer_pool_bytes = 1 << 20;
    config_.staging_pool_bytes = 1 << 20;
    config_.listeners = {Unix("s")};
    config_.admin_listeners = {Unix("admin")};
    config_.http_listeners = {Unix("http")};
    auto taken = HttpServer::Listen({.listeners = {{"127.0.0.1:0"}}});
    ASSERT_OK(taken);
    taken_ = *std::move(taken);
  }
  void TearDown() override {
    EXPECT_EQ(rmdir(folder_.c_str()), 0) << "something is left in " << folder_;
  }

  std::string Unix(const std::string& name) const {
    return absl::StrCat("unix:", folder_, "/", name);
  }
  // A port that another program listens on.
  const std::string& TakenAddress() const { return taken_->addresses()[0]; }

  absl::Status Start(const BackendOpener& open_backend = OpenBackend) const {
    return Server::Start(
               config_, [](absl::Duration) {}, open_backend)
        .status();
  }

  std::string folder_;
  ServerConfig config_;
  std::unique_ptr<HttpServer> taken_;
};

TEST_F(RefusedStartTest, AGroupThatDoesNotExist) {
  config_.socket_group = "no-such-group";
  EXPECT_THAT(Start(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--socket-group is \"no-such-group\"; there is no such group")));
}

TEST_F(RefusedStartTest, TheNumberThatMeansNoGroup) {
  config_.socket_group = "4294967295";
  EXPECT_THAT(Start(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--socket-group is \"4294967295\"; there is no such group")));
}

TEST_F(RefusedStartTest, APortInUseNamesTheFlagThatNamesIt) {
  const auto refused = [this](const std::string& flag) {
    return StatusIs(absl::StatusCode::kUnavailable,
                    HasSubstr(absl::StrCat(flag, "=", TakenAddress(),
                                           ": cannot listen: the port is in use; stop")));
  };
  const ServerConfig config = config_;
  config_.listeners.push_back(TakenAddress());
  EXPECT_THAT(Start(), refused("--listen"));
  config_ = config;
  config_.insecure_listeners.push_back(TakenAddress());
  EXPECT_THAT(Start(), refused("--insecure-listen"));
  config_ = config;
  config_.http_listeners.push_back(TakenAddress());
  EXPECT_THAT(Start(), refused("--http-listen"));
  config_ = config;
  config_.insecure_http_listeners.push_back(TakenAddress());
  EXPECT_THAT(Start(), refused("--insecure-http-listen"));
}

TEST_F(RefusedStartTest, AnHttpPortInUseIsFoundBeforeTheBackendIsOpened) {
  config_.http_listeners.push_back(TakenAddress());
  int opened = 0;
  EXPECT_FALSE(Start([&opened](const BackendOptions& options) {
                 ++opened;
                 return OpenBackend(options);
               }).ok());
  EXPECT_EQ(opened, 0);
}

TEST_F(RefusedStartTest, AMissingFolder) {
  config_.http_listeners = {Unix("none/http")};
  EXPECT_THAT(Start(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       absl::StrCat("--http-listen=", Unix("none/http"), ": the folder ", folder_,
                                    "/none/ does not exist; make it or choose another path")));
}

TEST_F(RefusedStartTest, CertificatesThatCannotBeRead) {
  config_.tls_certificate = config_.tls_key = folder_ + "/none.pem";
  config_.tls_client_auth = "none";
  EXPECT_THAT(Start(), StatusIs(absl::StatusCode::kInvalidArgument,
                                HasSubstr("none.pem: cannot be read: No such file")));
}

TEST_F(RefusedStartTest, ADeviceThatDoesNotAnswerNamesTheBackend) {
  config_.backend = "cuda";
  const auto no_driver = [](const BackendOptions&) -> absl::StatusOr<std::unique_ptr<Backend>> {
    return MakeError(absl::StatusCode::kUnavailable, "no driver; install one",
                     {.reason = ErrorReason::kDeviceUnavailable});
  };
  EXPECT_THAT(Start(no_driver),
              StatusIs(absl::StatusCode::kUnavailable,
                       "--backend=cuda: no driver; install one; or start with --backend=cpu"));
}

TEST_F(RefusedStartTest, AFileInTheWayOfTheDescriptorSocketIsLeftAlone) {
  const std::string precious = folder_ + "/s.fd";
  ASSERT_TRUE(std::filesystem::create_directory(precious));
  EXPECT_THAT(Start(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("s.fd, beside --listen, cannot")));
  EXPECT_TRUE(std::filesystem::remove(precious));
}

TEST_F(RefusedStartTest, MemoryThatIsNotThereNamesTheSettings) {
  // More than any machine has.
  const auto greedy = [](BackendOptions options) {
    options.buffer_pool_bytes = int64_t{1} << 49;
    return OpenBackend(options);
  };
  EXPECT_THAT(Start(greedy), StatusIs(absl::StatusCode::kResourceExhausted,
                                      HasSubstr("lower --buffer-pool-bytes")));
}

}  // namespace
}  // namespace winnow::server
