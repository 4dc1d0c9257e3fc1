// A server with several devices: whose work runs where. The devices are fakes, so that a test sees
// what each of them is given and says when it is done.

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/app/server.h"
#include "server/backend/device_backend.h"
#include "tests/server/app/open_stream.h"
#include "tests/testing/fake_backend.h"
#include "tests/testing/requests.h"
#include "tests/testing/sharing_device.h"
#include "winnow/v1/indexer_service.grpc.pb.h"
#include "winnow/v1/lease_service.grpc.pb.h"
#include "winnow/v1/memory_service.grpc.pb.h"

namespace winnow::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A lease, for as long as it lives.
struct HeldLease {
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReader<v1::OpenLeaseResponse>> stream;
  v1::OpenLeaseResponse first;
  const std::string& id() const { return first.opened().lease_id(); }
  int32_t device() const { return first.opened().device(); }
  ~HeldLease() {
    context.TryCancel();
    stream->Finish();
  }
};

class SeveralDevicesTest : public ::testing::Test {
 protected:
  void Start(std::vector<std::string> devices, const BackendOpener& open_backend) {
    char path[] = "/tmp/winnow_several_devices.XXXXXX";
    folder_ = mkdtemp(path);
    SetLogLevel(LogLevel::kOff);
    ServerConfig config{.listeners = {"unix:" + folder_ + "/s"}, .devices = std::move(devices)};
    config.buffer_pool_bytes = config.staging_pool_bytes = int64_t{4} << 20;
    auto server = Server::Start(
        config, [](absl::Duration) {}, open_backend);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ = grpc::CreateChannel(config.listeners[0], grpc::InsecureChannelCredentials());
  }
  // With backends whose launches wait for the test.
  void StartFakes(std::vector<std::string> devices, int32_t launch_slots = 2) {
    Start(std::move(devices), [this, launch_slots](const BackendOptions& options) {
      ordinals_.push_back(options.device_ordinal);
      auto backend = std::make_unique<FakeBackend>(launch_slots);
      fakes_.push_back(backend.get());
      return absl::StatusOr<std::unique_ptr<Backend>>(std::move(backend));
    });
  }
  void TearDown() override {
    if (server_ != nullptr) server_->Drain(absl::ZeroDuration());
    server_ = nullptr;
    std::filesystem::remove_all(folder_);
  }

  static void Wait30Seconds(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    context.set_wait_for_ready(true);
  }

  std::unique_ptr<HeldLease> Open(std::optional<int32_t> device = std::nullopt) {
    auto lease = std::make_unique<HeldLease>();
    Wait30Seconds(lease->context);
    v1::OpenLeaseRequest request;
    if (device.has_value()) request.set_device(*device);
    lease->stream = v1::LeaseService::NewStub(channel_)->OpenLease(&lease->context, request);
    EXPECT_TRUE(lease->stream->Read(&lease->first));
    return lease;
  }

  std::future<grpc::Status> SendTopK(const std::string& lease_id = "") {
    return std::async(std::launch::async, [this, lease_id] {
      grpc::ClientContext context;
      Wait30Seconds(context);
      v1::TopKRequest request = testing::GoodTopK();
      request.set_lease_id(lease_id);
      v1::TopKResponse response;
      return v1::IndexerService::NewStub(channel_)->TopK(&context, request, &response);
    });
  }

  std::vector<size_t> LaunchesOfEach() const {
    std::vector<size_t> launches;
    for (const FakeBackend* fake : fakes_) launches.push_back(fake->launches().size());
    return launches;
  }

