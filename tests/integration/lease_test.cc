// Leases and what they own, over real sockets: resources as inputs and outputs, endings, quotas,
// refusals.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "server/resources/shared_memory.h"
#include "tests/integration/grpc_status_matchers.h"
#include "tests/integration/lease_session.h"
#include "tests/integration/server_process.h"
#include "tests/testing/requests.h"

namespace winnow::testing {
namespace {

using ::testing::ElementsAre;

class LeaseTest : public ::testing::Test {
 protected:
  LeaseTest()
      : server_({.flags = {"--buffer-pool-bytes=16M", "--max-lease-bytes=8M",
                           "--max-lease-resources=4", "--max-resume-grace=60s"}}) {}
  void SetUp() override { ASSERT_TRUE(server_.running()) << server_.log(); }

  std::unique_ptr<LeaseSession> Open(v1::OpenLeaseRequest request = {}) {
    auto session = std::make_unique<LeaseSession>(server_.Connect(server_.unix_target()), request);
    EXPECT_TRUE(session->opened());
    return session;
  }

  v1::ListLeasesResponse Leases() {
    v1::ListLeasesResponse response;
    EXPECT_TRUE(server_.Admin()->ListLeases(Patient().get(), {}, &response).ok());
    return response;
  }

  // One row of scores in the buffer, k 2.
  v1::TopKRequest TopKOf(const LeaseSession& session, const v1::ResourceId& buffer) {
    v1::TopKRequest request;
    request.set_lease_id(session.id());
    *request.mutable_step()->mutable_scores() = BufferTensor(v1::DATA_TYPE_FLOAT32, 1, 4, buffer);
    *request.mutable_step()->mutable_lengths() = Int32Vector({4});
    request.mutable_step()->set_k(2);
    request.mutable_step()->set_deterministic(true);
    request.mutable_step()->mutable_indices()->set_placement(v1::OUTPUT_PLACEMENT_INLINE);
    return request;
  }

