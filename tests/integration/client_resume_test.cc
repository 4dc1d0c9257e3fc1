// Connections that are cut while client and server live on: a lease with a grace is resumed with
// everything, one without is made anew and says what it lost.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "tests/integration/server_process.h"
#include "tests/integration/small_row.h"
#include "tests/integration/socket_proxy.h"
#include "tests/testing/status_matchers.h"
#include "winnow/client/client.h"
#include "winnow/client/lease.h"

namespace winnow::client {
namespace {

using ::testing::ElementsAre;
using ::winnow::testing::ServerProcess;
using ::winnow::testing::SmallRow;
using ::winnow::testing::SocketProxy;
using ::winnow::testing::TempFolder;

// The parameter: over the stream or not.
class ClientResumeTest : public ::testing::TestWithParam<bool>, protected SmallRow {
 protected:
  ClientResumeTest()
      : server_({.flags = {"--max-resume-grace=60s"}}),
        proxy_(folder_.Path("proxy.sock"), server_.socket_path()) {}
  void SetUp() override { ASSERT_TRUE(server_.running()) << server_.log(); }

  Client Connect() const {
    return *Client::Create({.target = "unix:" + folder_.Path("proxy.sock"),
                            .timeout = absl::Seconds(60),
                            .streaming = GetParam()});
  }

