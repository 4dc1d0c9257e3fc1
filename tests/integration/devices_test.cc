// One server with two devices: a lease lives on one, its work runs there, and nothing of it is on
// the other. The devices are of the CPU, so that they are told apart by what the server counts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "tests/integration/grpc_status_matchers.h"
#include "tests/integration/lease_session.h"
#include "tests/integration/server_process.h"
#include "tests/testing/requests.h"

namespace winnow::testing {
namespace {

using ::testing::HasSubstr;

class DevicesTest : public ::testing::Test {
 protected:
  DevicesTest()
      : server_({.flags = {"--backend=cpu", "--devices=0,1", "--buffer-pool-bytes=1M",
                           "--max-resume-grace=60s"}}) {}
  void SetUp() override { ASSERT_TRUE(server_.running()) << server_.log(); }

  std::unique_ptr<LeaseSession> Open(v1::OpenLeaseRequest request = {}) {
    return std::make_unique<LeaseSession>(server_.Connect(server_.unix_target()), request);
  }
  std::unique_ptr<LeaseSession> OpenOn(int32_t device) {
    v1::OpenLeaseRequest request;
    request.set_device(device);
    return Open(request);
  }
  v1::DeviceLoad LoadOf(int device) {
    v1::GetServerInfoResponse info;
    EXPECT_TRUE(server_.Admin()->GetServerInfo(Patient().get(), {}, &info).ok());
    EXPECT_EQ(info.devices_size(), 2);
    return info.devices(device).load();
  }
  static grpc::Status CreatePlan(LeaseSession& session, v1::ResourceId& plan) {
    v1::PlanTopKRequest request = GoodPlan();
    request.set_lease_id(session.id());
    v1::PlanTopKResponse response;
    const grpc::Status status = session.indexer().PlanTopK(Patient().get(), request, &response);
    plan = response.plan();
    return status;
  }

  ServerProcess server_;
};

TEST_F(DevicesTest, TheServerListsItsDevicesAndTheFirstIsTheDeviceOfOlderClients) {
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(server_.Admin()->GetServerInfo(Patient().get(), {}, &info).ok());
  ASSERT_EQ(info.devices_size(), 2);
  EXPECT_EQ(info.devices(0).ordinal(), 0);
  EXPECT_EQ(info.devices(1).ordinal(), 1);
  EXPECT_EQ(info.devices(1).kind(), "cpu");
  EXPECT_EQ(info.devices(1).load().max_leased_bytes(), 1 << 20);
  EXPECT_EQ(info.device().SerializeAsString(), info.devices(0).SerializeAsString());
}

TEST_F(DevicesTest, ALeaseIsOnTheDeviceThatItNamesWithAllThatItOwns) {
  const auto session = OpenOn(1);
  ASSERT_TRUE(session->opened());
  EXPECT_EQ(session->grant().device(), 1);
  v1::ResourceId buffer, plan;
  ASSERT_TRUE(session->Allocate(4096, buffer).ok());
  EXPECT_EQ(LoadOf(1).leased_bytes(), 4096);
  ASSERT_TRUE(CreatePlan(*session, plan).ok());
  EXPECT_GT(LoadOf(1).leased_bytes(), 4096);
  EXPECT_EQ(LoadOf(1).lease_count(), 1);
  EXPECT_EQ(LoadOf(0).leased_bytes(), 0);
  EXPECT_EQ(LoadOf(0).lease_count(), 0);
  v1::ListLeasesResponse leases;
  ASSERT_TRUE(server_.Admin()->ListLeases(Patient().get(), {}, &leases).ok());
  ASSERT_EQ(leases.leases_size(), 1);
  EXPECT_EQ(leases.leases(0).device(), 1);
}

TEST_F(DevicesTest, LeasesThatNameNoDeviceTakeTheLeastLoadedOne) {
  const auto first = Open();
  ASSERT_TRUE(first->opened());
  v1::ResourceId buffer;
  ASSERT_TRUE(first->Allocate(4096, buffer).ok());
  const auto second = Open();
  EXPECT_NE(first->grant().device(), second->grant().device());
  ASSERT_TRUE(second->Allocate(8192, buffer).ok());
  EXPECT_EQ(Open()->grant().device(), first->grant().device());
}

TEST_F(DevicesTest, ADeviceThatIsNotThereIsRefusedByName) {
  const auto session = OpenOn(2);
  EXPECT_FALSE(session->opened());
  const grpc::Status status = session->AwaitEnd();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "device is 2; this server accepts the devices 0, 1");
}

TEST_F(DevicesTest, EachDeviceHasAPoolAndTheEndOfALeaseFreesItsOwn) {
  auto first = OpenOn(0);
  const auto second = OpenOn(1);
  v1::ResourceId buffer;
  ASSERT_TRUE(first->Allocate(900'000, buffer).ok());
  ASSERT_TRUE(second->Allocate(900'000, buffer).ok());
  const grpc::Status full = OpenOn(0)->Allocate(900'000, buffer);
  EXPECT_EQ(full.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(full.error_message(), HasSubstr("bytes of device 0"));
  ASSERT_TRUE(CloseLease(server_, first->id()).ok());
  EXPECT_EQ(LoadOf(0).leased_bytes(), 0);
  EXPECT_EQ(LoadOf(1).leased_bytes(), 900'000);
}

TEST_F(DevicesTest, ResultsDoNotDependOnTheDevice) {
  for (const int device : {0, 1}) {
    const auto session = OpenOn(device);
    ASSERT_TRUE(session->opened());
    v1::ResourceId buffer;
    ASSERT_TRUE(session->Allocate(64, buffer).ok());
    ASSERT_TRUE(session->Write(buffer, 0, BytesOf<float>({1, 4, 3, 2})).ok());
    v1::TopKRequest request;
    request.set_lease_id(session->id());
    *request.mutable_step()->mutable_scores() = BufferTensor(v1::DATA_TYPE_FLOAT32, 1, 4, buffer);
    *request.mutable_step()->mutable_lengths() = Int32Vector({4});
    request.mutable_step()->set_k(2);
    request.mutable_step()->set_deterministic(true);
    request.mutable_step()->mutable_indices()->set_placement(v1::OUTPUT_PLACEMENT_INLINE);
    v1::TopKResponse response;
    const grpc::Status status = session->indexer().TopK(Patient().get(), request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(ElementsOf<int32_t>(response.result().outputs(0).tensor()),
              (std::vector<int32_t>{1, 2}));
  }
}

TEST_F(DevicesTest, AResourceOfALeaseOnAnotherDeviceIsRefused) {
  const auto owner = OpenOn(0);
  const auto other = OpenOn(1);
  v1::ResourceId buffer;
  ASSERT_TRUE(owner->Allocate(64, buffer).ok());
  std::string bytes;
  const grpc::Status status = other->Read(buffer, bytes);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(status.error_message(), HasSubstr("belongs to another lease"));
}

TEST_F(DevicesTest, TheServerDrainsAllDevices) {
  const auto first = OpenOn(0);
  const auto second = OpenOn(1);
  ASSERT_TRUE(first->opened() && second->opened());
  server_.Signal(SIGTERM);
  EXPECT_EQ(server_.AwaitExit(), 0);
  EXPECT_TRUE(first->AwaitEnd().ok());
  EXPECT_TRUE(second->AwaitEnd().ok());
}

}  // namespace
}  // namespace winnow::testing