  std::string folder_;
  std::vector<int32_t> ordinals_;
  std::vector<FakeBackend*> fakes_;  // of the server
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(SeveralDevicesTest, EachDeviceIsOpenedByItsNumber) {
  StartFakes({"2", "0", "5"});
  EXPECT_THAT(ordinals_, ElementsAre(2, 0, 5));
}

TEST_F(SeveralDevicesTest, TheWorkOfALeaseStaysOnItsDevice) {
  StartFakes({"0", "1", "2"});
  const auto lease = Open(1);
  EXPECT_EQ(lease->device(), 1);
  for (int64_t sent = 1; sent <= 3; ++sent) {
    auto answer = SendTopK(lease->id());
    fakes_[1]->AwaitLaunches(sent);
    fakes_[1]->CompleteOldest();
    EXPECT_TRUE(answer.get().ok());
  }
  EXPECT_THAT(LaunchesOfEach(), ElementsAre(0, 3, 0));
}

TEST_F(SeveralDevicesTest, RequestsWithoutALeaseTakeTheDeviceWithTheFewest) {
  StartFakes({"0", "1"});
  auto first = SendTopK();
  fakes_[0]->AwaitLaunches(1);
  auto second = SendTopK();
  fakes_[1]->AwaitLaunches(1);
  fakes_[0]->CompleteOldest();
  EXPECT_TRUE(first.get().ok());
  auto third = SendTopK();
  fakes_[0]->AwaitLaunches(2);
  fakes_[0]->CompleteOldest();
  fakes_[1]->CompleteOldest();
  EXPECT_TRUE(second.get().ok());
  EXPECT_TRUE(third.get().ok());
}

TEST_F(SeveralDevicesTest, CommandsOfAStreamWithoutALeaseAreSpread) {
  StartFakes({"0", "1"});
  OpenStream stream(channel_, "");
  stream.Send(1);
  fakes_[0]->AwaitLaunches(1);
  stream.Send(2);
  fakes_[1]->AwaitLaunches(1);
  fakes_[1]->CompleteOldest();
  EXPECT_EQ(stream.Read().message_id(), 2);
  fakes_[0]->CompleteOldest();
  EXPECT_EQ(stream.Read().message_id(), 1);
}

TEST_F(SeveralDevicesTest, ACommandIsCancelledWhereItWaits) {
  StartFakes({"0", "1"}, /*launch_slots=*/1);
  const auto lease = Open(1);
  OpenStream stream(channel_, lease->id());
  stream.Send(1);
  fakes_[1]->AwaitLaunches(1);
  stream.Send(2);
  stream.Cancel(2);
  const v1::ExecuteStreamResponse cancelled = stream.Read();
  EXPECT_EQ(cancelled.message_id(), 2);
  EXPECT_TRUE(cancelled.has_error());
  fakes_[1]->CompleteOldest();
  EXPECT_EQ(stream.Read().message_id(), 1);
  EXPECT_THAT(LaunchesOfEach(), ElementsAre(0, 1));
}

TEST_F(SeveralDevicesTest, ALeaseThatNamesNoneAvoidsADeviceWithWork) {
  StartFakes({"0", "1"});
  auto busy = SendTopK();
  fakes_[0]->AwaitLaunches(1);
  EXPECT_EQ(Open()->device(), 1);
  fakes_[0]->CompleteOldest();
  EXPECT_TRUE(busy.get().ok());
}

TEST_F(SeveralDevicesTest, ABusyDeviceDoesNotHoldUpTheWorkOfAnother) {
  StartFakes({"0", "1"});
  const auto slow = Open(0), quick = Open(1);
  auto waiting = SendTopK(slow->id());
  fakes_[0]->AwaitLaunches(1);
  auto answered = SendTopK(quick->id());
  fakes_[1]->AwaitLaunches(1);
  fakes_[1]->CompleteOldest();
  EXPECT_TRUE(answered.get().ok());
  fakes_[0]->CompleteOldest();
  EXPECT_TRUE(waiting.get().ok());
}

TEST_F(SeveralDevicesTest, EndingALeaseDropsWhatWaitsOnItsDeviceAndLeavesTheOtherAlone) {
  StartFakes({"0", "1"}, /*launch_slots=*/1);
  const auto other = Open(0), ended = Open(1);
  auto running = SendTopK(other->id());
  fakes_[0]->AwaitLaunches(1);
  OpenStream stream(channel_, ended->id());
  stream.Send(1);
  fakes_[1]->AwaitLaunches(1);
  stream.Send(2);
  // Refused at once: its answer says that the command before it waits by now.
  v1::ExecuteStreamRequest empty;
  empty.set_message_id(3);
  empty.mutable_execute()->add_steps()->mutable_top_k();
  stream.stream->Write(empty);
  EXPECT_EQ(stream.Read().message_id(), 3);
  grpc::ClientContext context;
  Wait30Seconds(context);
  v1::CloseLeaseRequest request;
  request.set_lease_id(ended->id());
  v1::CloseLeaseResponse response;
  EXPECT_TRUE(v1::LeaseService::NewStub(channel_)->CloseLease(&context, request, &response).ok());
  const v1::ExecuteStreamResponse dropped = stream.Read();
  EXPECT_EQ(dropped.message_id(), 2);
  EXPECT_TRUE(dropped.has_error());
  EXPECT_EQ(SendTopK(ended->id()).get().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  fakes_[1]->CompleteOldest();
  EXPECT_EQ(stream.Read().message_id(), 1);
  fakes_[0]->CompleteOldest();
  EXPECT_TRUE(running.get().ok());
  EXPECT_THAT(LaunchesOfEach(), ElementsAre(1, 1));
}

TEST_F(SeveralDevicesTest, ADrainWaitsForTheWorkOfAllDevices) {
  StartFakes({"0", "1", "2"});
  std::vector<std::unique_ptr<HeldLease>> leases;
  std::vector<std::future<grpc::Status>> answers;
  for (const int32_t device : {0, 1, 2}) {
    leases.push_back(Open(device));
    answers.push_back(SendTopK(leases.back()->id()));
    fakes_[device]->AwaitLaunches(1);
  }
  auto drained = std::async(std::launch::async, [this] { server_->Drain(absl::Seconds(30)); });
  for (const int32_t device : {2, 1, 0}) fakes_[device]->CompleteOldest();
  drained.get();
  for (auto& answer : answers) EXPECT_TRUE(answer.get().ok());
}

TEST_F(SeveralDevicesTest, MemoryIsImportedOnTheDeviceOfTheLease) {
  testing::FakeSharing sharing[2];
  const std::string handle(64, 'h');
  for (testing::FakeSharing& device : sharing) device.Share(handle, 4096);
  Start({"0", "1"}, [&](const BackendOptions& options) {
    return DeviceBackend::Create(
        std::make_unique<testing::SharingDevice>(&sharing[options.device_ordinal]),
        {.buffer_pool_bytes = options.buffer_pool_bytes,
         .staging_pool_bytes = options.staging_pool_bytes});
  });
  const auto first = Open(0), second = Open(1);
  for (const HeldLease* lease : {second.get(), second.get(), first.get()}) {
    grpc::ClientContext context;
    Wait30Seconds(context);
    v1::ImportBufferRequest request;
    request.set_lease_id(lease->id());
    request.set_ipc_handle(handle);
    request.set_size_bytes(1024);
    v1::ImportBufferResponse response;
    const grpc::Status status =
        v1::MemoryService::NewStub(channel_)->ImportBuffer(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    if (lease == second.get()) {
      EXPECT_EQ(sharing[0].opens, 0);
      EXPECT_EQ(sharing[1].opens, 1) << "one mapping serves all buffers of a device";
    }
  }
  EXPECT_EQ(sharing[0].opens, 1) << "a mapping of another device is of no use";
  TearDown();  // what they share outlives the server
}

TEST_F(SeveralDevicesTest, ADeviceThatDoesNotOpenEndsTheStartAndIsNamed) {
  const ServerConfig config{.listeners = {"127.0.0.1:0"}, .devices = {"0", "4"}};
  const auto server = Server::Start(
      config, [](absl::Duration) {},
      [](const BackendOptions& options) -> absl::StatusOr<std::unique_ptr<Backend>> {
        if (options.device_ordinal == 4) return absl::ResourceExhaustedError("no memory");
        return std::make_unique<FakeBackend>(1);
      });
  ASSERT_FALSE(server.ok());
  EXPECT_THAT(std::string(server.status().message()), HasSubstr("device 4: no memory; lower"));
}

}  // namespace
}  // namespace winnow::server