  TempFolder folder_;
  ServerProcess server_;
  SocketProxy proxy_;
};

TEST_P(ClientResumeTest, ALeaseWithAGraceKeepsItsContents) {
  std::atomic<int> resumed{0};
  const auto lease = Connect().OpenLease(
      {.resume_grace = absl::Seconds(60), .on_event = [&resumed](const LeaseEvent& event) {
         resumed += event.kind == LeaseEventKind::kResumed;
         EXPECT_NE(event.kind, LeaseEventKind::kRestored);
       }});
  ASSERT_OK(lease);
  const auto buffer = lease->AllocateBuffer(4096);
  ASSERT_OK(buffer);
  ASSERT_OK(buffer->WriteElements<float>(0, scores_));
  for (int cut = 1; cut <= 5; ++cut) {
    proxy_.CutAll();
    const auto result = lease->client().TopK(BestTwo(buffer->AsMatrix(DType::kFloat32, 1, 4)));
    ASSERT_OK(result);
    EXPECT_THAT(result->indices.row<int32_t>(0), ElementsAre(1, 2));
    for (int turn = 0; turn < 2000 && resumed < cut; ++turn) usleep(5000);
    EXPECT_EQ(resumed, cut);
  }
}

TEST_P(ClientResumeTest, ALeaseWithoutAGraceSaysWhatItLost) {
  const auto lease = Connect().OpenLease();
  ASSERT_OK(lease);
  const auto buffer = lease->AllocateBuffer(4096);
  ASSERT_OK(buffer);
  ASSERT_OK(buffer->WriteElements<float>(0, scores_));
  const auto memory = lease->ShareMemory(4096);
  ASSERT_OK(memory);
  std::copy(scores_.begin(), scores_.end(), memory->elements<float>().begin());
  proxy_.CutAll();
  const auto kept = lease->client().TopK(BestTwo(memory->AsMatrix(DType::kFloat32, 1, 4)));
  ASSERT_OK(kept);
  EXPECT_THAT(kept->indices.row<int32_t>(0), ElementsAre(1, 2));
  const auto lost = lease->client().TopK(BestTwo(buffer->AsMatrix(DType::kFloat32, 1, 4)));
  EXPECT_TRUE(IsContentsLost(lost.status())) << lost.status();
}

// The server's table has every entry once and in order: entry i is page i.
void ExpectEntriesInOrder(const Lease& lease, const PageTable& table, int64_t updates) {
  std::vector<float> scores(2 * updates);
  std::iota(scores.begin(), scores.end(), 0.0f);
  const std::vector<int32_t> lengths = {static_cast<int32_t>(2 * updates)};
  const auto slots = lease.client().TopK({.scores = Float32Matrix(scores.data(), 1, 2 * updates),
                                          .lengths = Int32Column(lengths),
                                          .k = 16,
                                          .page_table = table.View(),
                                          .order = Order::kScore,
                                          .slots = Placement::kInline});
  ASSERT_OK(slots);
  for (int32_t i = 0; i < 16; ++i) EXPECT_EQ(slots->slots.row<int32_t>(0)[i], 2 * updates - 1 - i);
}

// A release that the server could not be told of is made good once the lease is open again, so that
// the server may hold the memory a little longer than the client.
void ExpectNothingUsedSoon(const Client& client) {
  absl::StatusOr<std::vector<LeaseDescription>> leases;
  for (int waits = 0; waits < 1000; ++waits) {
    leases = client.ListLeases();
    ASSERT_OK(leases);
    ASSERT_EQ(leases->size(), 1u);
    const LeaseDescription& lease = leases->front();
    if (lease.used_bytes == 0 && lease.buffers == 0 && lease.page_tables == 0) return;
    usleep(10'000);
  }
  FAIL() << leases->front().used_bytes << " bytes are still used, by " << leases->front().buffers
         << " buffers and " << leases->front().page_tables << " page tables";
}

TEST_P(ClientResumeTest, UpdatesAreAppliedOnceAndNothingLeaksThroughManyCuts) {
  const Client client = Connect();
  std::optional<Lease> lease = *client.OpenLease({.resume_grace = absl::Seconds(60)});
  auto table = lease->CreatePageTable({.rows = 1, .columns = 4096, .page_size = 2});
  ASSERT_OK(table);
  constexpr int kCuts = 15;
  std::atomic<bool> done{false};
  std::atomic<int64_t> updates{0};
  std::thread cutter([&] {
    const absl::Cleanup stop = [&] { done = true; };
    // At least two updates before each cut, however slow the machine is.
    for (int waits = 0, cut = 0; cut < kCuts && waits < 3000; ++waits) {
      usleep(20'000);
      if (updates < 2 * (cut + 1)) continue;
      proxy_.CutAll();
      ++cut;
    }
  });
  while (!done && updates < 4000) {
    const auto version = table->Append(0, {static_cast<int32_t>(updates)});
    ASSERT_OK(version);
    ++updates;
    ASSERT_EQ(*version, updates + 1);
    // A resource whose making is interrupted is released or kept, never forgotten.
    const auto buffer = lease->AllocateBuffer(1 << 20);
    ASSERT_OK(buffer);
  }
  cutter.join();
  ASSERT_GE(updates, 2 * kCuts);
  ExpectEntriesInOrder(*lease, *table, updates);
  ASSERT_OK(table->Release());
  ExpectNothingUsedSoon(client);
}

TEST_P(ClientResumeTest, WhatIsReleasedWhileTheConnectionIsCutIsGivenBack) {
  const Client client = Connect();
  const std::optional<Lease> lease = *client.OpenLease({.resume_grace = absl::Seconds(60)});
  for (int cut = 0; cut < 10; ++cut) {
    auto table = lease->CreatePageTable({.rows = 1, .columns = 4096, .page_size = 2});
    ASSERT_OK(table);
    {
      const auto buffer = lease->AllocateBuffer(1 << 20);
      ASSERT_OK(buffer);
      proxy_.CutAll();
    }
    ASSERT_OK(table->Release());
    ExpectNothingUsedSoon(client);
  }
}

TEST_P(ClientResumeTest, WhatACallMadeThatTimedOutIsGivenBackWhileTheLeaseLives) {
  const Client client = Connect();
  const std::optional<Lease> lease = *client.OpenLease();
  const CallOptions hasty = {.timeout = absl::Milliseconds(300)};
  // Made, but the reply comes too late.
  proxy_.SetPassing(/*to_server=*/true, /*to_client=*/false);
  EXPECT_TRUE(absl::IsDeadlineExceeded(lease->AllocateBuffer(1 << 20, hasty).status()));
  proxy_.SetPassing(true, true);
  auto table = lease->CreatePageTable({.rows = 1, .columns = 4096, .page_size = 2});
  ASSERT_OK(table);
  const auto leases = client.ListLeases();
  ASSERT_OK(leases);
  EXPECT_EQ(leases->front().buffers, 0);
  // Told too late, if at all.
  proxy_.SetPassing(/*to_server=*/false, /*to_client=*/true);
  EXPECT_TRUE(absl::IsDeadlineExceeded(table->Release(hasty)));
  proxy_.SetPassing(true, true);
  EXPECT_OK(lease->AllocateBuffer(4096));
  ExpectNothingUsedSoon(client);
  EXPECT_EQ(client.ListLeases()->front().number, leases->front().number);
}

INSTANTIATE_TEST_SUITE_P(Transports, ClientResumeTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Stream" : "Unary"; });

}  // namespace
}  // namespace winnow::client
