// Memory shared with a server in another process: what an engine does with its own GPU memory. This
// process is the engine; its device is opened through the library. Without a GPU, the refusals.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/resources/shared_memory.h"
#include "tests/integration/grpc_status_matchers.h"
#include "tests/integration/lease_session.h"
#include "tests/integration/one_lease_test.h"
#include "tests/integration/server_process.h"
#include "tests/integration/test_programs.h"
#include "tests/testing/random.h"
#include "tests/testing/requests.h"
#include "winnow/client/descriptor_passing.h"
#include "winnow/kernels/device.h"

namespace winnow::testing {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kBytes = int64_t{2} << 20;
constexpr int64_t kScoresAt = 4096;
constexpr int64_t kIndicesAt = 8192;
constexpr int64_t kWordAt = 0;

class MemorySharingTest : public OneLeaseTest {
 protected:
  grpc::Status Import(v1::ImportBufferRequest request, v1::ResourceId& buffer) {
    request.set_lease_id(session_->id());
    if (request.size_bytes() == 0) request.set_size_bytes(kBytes);
    v1::ImportBufferResponse response;
    const grpc::Status status =
        session_->memory().ImportBuffer(Patient().get(), request, &response);
    buffer = response.buffer();
    return status;
  }

  std::string Send(int descriptor) {
    const auto token = client::SendDescriptor(session_->grant().descriptor_socket_path(),
                                              session_->id(), descriptor, absl::Seconds(10));
    EXPECT_TRUE(token.ok()) << token.status();
    return token.value_or("");
  }

  // The best two of four scores in the buffer; the indices go to it too.
  v1::TopKRequest TopKIn(const v1::ResourceId& buffer) {
    v1::TopKRequest request;
    request.set_lease_id(session_->id());
    auto& step = *request.mutable_step();
    *step.mutable_scores() = BufferTensor(v1::DATA_TYPE_FLOAT32, 1, 4, buffer, kScoresAt);
    *step.mutable_lengths() = Int32Vector({4});
    step.set_k(2);
    step.set_deterministic(true);
    *step.mutable_indices() = BufferTarget(buffer, kIndicesAt);
    return request;
  }

  void ExpectServes() {
    v1::TopKResponse response;
    EXPECT_TRUE(session_->indexer().TopK(Patient().get(), GoodTopK(), &response).ok());
  }
};

TEST_F(MemorySharingTest, WithoutAGpuEachWayIsRefusedByItsReason) {
  if (TestBackend() != "cpu") GTEST_SKIP() << "the backend has a GPU";
  v1::ResourceId buffer;
  v1::ImportBufferRequest handle;
  handle.set_ipc_handle(std::string(kIpcHandleBytes, 'x'));
  EXPECT_THAT(Import(handle, buffer), Fails(v1::ERROR_REASON_NOT_IN_BUILD));
  v1::ImportBufferRequest mapped;
  mapped.mutable_mapped_memory()->set_chunk_size_bytes(kBytes);
  EXPECT_THAT(Import(mapped, buffer), Fails(v1::ERROR_REASON_NOT_IN_BUILD));
  mapped.set_ipc_handle("x");
  EXPECT_THAT(Import(mapped, buffer), Fails(v1::ERROR_REASON_FIELDS_CONFLICT));
  v1::AllocateBufferRequest allocate;
  allocate.set_lease_id(session_->id());
  allocate.set_size_bytes(64);
  allocate.set_export_kind(v1::EXPORT_KIND_DESCRIPTOR);
  v1::AllocateBufferResponse allocated;
  EXPECT_THAT(session_->memory().AllocateBuffer(Patient().get(), allocate, &allocated),
              Fails(v1::ERROR_REASON_NOT_IN_BUILD));
  ASSERT_TRUE(session_->Allocate(kBytes, buffer).ok());
  v1::TopKRequest request = TopKIn(buffer);
  request.mutable_ordering()->mutable_then_set()->set_value(1);
  v1::TopKResponse response;
  EXPECT_THAT(session_->indexer().TopK(Patient().get(), request, &response),
              Fails(v1::ERROR_REASON_NOT_IN_BUILD));
  v1::ExportBufferRequest exported;
  exported.set_lease_id(session_->id());
  *exported.mutable_buffer() = buffer;
  v1::ExportBufferResponse answer;
  EXPECT_THAT(session_->memory().ExportBuffer(Patient().get(), exported, &answer),
              Fails(v1::ERROR_REASON_FIELDS_CONFLICT));
}

// The engine's side, on the server's GPU.
class EngineTest : public MemorySharingTest {
 protected:
  void SetUp() override {
    if (TestBackend() != "cuda") GTEST_SKIP() << "needs a GPU: set WINNOW_TEST_BACKEND=cuda";
    auto device = OpenCudaDevice({});
    ASSERT_TRUE(device.ok()) << device.status();
    device_ = *std::move(device);
    stream_ = *device_->CreateStream(StreamPriority::kNormal);
    MemorySharingTest::SetUp();
  }

