// Clients whose server is killed and started again: they come back by themselves, their results are
// those of a client that saw no restart, and what could not come back they are told.
// client_close_test.cc has leases that end while their server is away.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "tests/integration/restartable_server.h"
#include "tests/testing/status_matchers.h"
#include "winnow/client/client.h"
#include "winnow/client/lease.h"

namespace winnow::client {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::winnow::testing::FailsWith;
using ::winnow::testing::LeaseEventLog;
using ::winnow::testing::RestartableServer;

constexpr int64_t kColumns = 4096;
constexpr int32_t kK = 64;
constexpr int32_t kPageSize = 64;

// The parameter: over the stream or not.
class ClientRecoveryTest : public ::testing::TestWithParam<bool> {
 protected:
  ClientRecoveryTest() : scores_(kColumns) {
    for (int64_t i = 0; i < kColumns; ++i) scores_[i] = static_cast<float>((i * 7919) % kColumns);
    for (int64_t page = 0; page < kColumns / kPageSize; ++page) {
      pages_.push_back(static_cast<int32_t>((page * 5 + 3) % 1000));
    }
  }

  TopKRequest Request(TensorRef scores) const {
    return {.scores = std::move(scores),
            .lengths = Int32Column(lengths_),
            .k = kK,
            .order = Order::kScore,
            .deterministic = true};
  }
  // Positions of the largest scores, largest first.
  std::vector<int32_t> Best(const std::vector<float>& scores) const {
    std::vector<int32_t> order(scores.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return scores[a] > scores[b]; });
    order.resize(kK);
    return order;
  }
  std::vector<int32_t> Slots(const std::vector<int32_t>& positions) const {
    std::vector<int32_t> slots;
    for (const int32_t position : positions) {
      slots.push_back(pages_[position / kPageSize] * kPageSize + position % kPageSize);
    }
    return slots;
  }

  // Row 1 of the table is {4, -1, 1, 2, 3} after three restarts.
  static void ExpectLastPageOfRowOne(const Lease& lease, const SharedBuffer& memory,
                                     const PageTable& table) {
    const std::vector<int32_t> second_row = {1};
    const std::vector<int32_t> starts = {2 * kPageSize};
    const std::vector<int32_t> three_pages = {3 * kPageSize};
    TopKRequest rest = {.scores = memory.AsMatrix(DType::kFloat32, 1, kColumns),
                        .lengths = Int32Column(three_pages),
                        .k = 1,
                        .row_starts = Int32Column(starts),
                        .page_table = table.View(Int32Column(second_row)),
                        .slots = Placement::kInline};
    const auto kept = lease.client().TopK(rest);
    ASSERT_OK(kept);
    const int32_t position = kept->indices.row<int32_t>(0)[0];
    EXPECT_EQ(kept->slots.row<int32_t>(0)[0],
              (position / kPageSize - 1) * kPageSize + position % kPageSize);
  }
  // What an operation writes into a buffer whose contents were lost may be read; the rest after
  // AcceptLoss.
  void ExpectWrittenPartIsReadable(const Lease& lease, const Buffer& buffer,
                                   const TopKRequest& request) const {
    TopKRequest to_buffer = request;
    to_buffer.indices = buffer.AsOutput(kColumns * sizeof(float));
    ASSERT_OK(lease.client().TopK(to_buffer));
    std::vector<int32_t> indices(kK);
    ASSERT_OK(buffer.ReadElements<int32_t>(kColumns * sizeof(float), absl::MakeSpan(indices)));
    EXPECT_EQ(indices, Best(scores_));
    EXPECT_TRUE(IsContentsLost(
        buffer.ReadElements<int32_t>(kColumns * sizeof(float) + 4, absl::MakeSpan(indices))));
    buffer.AcceptLoss();
    EXPECT_FALSE(buffer.contents_lost());
    ASSERT_OK(buffer.ReadElements<int32_t>(kColumns * sizeof(float) + 4, absl::MakeSpan(indices)));
    EXPECT_EQ(indices.back(), 0);
  }
  // Client number `c` calls and updates until `done`, counting right results.
  void Work(int c, const std::atomic<bool>& done, std::atomic<int64_t>& results) {
    const auto lease = server_.Connect(GetParam()).OpenLease();
    ASSERT_OK(lease);
    const auto memory = lease->ShareMemory(kColumns * sizeof(float));
    ASSERT_OK(memory);
    const auto table = lease->CreatePageTable(
        {.rows = 1, .columns = kColumns / kPageSize, .page_size = kPageSize});
    ASSERT_OK(table);
    std::vector<int32_t> mine = pages_;
    for (int32_t& page : mine) page += c;
    ASSERT_OK(table->Append(0, mine));
    std::vector<float> scores = scores_;
    std::rotate(scores.begin(), scores.begin() + 100 * c + 1, scores.end());
    std::copy(scores.begin(), scores.end(), memory->elements<float>().begin());
    const std::vector<int32_t> best = Best(scores);
    TopKRequest request = Request(memory->AsMatrix(DType::kFloat32, 1, kColumns));
    request.page_table = table->View();
    request.slots = Placement::kInline;
    // Bounded, should a restart fail.
    for (int call = 0; call < 100'000 && !done; ++call) {
      const auto result = lease->client().TopK(request);
      ASSERT_OK(result);
      ASSERT_THAT(result->indices.row<int32_t>(0), ElementsAreArray(best));
      ASSERT_EQ(result->slots.row<int32_t>(0)[0],
                mine[best[0] / kPageSize] * kPageSize + best[0] % kPageSize);
      // The same page again: an update that was applied twice would show as a version too many.
      const int64_t before = table->version();
      const auto version =
          table->Update({.ranges = {{.row = 0, .column = 0, .page_ids = {mine[0]}}}});
      ASSERT_OK(version);
      ASSERT_EQ(*version, before + 1);
      ++results;
    }
  }

