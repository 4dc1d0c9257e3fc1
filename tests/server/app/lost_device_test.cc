// A server whose device is lost: it says so to everyone, and ends with a code of its own.

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "server/app/serve.h"
#include "server/backend/device_backend.h"
#include "server/rpc/status_mapping.h"
#include "tests/testing/discrete_device.h"
#include "tests/testing/forwarding_device.h"
#include "tests/testing/requests.h"
#include "winnow/kernels/error.h"
#include "winnow/v1/admin_service.grpc.pb.h"
#include "winnow/v1/indexer_service.grpc.pb.h"

namespace winnow::server {
namespace {

bool OnGpu() {
  const char* backend = std::getenv("WINNOW_TEST_BACKEND");
  return backend != nullptr && std::string(backend) == "cuda";
}

struct Fate {
  std::atomic<bool> lost{false};
  // Whether it can be seen without a launch. A GPU's own loss is seen as the driver likes.
  std::atomic<bool> health_tells{false};
};

// Loses its context when it is told to. Behaves like a GPU, and with WINNOW_TEST_BACKEND=cuda is
// one: then a launch on a pointer that the contract forbids does it, and every report of the loss
// comes from the driver.
class LosableDevice final : public testing::ForwardingDevice {
 public:
  LosableDevice(std::unique_ptr<Device> device, const Fate* fate)
      : ForwardingDevice(std::move(device)), fate_(*fate) {}

  absl::Status Healthy() override {
    return PretendsLoss() && fate_.health_tells ? Loss() : ForwardingDevice::Healthy();
  }
  absl::Status TopK(Stream& stream, const TopKParams& params,
                    absl::Span<const TopKSegment> segments,
                    absl::Span<std::byte> workspace) override {
    if (PretendsLoss()) return Loss();
    std::vector<TopKSegment> launched(segments.begin(), segments.end());
    if (fate_.lost) launched[0].lengths = reinterpret_cast<const int32_t*>(uintptr_t{0x1000});
    return ForwardingDevice::TopK(stream, params, launched, workspace);
  }

 private:
  bool PretendsLoss() const { return fate_.lost && !OnGpu(); }
  static absl::Status Loss() {
    return MakeError(absl::StatusCode::kUnavailable, "the device is lost",
                     {.reason = ErrorReason::kDeviceLost});
  }

  const Fate& fate_;
};

absl::StatusOr<std::unique_ptr<Backend>> OpenLosable(const BackendOptions& options,
                                                     const Fate* fate) {
  absl::StatusOr<std::unique_ptr<Device>> device = testing::MakeDiscreteDevice();
  if (OnGpu()) device = OpenCudaDevice({});
  if (!device.ok()) return device.status();
  return DeviceBackend::Create(std::make_unique<LosableDevice>(*std::move(device), fate),
                               {.buffer_pool_bytes = options.buffer_pool_bytes,
                                .staging_pool_bytes = options.staging_pool_bytes});
}

class LostDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override { StartServer({}); }

  // The last of `devices` is the one that is lost.
  void StartServer(std::vector<std::string> devices) {
    config_.devices = std::move(devices);
    const int32_t losable = config_.DeviceNumbers().back();
    char path[] = "/tmp/winnow_lost_device.XXXXXX";
    folder_ = mkdtemp(path);
    config_.listeners = {"unix:" + folder_ + "/socket"};
    config_.log_level = LogLevel::kOff;
    config_.buffer_pool_bytes = config_.staging_pool_bytes = int64_t{16} << 20;
    SetLogLevel(config_.log_level);
    served_ = std::async(std::launch::async, [this, losable] {
      return Serve(config_, [this, losable](const BackendOptions& options) {
        return OpenLosable(options, options.device_ordinal == losable ? &fate_ : &good_fate_);
      });
    });
    channel_ = grpc::CreateChannel(config_.listeners[0], grpc::InsecureChannelCredentials());
    ASSERT_TRUE(channel_->WaitForConnected(After(30)));
  }
  ~LostDeviceTest() override {
    fate_.lost = fate_.health_tells = true;  // the server ends whatever the test did
    if (served_.valid()) SendTopK();
    served_ = {};
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  static std::chrono::system_clock::time_point After(int seconds) {
    return std::chrono::system_clock::now() + std::chrono::seconds(seconds);
  }

  grpc::Status SendTopK() {
    grpc::ClientContext context;
    context.set_deadline(After(30));
    v1::TopKResponse response;
    return v1::IndexerService::NewStub(channel_)->TopK(&context, testing::GoodTopK(), &response);
  }

  std::string folder_;
  ServerConfig config_;
  Fate fate_;
  const Fate good_fate_;
  std::future<int> served_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(LostDeviceTest, RequestsFailAsUnavailableAndTheServerEndsWithItsCode) {
  ASSERT_TRUE(SendTopK().ok());
  fate_.lost = true;
  const grpc::Status status = SendTopK();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  const auto detail = GetErrorDetail(status);
  ASSERT_TRUE(detail.has_value()) << status.error_message();
  EXPECT_EQ(detail->reason(), v1::ERROR_REASON_DEVICE_LOST);
  // Not before: the server ends soon after it looked.
  fate_.health_tells = true;
  ASSERT_EQ(served_.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  EXPECT_EQ(served_.get(), kExitDeviceLost);
}

class OneOfTwoLostTest : public LostDeviceTest {
 protected:
  void SetUp() override {
    // Nor can it be opened: the test before this one lost it for the whole process.
    if (OnGpu()) GTEST_SKIP() << "one GPU is no two devices";
    StartServer({"0", "1"});
  }
};

TEST_F(OneOfTwoLostTest, TheServerEndsThoughTheOtherDeviceServes) {
  ASSERT_TRUE(SendTopK().ok());
  fate_.health_tells = true;
  fate_.lost = true;
  ASSERT_EQ(served_.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  EXPECT_EQ(served_.get(), kExitDeviceLost);
}

}  // namespace
}  // namespace winnow::server