  MemorySharing& sharing() { return *device_->memory_sharing(); }

  std::unique_ptr<ExportedMemory> Allocate(ExportKind kind) {
    auto memory = sharing().AllocateForExport(kind, kBytes);
    EXPECT_TRUE(memory.ok()) << memory.status();
    return *std::move(memory);
  }

  // The engine's memory as a buffer of the lease.
  v1::ResourceId Share(ExportedMemory& memory, ExportKind kind) {
    v1::ImportBufferRequest request;
    if (kind == ExportKind::kIpcHandle) {
      request.set_ipc_handle(*memory.IpcHandle());
    } else {
      const server::UniqueFd descriptor(*memory.Descriptor());
      request.mutable_mapped_memory()->add_import_tokens(Send(descriptor.get()));
      request.mutable_mapped_memory()->set_chunk_size_bytes(memory.allocation_bytes());
    }
    v1::ResourceId buffer;
    const grpc::Status status = Import(request, buffer);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return buffer;
  }

  void Put(std::byte* to, const void* from, int64_t bytes) {
    ASSERT_TRUE(device_->Copy(*stream_, to, from, bytes).ok());
    ASSERT_TRUE(stream_->Synchronize().ok());
  }
  std::vector<int32_t> Get(const std::byte* from, int64_t count) {
    std::vector<int32_t> values(static_cast<size_t>(count), -77);
    EXPECT_TRUE(device_->Copy(*stream_, values.data(), from, count * 4).ok());
    EXPECT_TRUE(stream_->Synchronize().ok());
    return values;
  }