  std::vector<float> scores_;
  std::vector<int32_t> pages_;
  const std::vector<int32_t> lengths_ = {kColumns};
  RestartableServer server_;
};

TEST_P(ClientRecoveryTest, EverythingTheClientKnowsComesBack) {
  LeaseEventLog events;
  const Client client = server_.Connect(GetParam());
  const auto lease = client.OpenLease({.on_event = events.Listener()});
  ASSERT_OK(lease);
  const auto memory = lease->ShareMemory(2 * kColumns * sizeof(float));
  ASSERT_OK(memory);
  std::copy(scores_.begin(), scores_.end(), memory->elements<float>().begin());
  const auto table = lease->CreatePageTable(
      {.rows = 2, .columns = kColumns / kPageSize, .page_size = kPageSize, .pool_pages = 1000});
  ASSERT_OK(table);
  ASSERT_OK(table->Append(0, pages_));
  ASSERT_OK(table->Append(1, {4, -1}));
  const auto plan =
      lease->CreatePlan({.lengths = Int32Column(lengths_), .columns = kColumns, .k = kK});
  ASSERT_OK(plan);
  TopKRequest request = Request(memory->AsMatrix(DType::kFloat32, 1, kColumns));
  request.page_table = table->View();
  request.slots = Placement::kInline;
  request.indices = memory->AsOutput(kColumns * sizeof(float));
  request.plan = plan->ref();

  for (int restart = 1; restart <= 3; ++restart) {
    server_.Restart();
    const int64_t version = table->version();
    // The call waits for the recovery.
    const auto result = lease->client().TopK(request);
    ASSERT_OK(result);
    EXPECT_THAT(result->slots.row<int32_t>(0), ElementsAreArray(Slots(Best(scores_))));
    EXPECT_THAT(memory->elements<int32_t>().subspan(kColumns, kK), ElementsAreArray(Best(scores_)));
    EXPECT_EQ(table->version(), version);
    // Appends go on after the last entry that was ever set, -1 included.
    const auto updated = table->Append(1, {restart});
    ASSERT_OK(updated);
    EXPECT_EQ(*updated, version + 1);
    const auto event = events.Await(LeaseEventKind::kRestored, restart);
    ASSERT_TRUE(event.has_value());
    EXPECT_TRUE(event->lost.empty());
    EXPECT_TRUE(event->failed.empty());
  }
  ExpectLastPageOfRowOne(*lease, *memory, *table);
}