  ServerProcess server_;
};

TEST_F(LeaseTest, ABufferIsInputAndOutputOfAnOperation) {
  const auto session = Open();
  v1::ResourceId buffer;
  ASSERT_TRUE(session->Allocate(4096, buffer).ok());
  ASSERT_TRUE(session->Write(buffer, 0, BytesOf<float>({1, 4, 3, 2})).ok());
  v1::TopKRequest request = TopKOf(*session, buffer);
  *request.mutable_step()->mutable_indices() = BufferTarget(buffer, 64);
  v1::TopKResponse response;
  const grpc::Status status = session->indexer().TopK(Patient().get(), request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.result().outputs_size(), 0);
  std::string bytes;
  ASSERT_TRUE(session->Read(buffer, bytes).ok());
  ASSERT_EQ(bytes.size(), 4096u);
  int32_t indices[2];
  std::memcpy(indices, bytes.data() + 64, sizeof(indices));
  EXPECT_THAT(indices, ElementsAre(1, 2));
  EXPECT_EQ(bytes.substr(128), std::string(4096 - 128, '\0')) << "new memory is zero";
}

TEST_F(LeaseTest, PageTablesAreUpdatedAndRead) {
  const auto session = Open();
  v1::ResourceId buffer;
  ASSERT_TRUE(session->Allocate(64, buffer).ok());
  ASSERT_TRUE(session->Write(buffer, 0, BytesOf<float>({1, 4, 3, 2})).ok());
  v1::CreatePageTableRequest create;
  create.set_lease_id(session->id());
  create.set_row_count(1);
  create.set_column_count(2);
  create.set_page_size(2);
  v1::CreatePageTableResponse table;
  ASSERT_TRUE(session->memory().CreatePageTable(Patient().get(), create, &table).ok());

  v1::TopKRequest request = TopKOf(*session, buffer);
  request.mutable_step()->mutable_slots()->set_placement(v1::OUTPUT_PLACEMENT_INLINE);
  *request.mutable_step()->mutable_page_table()->mutable_resource() = table.page_table();
  v1::TopKResponse response;
  EXPECT_THAT(session->indexer().TopK(Patient().get(), request, &response),
              Fails(v1::ERROR_REASON_PAGE_ID_OUT_OF_RANGE));

  v1::UpdatePageTableRequest update;
  update.set_lease_id(session->id());
  *update.mutable_page_table() = table.page_table();
  auto& append = *update.add_appends();
  append.add_page_ids(7);
  append.add_page_ids(5);
  v1::UpdatePageTableResponse updated;
  ASSERT_TRUE(session->memory().UpdatePageTable(Patient().get(), update, &updated).ok());
  EXPECT_EQ(updated.version(), 2);
  const grpc::Status status = session->indexer().TopK(Patient().get(), request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_THAT(ElementsOf<int32_t>(response.result().outputs(0).tensor()), ElementsAre(1, 2));
  EXPECT_THAT(ElementsOf<int32_t>(response.result().outputs(1).tensor()), ElementsAre(15, 10));
}

TEST_F(LeaseTest, APlanIsStaleForOtherLengths) {
  const auto session = Open();
  v1::PlanTopKRequest plan;
  plan.set_lease_id(session->id());
  *plan.mutable_lengths() = Int32Vector({4});
  plan.set_column_count(4);
  plan.set_k(2);
  plan.set_data_type(v1::DATA_TYPE_FLOAT32);
  v1::PlanTopKResponse planned;
  ASSERT_TRUE(session->indexer().PlanTopK(Patient().get(), plan, &planned).ok());
  ASSERT_TRUE(planned.has_plan());
  v1::TopKRequest request;
  request.set_lease_id(session->id());
  *request.mutable_step()->mutable_scores() = FloatTensor(1, 4, {1, 4, 3, 2});
  *request.mutable_step()->mutable_lengths() = Int32Vector({4});
  request.mutable_step()->set_k(2);
  request.mutable_step()->mutable_indices()->set_placement(v1::OUTPUT_PLACEMENT_INLINE);
  *request.mutable_step()->mutable_plan() = planned.plan();
  v1::TopKResponse response;
  const grpc::Status status = session->indexer().TopK(Patient().get(), request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  *request.mutable_step()->mutable_lengths() = Int32Vector({3});
  const grpc::Status stale = session->indexer().TopK(Patient().get(), request, &response);
  EXPECT_EQ(stale.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(stale, Fails(v1::ERROR_REASON_PLAN_STALE));
}

TEST_F(LeaseTest, TheEndOfTheStreamReleasesEverything) {
  auto session = Open();
  v1::ResourceId buffer;
  ASSERT_TRUE(session->Allocate(8 << 20, buffer).ok());
  EXPECT_EQ(Leases().leases(0).used_bytes(), 8 << 20);
  session = nullptr;
  ASSERT_EQ(LeasesOnceAtMost(0, server_).leases_size(), 0);
  // The pool has 16 MiB: both fit only when nothing leaked.
  const auto first = Open();
  const auto second = Open();
  EXPECT_TRUE(first->Allocate(8 << 20, buffer).ok());
  EXPECT_TRUE(second->Allocate(8 << 20, buffer).ok());
}

TEST_F(LeaseTest, ALeaseIsResumedWithItsResources) {
  v1::OpenLeaseRequest request;
  request.mutable_resume_grace_duration()->set_seconds(60);
  auto session = Open(request);
  v1::ResourceId buffer;
  ASSERT_TRUE(session->Allocate(64, buffer).ok());
  ASSERT_TRUE(session->Write(buffer, 0, BytesOf<float>({1, 4, 3, 2})).ok());
  const std::string id = session->id();
  session = nullptr;
  for (int turn = 0; turn < 2000 && Leases().leases(0).state() != v1::LEASE_STATE_WAITING; ++turn) {
    usleep(5000);
  }
  request.set_resume_lease_id(id);
  const auto again = Open(request);
  EXPECT_TRUE(again->grant().resumed());
  EXPECT_EQ(again->id(), id);
  v1::TopKResponse response;
  EXPECT_TRUE(again->indexer().TopK(Patient().get(), TopKOf(*again, buffer), &response).ok());
}

TEST_F(LeaseTest, AnOperatorEndsALeaseAndItsClientIsTold) {
  const auto session = Open();
  v1::EndLeaseRequest request;
  request.set_lease_number(Leases().leases(0).lease_number());
  request.set_message("maintenance");
  v1::EndLeaseResponse response;
  ASSERT_TRUE(server_.Admin()->EndLease(Patient().get(), request, &response).ok());
  v1::OpenLeaseResponse event;
  ASSERT_TRUE(session->NextEvent(event));
  EXPECT_EQ(event.ended().message(), "maintenance");
  EXPECT_EQ(event.ended().cause(), v1::LEASE_END_CAUSE_OPERATOR);
  EXPECT_FALSE(session->NextEvent(event));
  v1::ResourceId buffer;
  EXPECT_THAT(session->Allocate(64, buffer), Fails(v1::ERROR_REASON_LEASE_ENDED));
}

TEST_F(LeaseTest, IdsThatAreNotTheLeasesOwnAreRefusedWithTheirReason) {
  const auto session = Open();
  const auto other = Open();
  v1::ResourceId buffer;
  ASSERT_TRUE(session->Allocate(64, buffer).ok());
  v1::TopKResponse response;
  EXPECT_THAT(other->indexer().TopK(Patient().get(), TopKOf(*other, buffer), &response),
              Fails(v1::ERROR_REASON_RESOURCE_FOREIGN));
  v1::TopKRequest guessed = TopKOf(*session, buffer);
  guessed.set_lease_id(std::string(32, '0'));
  EXPECT_THAT(session->indexer().TopK(Patient().get(), guessed, &response),
              Fails(v1::ERROR_REASON_LEASE_NOT_FOUND));
  guessed.clear_lease_id();
  EXPECT_THAT(session->indexer().TopK(Patient().get(), guessed, &response),
              Fails(v1::ERROR_REASON_FIELD_MISSING));
  v1::ResourceId missing = buffer;
  missing.set_id(99);
  EXPECT_THAT(session->indexer().TopK(Patient().get(), TopKOf(*session, missing), &response),
              Fails(v1::ERROR_REASON_RESOURCE_NOT_FOUND));
  v1::ReleaseBufferRequest release;
  release.set_lease_id(session->id());
  *release.mutable_buffer() = buffer;
  v1::ReleaseBufferResponse released;
  ASSERT_TRUE(session->memory().ReleaseBuffer(Patient().get(), release, &released).ok());
  EXPECT_THAT(session->indexer().TopK(Patient().get(), TopKOf(*session, buffer), &response),
              Fails(v1::ERROR_REASON_RESOURCE_STALE));
}

TEST_F(LeaseTest, RangesOutsideTheirBufferAreRefused) {
  const auto session = Open();
  v1::ResourceId buffer;
  ASSERT_TRUE(session->Allocate(64, buffer).ok());
  v1::TopKResponse response;
  for (const int64_t offset : {int64_t{52}, int64_t{64}, int64_t{-4}, INT64_MAX - 3, INT64_MIN}) {
    v1::TopKRequest request = TopKOf(*session, buffer);
    request.mutable_step()->mutable_scores()->mutable_buffer()->set_offset_bytes(offset);
    EXPECT_THAT(session->indexer().TopK(Patient().get(), request, &response),
                Fails(v1::ERROR_REASON_RANGE_OUT_OF_BOUNDS))
        << offset;
  }
  v1::TopKRequest request = TopKOf(*session, buffer);
  request.mutable_step()->mutable_scores()->mutable_buffer()->set_offset_bytes(1);
  EXPECT_THAT(session->indexer().TopK(Patient().get(), request, &response),
              Fails(v1::ERROR_REASON_ALIGNMENT_INVALID));
  request = TopKOf(*session, buffer);
  *request.mutable_step()->mutable_indices() = BufferTarget(buffer, 0);  // over the scores
  EXPECT_THAT(session->indexer().TopK(Patient().get(), request, &response),
              Fails(v1::ERROR_REASON_OUTPUTS_OVERLAP));
  EXPECT_THAT(session->Write(buffer, 61, "1234"), Fails(v1::ERROR_REASON_RANGE_OUT_OF_BOUNDS));
  EXPECT_THAT(session->Write(buffer, -1, "1234"), Fails(v1::ERROR_REASON_RANGE_OUT_OF_BOUNDS));
}

TEST_F(LeaseTest, QuotasNameWhatIsUsedUp) {
  const auto session = Open();
  v1::ResourceId buffer;
  EXPECT_THAT(session->Allocate((8 << 20) + 1, buffer), Fails(v1::ERROR_REASON_VALUE_OUT_OF_RANGE));
  ASSERT_TRUE(session->Allocate(8 << 20, buffer).ok());
  EXPECT_THAT(session->Allocate(1, buffer), Fails(v1::ERROR_REASON_QUOTA_EXCEEDED));
}

TEST_F(LeaseTest, WhatARequestUsedIsFreeOnceItsAnswerIsThere) {
  const auto session = Open();
  for (int turn = 0; turn < 200; ++turn) {
    // More than half of the quota, for too many rows to run on the thread that answers.
    constexpr int32_t kRows = 64;
    v1::ResourceId buffer;
    const grpc::Status allocated = session->Allocate(int64_t{5} << 20, buffer);
    ASSERT_TRUE(allocated.ok()) << turn << ": " << allocated.error_message();
    v1::TopKRequest request = TopKOf(*session, buffer);
    *request.mutable_step()->mutable_scores() =
        BufferTensor(v1::DATA_TYPE_FLOAT32, kRows, 4, buffer);
    *request.mutable_step()->mutable_lengths() = Int32Vector(std::vector<int32_t>(kRows, 4));
    v1::TopKResponse response;
    ASSERT_TRUE(session->indexer().TopK(Patient().get(), request, &response).ok());
    v1::ReleaseBufferRequest release;
    release.set_lease_id(session->id());
    *release.mutable_buffer() = buffer;
    v1::ReleaseBufferResponse released;
    ASSERT_TRUE(session->memory().ReleaseBuffer(Patient().get(), release, &released).ok());
  }
}

// The same of bytes written and read: several connections, whose requests other threads serve, so
// that the next request does not queue behind the end of the stream.
TEST(LeaseStreamsTest, WhatAStreamOfBytesUsedIsFreeOnceItsAnswerIsThere) {
  ServerProcess server({.flags = {"--queues=4", "--max-lease-requests=1"}});
  ASSERT_TRUE(server.running()) << server.log();
  const LeaseSession session(server.Connect(server.unix_target()), {});
  ASSERT_TRUE(session.opened());
  std::vector<std::unique_ptr<v1::MemoryService::Stub>> connections;
  for (int i = 0; i < 4; ++i) {
    connections.push_back(v1::MemoryService::NewStub(server.Connect(server.unix_target())));
  }
  v1::AllocateBufferRequest allocate;
  allocate.set_lease_id(session.id());
  allocate.set_size_bytes(4096);
  v1::AllocateBufferResponse allocated;
  ASSERT_TRUE(connections[0]->AllocateBuffer(Patient().get(), allocate, &allocated).ok());
  v1::WriteBufferRequest chunk;
  chunk.set_lease_id(session.id());
  *chunk.mutable_buffer() = allocated.buffer();
  chunk.set_data("bytes");
  v1::ReadBufferRequest read;
  read.set_lease_id(session.id());
  *read.mutable_buffer() = allocated.buffer();
  for (int turn = 0; turn < 2000; ++turn) {
    v1::MemoryService::Stub& connection = *connections[turn % connections.size()];
    const auto context = Patient();
    grpc::Status status;
    if (turn / 4 % 2 == 0) {
      v1::WriteBufferResponse response;
      const auto writer = connection.WriteBuffer(context.get(), &response);
      writer->WriteLast(chunk, {});
      status = writer->Finish();
    } else {
      const auto reader = connection.ReadBuffer(context.get(), read);
      v1::ReadBufferResponse response;
      while (reader->Read(&response)) continue;
      status = reader->Finish();
    }
    ASSERT_TRUE(status.ok()) << turn << ": " << status.error_message();
  }
}

TEST_F(LeaseTest, SharedMemoryIsReadInPlace) {
  const auto session = Open();
  server::UniqueFd memory(memfd_create("scores", MFD_CLOEXEC));
  const float scores[4] = {1, 4, 3, 2};
  ASSERT_EQ(ftruncate(memory.get(), 4096), 0);
  ASSERT_EQ(pwrite(memory.get(), scores, sizeof(scores), 0), 16);
  v1::ResourceId imported;
  const grpc::Status status = session->Import(memory.get(), 4096, /*read_only=*/false, imported);
  ASSERT_TRUE(status.ok()) << status.error_message();
  const v1::TopKRequest request = TopKOf(*session, imported);
  v1::TopKResponse response;
  ASSERT_TRUE(session->indexer().TopK(Patient().get(), request, &response).ok());
  EXPECT_THAT(ElementsOf<int32_t>(response.result().outputs(0).tensor()), ElementsAre(1, 2));
  const float changed[4] = {9, 1, 1, 8};
  ASSERT_EQ(pwrite(memory.get(), changed, sizeof(changed), 0), 16);
  ASSERT_TRUE(session->indexer().TopK(Patient().get(), request, &response).ok());
  EXPECT_THAT(ElementsOf<int32_t>(response.result().outputs(0).tensor()), ElementsAre(0, 3));
  // A peer that truncates its memory fails its own requests and nothing else.
  ASSERT_EQ(ftruncate(memory.get(), 0), 0);
  EXPECT_THAT(session->indexer().TopK(Patient().get(), request, &response),
              Fails(v1::ERROR_REASON_RANGE_OUT_OF_BOUNDS));
  v1::ResourceId buffer;
  EXPECT_TRUE(session->Allocate(64, buffer).ok());
}

}  // namespace
}  // namespace winnow::testing