  // The server selects from what this process wrote, and this process reads what it selected.
  void ExpectSelectsIn(std::byte* memory, const v1::ResourceId& buffer) {
    struct Case {
      std::vector<float> scores;
      int32_t first, second;
    };
    for (const Case& one : {Case{{1, 4, 3, 2}, 1, 2}, Case{{9, 0, 0, 8}, 0, 3}}) {
      Put(memory + kScoresAt, one.scores.data(), 16);
      v1::TopKResponse response;
      const grpc::Status status =
          session_->indexer().TopK(Patient().get(), TopKIn(buffer), &response);
      ASSERT_TRUE(status.ok()) << status.error_message();
      EXPECT_THAT(Get(memory + kIndicesAt, 2), ElementsAre(one.first, one.second));
    }
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
};

TEST_F(EngineTest, MemoryOfAHandleIsUsedInPlace) {
  const auto memory = Allocate(ExportKind::kIpcHandle);
  ExpectSelectsIn(memory->data(), Share(*memory, ExportKind::kIpcHandle));
}

TEST_F(EngineTest, MemoryOfADescriptorIsUsedInPlace) {
  const auto memory = Allocate(ExportKind::kDescriptor);
  ExpectSelectsIn(memory->data(), Share(*memory, ExportKind::kDescriptor));
}

TEST_F(EngineTest, TwoBuffersOfOneHandleAreTwoPartsOfIt) {
  const auto memory = Allocate(ExportKind::kIpcHandle);
  v1::ImportBufferRequest request;
  request.set_ipc_handle(*memory->IpcHandle());
  request.set_offset_bytes(kScoresAt);
  request.set_size_bytes(4096);
  v1::ResourceId scores, all;
  ASSERT_TRUE(Import(request, scores).ok());
  all = Share(*memory, ExportKind::kIpcHandle);
  const float values[4] = {1, 2, 4, 3};
  Put(memory->data() + kScoresAt, values, sizeof(values));
  v1::TopKRequest select = TopKIn(all);
  *select.mutable_step()->mutable_scores() = BufferTensor(v1::DATA_TYPE_FLOAT32, 1, 4, scores, 0);
  v1::TopKResponse response;
  ASSERT_TRUE(session_->indexer().TopK(Patient().get(), select, &response).ok());
  EXPECT_THAT(Get(memory->data() + kIndicesAt, 2), ElementsAre(2, 3));
}

TEST_F(EngineTest, RangesOutsideTheAllocationAreRefused) {
  const auto memory = Allocate(ExportKind::kIpcHandle);
  v1::ImportBufferRequest request;
  request.set_ipc_handle(*memory->IpcHandle());
  v1::ResourceId buffer;
  request.set_offset_bytes(2);
  EXPECT_THAT(Import(request, buffer), Fails(v1::ERROR_REASON_ALIGNMENT_INVALID));
  for (const int64_t offset : {int64_t{-4}, int64_t{4}, memory->allocation_bytes()}) {
    request.set_offset_bytes(offset);
    EXPECT_THAT(Import(request, buffer), Fails(v1::ERROR_REASON_RANGE_OUT_OF_BOUNDS)) << offset;
  }
}

TEST_F(EngineTest, HandlesAndDescriptorsOfNothingAreRefusedAndHarmNobody) {
  Random random(SeedFromEnvironment("WINNOW_TEST_SEED"));
  v1::ResourceId buffer;
  for (int i = 0; i < 20; ++i) {
    v1::ImportBufferRequest request;
    std::string handle(kIpcHandleBytes, '\0');
    for (char& byte : handle) byte = static_cast<char>(i == 0 ? 0 : random.Below(256));
    request.set_ipc_handle(handle);
    EXPECT_THAT(Import(request, buffer), Fails(v1::ERROR_REASON_IMPORT_REFUSED));
  }
  v1::ImportBufferRequest request;
  request.set_ipc_handle("short");
  EXPECT_THAT(Import(request, buffer), Fails(v1::ERROR_REASON_DATA_SIZE_MISMATCH));
  server::UniqueFd shared(memfd_create("not of a gpu", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(shared.get(), kBytes), 0);
  request.clear_ipc_handle();
  request.mutable_mapped_memory()->add_import_tokens(Send(shared.get()));
  request.mutable_mapped_memory()->set_chunk_size_bytes(kBytes);
  EXPECT_THAT(Import(request, buffer), Fails(v1::ERROR_REASON_IMPORT_REFUSED));
  ExpectServes();
}

TEST_F(EngineTest, ADescriptorOfAnotherSizeIsRefused) {
  const auto memory = Allocate(ExportKind::kDescriptor);
  v1::ImportBufferRequest request;
  const server::UniqueFd descriptor(*memory->Descriptor());
  request.mutable_mapped_memory()->add_import_tokens(Send(descriptor.get()));
  request.mutable_mapped_memory()->set_chunk_size_bytes(4 * memory->allocation_bytes());
  v1::ResourceId buffer;
  EXPECT_FALSE(Import(request, buffer).ok());
  ExpectServes();
}

TEST_F(EngineTest, MemoryOfTheServerIsExportedBothWays) {
  for (const v1::ExportKind kind : {v1::EXPORT_KIND_IPC_HANDLE, v1::EXPORT_KIND_DESCRIPTOR}) {
    v1::AllocateBufferRequest allocate;
    allocate.set_lease_id(session_->id());
    allocate.set_size_bytes(kBytes);
    allocate.set_export_kind(kind);
    v1::AllocateBufferResponse allocated;
    grpc::Status status = session_->memory().AllocateBuffer(Patient().get(), allocate, &allocated);
    ASSERT_TRUE(status.ok()) << status.error_message();
    v1::ExportBufferRequest request;
    request.set_lease_id(session_->id());
    *request.mutable_buffer() = allocated.buffer();
    v1::ExportBufferResponse response;
    status = session_->memory().ExportBuffer(Patient().get(), request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    absl::StatusOr<std::unique_ptr<DeviceMemory>> memory;
    if (kind == v1::EXPORT_KIND_IPC_HANDLE) {
      memory = sharing().OpenIpcHandle(response.ipc_handle());
    } else {
      const auto descriptor =
          client::FetchDescriptor(session_->grant().descriptor_socket_path(), session_->id(),
                                  response.export_token(), absl::Seconds(10));
      ASSERT_TRUE(descriptor.ok()) << descriptor.status();
      const int number = descriptor->get();
      memory = sharing().MapDescriptors({&number, 1}, response.size_bytes(), false);
    }
    ASSERT_TRUE(memory.ok()) << memory.status();
    ExpectSelectsIn((*memory)->data(), allocated.buffer());
  }
}

TEST_F(EngineTest, ADeviceOrdersBothSidesByWords) {
  const auto memory = Allocate(ExportKind::kIpcHandle);
  const v1::ResourceId buffer = Share(*memory, ExportKind::kIpcHandle);
  std::byte* const word = memory->data() + kWordAt;
  v1::TopKRequest request = TopKIn(buffer);
  auto& ordering = *request.mutable_ordering();
  *ordering.mutable_wait_for()->mutable_word()->mutable_buffer() = buffer;
  ordering.mutable_wait_for()->mutable_word()->set_offset_bytes(kWordAt);
  *ordering.mutable_then_set()->mutable_word()->mutable_buffer() = buffer;
  ordering.mutable_then_set()->mutable_word()->set_offset_bytes(kWordAt + 4);
  ordering.mutable_wait_timeout_duration()->set_seconds(10);
  for (int32_t round = 1; round <= 50; ++round) {
    ordering.mutable_wait_for()->set_value(round);
    ordering.mutable_then_set()->set_value(round);
    // The request is on its way before the scores are written.
    grpc::CompletionQueue queue;
    grpc::ClientContext context;
    v1::TopKResponse response;
    grpc::Status status;
    const auto call = session_->indexer().AsyncTopK(&context, request, &queue);
    call->Finish(&response, &status, nullptr);
    std::vector<float> scores(4, 0);
    scores[round % 4] = 5;
    scores[(round + 1) % 4] = 4;
    ASSERT_TRUE(device_->Copy(*stream_, memory->data() + kScoresAt, scores.data(), 16).ok());
    ASSERT_TRUE(sharing().SetWord(*stream_, word, static_cast<uint32_t>(round)).ok());
    // This stream goes on when the server's has written: neither host waits in between.
    ASSERT_TRUE(sharing().AwaitWord(*stream_, word + 4, static_cast<uint32_t>(round)).ok());
    std::vector<int32_t> chosen = Get(memory->data() + kIndicesAt, 2);
    std::sort(chosen.begin(), chosen.end());
    std::vector<int32_t> expected = {round % 4, (round + 1) % 4};
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(chosen, expected) << round;
    void* tag = nullptr;
    bool ok = false;
    ASSERT_TRUE(queue.Next(&tag, &ok));
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
}

TEST_F(EngineTest, AWordThatIsNeverSetFailsItsRequestAndHoldsUpNobody) {
  const auto memory = Allocate(ExportKind::kIpcHandle);
  const v1::ResourceId buffer = Share(*memory, ExportKind::kIpcHandle);
  v1::TopKRequest request = TopKIn(buffer);
  auto& ordering = *request.mutable_ordering();
  *ordering.mutable_wait_for()->mutable_word()->mutable_buffer() = buffer;
  ordering.mutable_wait_for()->set_value(1);
  ordering.mutable_wait_timeout_duration()->set_nanos(300'000'000);
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  v1::TopKResponse response;
  grpc::Status status;
  const auto call = session_->indexer().AsyncTopK(&context, request, &queue);
  call->Finish(&response, &status, nullptr);
  ExpectServes();
  void* tag = nullptr;
  bool ok = false;
  ASSERT_TRUE(queue.Next(&tag, &ok));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED) << status.error_message();
  EXPECT_THAT(status, Fails(v1::ERROR_REASON_DEADLINE_EXPIRED));
  EXPECT_THAT(Get(memory->data(), 1), ElementsAre(1)) << "the server ended the wait itself";
}

TEST_F(EngineTest, AnEndedLeaseLetsGoOfTheEnginesMemory) {
  auto memory = Allocate(ExportKind::kIpcHandle);
  Share(*memory, ExportKind::kIpcHandle);
  session_ = nullptr;
  EXPECT_EQ(LeasesOnceAtMost(0, server_).leases_size(), 0);
  memory = nullptr;
  OpenLease();
  // A handle of memory that is gone.
  ExpectServes();
}

}  // namespace
}  // namespace winnow::testing
