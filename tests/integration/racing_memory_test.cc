// Memory that changes while requests run on it: page tables that are updated beside top-k, and
// shared memory that its owner rewrites.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <thread>

#include "server/resources/shared_memory.h"
#include "server/rpc/status_mapping.h"
#include "tests/integration/held_queue.h"
#include "tests/integration/lease_session.h"
#include "tests/integration/one_lease_test.h"
#include "tests/integration/server_process.h"
#include "tests/testing/random.h"
#include "tests/testing/requests.h"

namespace winnow::testing {
namespace {

constexpr int32_t kRows = 4, kPages = 64, kPageSize = 4, kColumns = kPages * kPageSize;

using RacingMemoryTest = OneLeaseTest;

// Version v of the table has page v * kPages + column in every row, so that one slot tells the
// version it is of.
v1::UpdatePageTableRequest WholeTable(const LeaseSession& session, const v1::ResourceId& table,
                                      int32_t version) {
  v1::UpdatePageTableRequest update;
  update.set_lease_id(session.id());
  *update.mutable_page_table() = table;
  for (int32_t row = 0; row < kRows; ++row) {
    auto& range = *update.add_ranges();
    range.set_row(row);
    for (int32_t column = 0; column < kPages; ++column) {
      range.add_page_ids(version * kPages + column);
    }
  }
  return update;
}

// Every position of every row is selected, in order.
v1::TopKRequest AllSlots(const LeaseSession& session, const v1::ResourceId& table) {
  v1::TopKRequest request;
  request.set_lease_id(session.id());
  auto& step = *request.mutable_step();
  *step.mutable_scores() =
      FloatTensor(kRows, kColumns, std::vector<float>(int64_t{kRows} * kColumns, 1));
  *step.mutable_lengths() = Int32Vector(std::vector<int32_t>(kRows, kColumns));
  step.set_k(kColumns - 1);
  step.set_deterministic(true);
  WantInline(step.mutable_slots());
  *step.mutable_page_table()->mutable_resource() = table;
  return request;
}

// The version that all slots are of; -1 when they are of several.
int32_t VersionOf(const std::vector<int32_t>& slots) {
  const int32_t version = slots.at(0) / kPageSize / kPages;
  for (size_t i = 0; i < slots.size(); ++i) {
    const auto position = static_cast<int32_t>(i % (kColumns - 1));
    if (slots[i] != version * kColumns + position) return -1;
  }
  return version;
}

// A table at version 1.
v1::ResourceId MakeTable(LeaseSession& session) {
  v1::CreatePageTableRequest create;
  create.set_lease_id(session.id());
  create.set_row_count(kRows);
  create.set_column_count(kPages);
  create.set_page_size(kPageSize);
  v1::CreatePageTableResponse created;
  EXPECT_TRUE(session.memory().CreatePageTable(Patient().get(), create, &created).ok());
  v1::UpdatePageTableResponse updated;
  EXPECT_TRUE(
      session.memory()
          .UpdatePageTable(Patient().get(), WholeTable(session, created.page_table(), 1), &updated)
          .ok());
  return created.page_table();
}

// How far the writer of a page table is, for readers beside it.
struct Progress {
  static constexpr int32_t kVersions = 3000;
  std::atomic<int32_t> begun{1}, applied{1};
  std::atomic<int64_t> distinct{0};
};

// Reads until the last version is applied: each result is of one version, current while it ran.
void ReadWhileUpdated(ServerProcess& server, const v1::TopKRequest& request, Progress& progress) {
  const auto stub = v1::IndexerService::NewStub(server.Connect(server.unix_target()));
  int32_t last = 0;
  while (progress.applied < Progress::kVersions) {
    const int32_t oldest = progress.applied;
    v1::TopKResponse response;
    const grpc::Status status = stub->TopK(Patient().get(), request, &response);
    const int32_t newest = progress.begun;
    ASSERT_TRUE(status.ok()) << status.error_message();
    const int32_t version = VersionOf(ElementsOf<int32_t>(response.result().outputs(0).tensor()));
    ASSERT_GE(version, oldest) << "slots of several versions, or of one that was over";
    ASSERT_LE(version, newest);
    progress.distinct += version != last;
    last = version;
  }
}

TEST_F(RacingMemoryTest, ATopKBesideUpdatesSeesOneVersionThatWasCurrentWhileItRan) {
  const v1::ResourceId table = MakeTable(*session_);
  Progress progress;
  const v1::TopKRequest request = AllSlots(*session_, table);
  const auto read = [&] { ReadWhileUpdated(server_, request, progress); };
  std::thread readers[] = {std::thread(read), std::thread(read), std::thread(read)};
  v1::UpdatePageTableResponse updated;
  for (int32_t version = 2; version <= Progress::kVersions;) {
    progress.begun = version;
    const grpc::Status status = session_->memory().UpdatePageTable(
        Patient().get(), WholeTable(*session_, table, version), &updated);
    if (status.ok()) {
      progress.applied = version++;
      continue;
    }
    // Readers hold every image: said so, to be tried again.
    const auto detail = server::GetErrorDetail(status);
    ASSERT_TRUE(detail.has_value() && detail->reason() == v1::ERROR_REASON_RESOURCE_BUSY)
        << status.error_message();
    ASSERT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(updated.version(), Progress::kVersions + 1);
  std::printf("results of %ld versions beside %d updates\n", progress.distinct.load(),
              Progress::kVersions);
  EXPECT_GT(progress.distinct, 10);
}

constexpr int32_t kManyRows = 256, kManyColumns = 512;

// Bulk work that writes the first 8 KiB of the buffer.
v1::TopKRequest BulkRequest(const v1::ResourceId& buffer) {
  v1::TopKRequest bulk;
  auto& step = *bulk.mutable_step();
  *step.mutable_scores() =
      BufferTensor(v1::DATA_TYPE_FLOAT32, kManyRows, kManyColumns, buffer, 65536);
  *step.mutable_lengths() = Int32Vector(std::vector<int32_t>(kManyRows, kManyColumns));
  step.set_k(8);
  *step.mutable_indices() = BufferTarget(buffer, 0);
  return bulk;
}

// Interactive work that writes 24 bytes of the buffer.
v1::TopKRequest QuickRequest(const v1::ResourceId& buffer, int64_t offset_bytes) {
  v1::TopKRequest quick = GoodTopK();
  *quick.mutable_step()->mutable_indices() = BufferTarget(buffer, offset_bytes);
  return quick;
}

TEST(RacingWritesTest, ARequestThatWritesWhereAnotherInFlightWritesIsRefused) {
  HeldQueue held;
  v1::ResourceId buffer;
  ASSERT_TRUE(held.session().Allocate(int64_t{kManyRows} * kManyColumns * 4 + 65536, buffer).ok());

  // The bulk command waits behind others, and so is in flight when the quick ones are looked at.
  const auto context = Patient();
  const auto stream = held.session().indexer().ExecuteStream(context.get());
  v1::ExecuteStreamRequest message;
  message.mutable_open()->set_lease_id(held.session().id());
  ASSERT_TRUE(stream->Write(message));
  const auto send = [&](int64_t id, const v1::TopKRequest& request) {
    v1::ExecuteStreamRequest command;
    command.set_message_id(id);
    *command.mutable_execute()->add_steps()->mutable_top_k() = request.step();
    return stream->Write(command);
  };
  ASSERT_TRUE(send(1, BulkRequest(buffer)));
  ASSERT_TRUE(send(2, QuickRequest(buffer, 32)));
  ASSERT_TRUE(send(3, QuickRequest(buffer, 65536 - 24)));
  std::map<int64_t, v1::ExecuteStreamResponse> answers;
  v1::ExecuteStreamResponse answer;
  const auto read = [&](size_t count) {
    while (answers.size() < count && stream->Read(&answer)) answers[answer.message_id()] = answer;
  };
  read(3);
  EXPECT_EQ(answers.count(1), 0u) << "it did not wait";
  held.LetGo();
  read(4);
  EXPECT_TRUE(answers[1].has_result()) << answers[1].error().message();
  EXPECT_EQ(answers[2].error().detail().reason(), v1::ERROR_REASON_RESOURCE_BUSY);
  EXPECT_EQ(answers[2].error().detail().field(), "steps[0].indices.buffer");
  EXPECT_TRUE(answers[3].has_result()) << answers[3].error().message();
  // Once it has been answered the place is free.
  ASSERT_TRUE(send(4, QuickRequest(buffer, 32)));
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_TRUE(answer.has_result()) << answer.error().message();
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

// Scores, lengths and a page table in one piece of shared memory, rewritten by this process while
// the server works on them.
class SharedRows {
 public:
  static constexpr int64_t kScoresAt = 0, kLengthsAt = 1 << 20, kTableAt = kLengthsAt + 4096;
  static constexpr int64_t kBytes = kTableAt + 65536;
  static constexpr int32_t kRows = 8, kColumns = 32768, kPages = 512;

  SharedRows() : memory_(memfd_create("rows", MFD_CLOEXEC)) {
    if (ftruncate(memory_.get(), kBytes) != 0) std::abort();
    base_ = static_cast<char*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0));
    Settle();
  }
  ~SharedRows() { munmap(base_, kBytes); }

  int descriptor() const { return memory_.get(); }

  // Rows whose best scores are known: position p of a row has the score p.
  void Settle() {
    for (int64_t i = 0; i < int64_t{kRows} * kColumns; ++i) {
      At<float>(kScoresAt)[i] = static_cast<float>(i % kColumns);
    }
    for (int32_t row = 0; row < kRows; ++row) At<int32_t>(kLengthsAt)[row] = kColumns;
    for (int32_t i = 0; i < kRows * kPages; ++i) At<int32_t>(kTableAt)[i] = i % kPages;
  }

  void Scribble(Random& random) {
    At<uint32_t>(kScoresAt)[random.Below(int64_t{kRows} * kColumns)] =
        static_cast<uint32_t>(random.Next());
    At<int32_t>(kLengthsAt)[random.Below(kRows)] =
        random.OneIn(64) ? static_cast<int32_t>(random.Next())
                         : static_cast<int32_t>(random.Below(kColumns + 1));
    At<int32_t>(kTableAt)[random.Below(kRows * kPages)] =
        random.OneIn(50'000) ? static_cast<int32_t>(random.Next())
                             : static_cast<int32_t>(random.Below(100'000));
  }

  v1::TopKRequest Request(const LeaseSession& session, const v1::ResourceId& buffer) const {
    v1::TopKRequest request;
    request.set_lease_id(session.id());
    auto& step = *request.mutable_step();
    *step.mutable_scores() = BufferTensor(v1::DATA_TYPE_FLOAT32, kRows, kColumns, buffer);
    *step.mutable_lengths() = BufferTensor(v1::DATA_TYPE_INT32, kRows, 1, buffer, kLengthsAt);
    *step.mutable_page_table()->mutable_table() =
        BufferTensor(v1::DATA_TYPE_INT32, kRows, kPages, buffer, kTableAt);
    step.mutable_page_table()->set_page_size(64);
    step.set_k(512);
    step.set_deterministic(true);
    WantInline(step.mutable_indices());
    WantInline(step.mutable_slots());
    return request;
  }

 private:
  template <typename T>
  volatile T* At(int64_t offset) {
    return reinterpret_cast<volatile T*>(base_ + offset);
  }

  server::UniqueFd memory_;
  char* base_ = nullptr;
};

// Rows at rest rise along their columns: the last 512 of each are kept.
void ExpectSettledResult(LeaseSession& session, const v1::TopKRequest& request) {
  v1::TopKResponse response;
  const grpc::Status status = session.indexer().TopK(Patient().get(), request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  const auto indices = ElementsOf<int32_t>(response.result().outputs(0).tensor());
  for (size_t i = 0; i < indices.size(); ++i) {
    ASSERT_EQ(indices[i], SharedRows::kColumns - 512 + static_cast<int32_t>(i % 512));
  }
}

TEST_F(RacingMemoryTest, SharedMemoryThatIsRewrittenUnderARequestHarmsNobody) {
  SharedRows rows;
  v1::ResourceId buffer;
  ASSERT_TRUE(
      session_->Import(rows.descriptor(), SharedRows::kBytes, /*read_only=*/false, buffer).ok());
  const v1::TopKRequest request = rows.Request(*session_, buffer);

  std::atomic<bool> stop{false};
  const uint64_t seed = SeedFromEnvironment("WINNOW_MUTATION_SEED");
  std::thread owner([&] {
    Random random(seed);
    while (!stop) rows.Scribble(random);
  });
  // Good or bad data is a matter of luck: where a round of either kind is missing, more follow.
  constexpr int kRounds = 1000, kMostRounds = 10 * kRounds, kFewGood = kRounds / 50;
  int good = 0, bad = 0;
  for (int round = 0; round < kRounds || (round < kMostRounds && (good <= kFewGood || bad == 0));
       ++round) {
    v1::TopKResponse response;
    const grpc::Status status = session_->indexer().TopK(Patient().get(), request, &response);
    ASSERT_TRUE(status.ok() || status.error_code() == grpc::StatusCode::INVALID_ARGUMENT)
        << status.error_message();
    ++(status.ok() ? good : bad);
    if (round % 10 != 0) continue;
    // A neighbour without a lease gets its exact results meanwhile.
    v1::TopKResponse other;
    ASSERT_TRUE(session_->indexer().TopK(Patient().get(), GoodTopK(), &other).ok());
    ASSERT_EQ(ElementsOf<int32_t>(other.result().outputs(0).tensor()),
              (std::vector<int32_t>{7, 6, 5, 4, 3, 2}));
  }
  stop = true;
  owner.join();
  std::printf("%d requests found good data, %d bad\n", good, bad);
  EXPECT_GT(good, kFewGood);
  EXPECT_GT(bad, 0);
  rows.Settle();
  ExpectSettledResult(*session_, request);
  server_.Signal(SIGTERM);
  EXPECT_EQ(server_.AwaitExit(), 0) << server_.log();
}

}  // namespace
}  // namespace winnow::testing