TEST_P(ClientRecoveryTest, ContentsThatAreLostAreSaidToBe) {
  LeaseEventLog events;
  const auto lease = server_.Connect(GetParam()).OpenLease({.on_event = events.Listener()});
  ASSERT_OK(lease);
  const auto buffer = lease->AllocateBuffer(2 * kColumns * sizeof(float));
  ASSERT_OK(buffer);
  ASSERT_OK(buffer->WriteElements<float>(0, scores_));
  const TopKRequest request = Request(buffer->AsMatrix(DType::kFloat32, 1, kColumns));
  ASSERT_OK(lease->client().TopK(request));
  EXPECT_FALSE(buffer->contents_lost());

  server_.Restart();
  const auto lost = lease->client().TopK(request);
  EXPECT_TRUE(IsContentsLost(lost.status())) << lost.status();
  EXPECT_THAT(lost, FailsWith(ErrorReason::kResourceStale, "step.scores.buffer"));
  std::vector<float> back(kColumns);
  EXPECT_TRUE(IsContentsLost(buffer->ReadElements<float>(0, absl::MakeSpan(back))));
  EXPECT_TRUE(buffer->contents_lost());
  const auto event = events.Await(LeaseEventKind::kRestored);
  ASSERT_TRUE(event.has_value());
  EXPECT_THAT(event->lost, ElementsAre(buffer->ref()));

  // Half of the row is not enough; all of it is, though the rest of the buffer is still lost.
  const absl::Span<const float> all = scores_;
  ASSERT_OK(buffer->WriteElements<float>(0, all.first(kColumns / 2)));
  EXPECT_TRUE(IsContentsLost(lease->client().TopK(request).status()));
  ASSERT_OK(buffer->WriteElements<float>(kColumns / 2 * sizeof(float), all.subspan(kColumns / 2)));
  const auto result = lease->client().TopK(request);
  ASSERT_OK(result);
  EXPECT_THAT(result->indices.row<int32_t>(0), ElementsAreArray(Best(scores_)));
  EXPECT_TRUE(buffer->contents_lost());

  ExpectWrittenPartIsReadable(*lease, *buffer, request);
}

TEST_P(ClientRecoveryTest, CallsMadeWhileTheServerIsAwayWaitForIt) {
  const auto lease = server_.Connect(GetParam()).OpenLease();
  ASSERT_OK(lease);
  const auto memory = lease->ShareMemory(kColumns * sizeof(float));
  ASSERT_OK(memory);
  std::copy(scores_.begin(), scores_.end(), memory->elements<float>().begin());
  server_.Kill();
  // Before the client knows, a call is sent and fails as one that was cut off. The event comes a
  // moment before calls begin to wait.
  for (int turn = 0; turn < 6000 && lease->status().ok(); ++turn) usleep(5000);
  ASSERT_TRUE(absl::IsUnavailable(lease->status())) << lease->status();
  const TopKRequest request = Request(memory->AsMatrix(DType::kFloat32, 1, kColumns));
  const auto impatient = lease->client().TopK(request, {.timeout = absl::Milliseconds(300)});
  EXPECT_TRUE(absl::IsDeadlineExceeded(impatient.status())) << impatient.status();
  std::stop_source stop;
  Future<TopKResult> cancelled = lease->client().AsyncTopK(request, {.stop = stop.get_token()});
  Future<TopKResult> waiting = lease->client().AsyncTopK(request);
  Future<TopKResult> forgotten = lease->client().AsyncTopK(request);
  EXPECT_FALSE(waiting.WaitFor(absl::Milliseconds(50)));
  EXPECT_TRUE(absl::IsUnavailable(lease->status())) << lease->status();
  stop.request_stop();
  EXPECT_TRUE(absl::IsCancelled(std::move(cancelled).Get().status()));
  std::thread allocation([&] { EXPECT_OK(lease->AllocateBuffer(4096)); });
  server_.Start();
  const auto result = std::move(waiting).Get();
  allocation.join();
  ASSERT_OK(result);
  EXPECT_THAT(result->indices.row<int32_t>(0), ElementsAreArray(Best(scores_)));
  EXPECT_OK(lease->status());
}

TEST_P(ClientRecoveryTest, ClientsUnderLoadSeeOnlyRightResults) {
  constexpr int kClients = 3;
  constexpr int kRestarts = 4;
  std::atomic<bool> done{false};
  std::atomic<int64_t> results{0};
  std::atomic<int> working{kClients};
  const auto await_results = [&](int64_t count) {
    for (int turn = 0; turn < 4000 && results < count && working == kClients; ++turn) usleep(5000);
    return results >= count;
  };
  std::vector<std::thread> clients;
  for (int c = 0; c < kClients; ++c) {
    clients.emplace_back([&, c] {
      const absl::Cleanup stopped = [&] { --working; };
      Work(c, done, results);
    });
  }
  for (int restart = 0; restart < kRestarts; ++restart) {
    EXPECT_TRUE(await_results(results + 20)) << "clients work after " << restart << " restarts";
    server_.Restart();
  }
  EXPECT_TRUE(await_results(results + 20));
  done = true;
  for (std::thread& client : clients) client.join();
}

INSTANTIATE_TEST_SUITE_P(Transports, ClientRecoveryTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Stream" : "Unary"; });

}  // namespace
}  // namespace winnow::client
