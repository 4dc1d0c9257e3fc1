// Leases through the client library, against a real server: resources as inputs and outputs, stale
// references, quotas, ends in every order, the stream. client_recovery_test.cc kills the server.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "tests/integration/server_process.h"
#include "tests/integration/small_row.h"
#include "tests/testing/status_matchers.h"
#include "winnow/client/client.h"
#include "winnow/client/lease.h"

namespace winnow::client {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::winnow::testing::FailsWith;
using ::winnow::testing::ServerProcess;
using ::winnow::testing::SmallRow;

constexpr int32_t kK = 2;

// With and without the stream: everything here holds for both.
class ClientLeaseTest : public ::testing::TestWithParam<bool>, protected SmallRow {
 protected:
  ClientLeaseTest()
      : server_({.flags = {"--buffer-pool-bytes=16M", "--max-lease-bytes=8M",
                           "--max-lease-resources=8", "--max-resume-grace=60s"}}) {}
  void SetUp() override { ASSERT_TRUE(server_.running()) << server_.log(); }

  Client Connect() const {
    return *Client::Create({.target = server_.unix_target(), .streaming = GetParam()});
  }
  // Bounded: the end of a stream reaches the server within milliseconds.
  bool AwaitLeaseCount(const Client& client, size_t count) const {
    for (int turn = 0; turn < 2000; ++turn) {
      const auto leases = client.ListLeases();
      if (leases.ok() && leases->size() == count) return true;
      usleep(5000);
    }
    return false;
  }

  ServerProcess server_;
};

TEST_P(ClientLeaseTest, ABufferIsInputAndOutput) {
  const Client client = Connect();
  const auto lease = client.OpenLease({.display_name = "test"});
  ASSERT_OK(lease);
  const auto buffer = lease->AllocateBuffer(4096);
  ASSERT_OK(buffer);
  ASSERT_OK(buffer->WriteElements<float>(256, scores_));
  TopKRequest request = BestTwo(buffer->AsMatrix(DType::kFloat32, 1, 4, 256));
  request.indices = buffer->AsOutput(1024);
  request.values = Placement::kInline;
  const auto result = lease->client().TopK(request);
  ASSERT_OK(result);
  EXPECT_TRUE(result->indices.empty());
  EXPECT_THAT(result->values.row<float>(0), ElementsAre(4, 3));
  std::vector<int32_t> indices(4, -7);
  ASSERT_OK(buffer->ReadElements<int32_t>(1020, absl::MakeSpan(indices)));
  EXPECT_THAT(indices, ElementsAre(0, 1, 2, 0)) << "written where it was asked for, and only there";
}

TEST_P(ClientLeaseTest, LargeBuffersTravelInChunks) {
  const auto lease = Connect().OpenLease();
  ASSERT_OK(lease);
  const auto buffer = lease->AllocateBuffer(7'000'001);
  ASSERT_OK(buffer);
  std::vector<uint8_t> bytes(7'000'001);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 31 + i / 977);
  ASSERT_OK(buffer->WriteElements<uint8_t>(0, bytes));
  std::vector<uint8_t> back(bytes.size());
  ASSERT_OK(buffer->ReadElements<uint8_t>(0, absl::MakeSpan(back)));
  EXPECT_EQ(back, bytes);
  EXPECT_THAT(buffer->WriteElements<uint8_t>(1, bytes),
              FailsWith(ErrorReason::kRangeOutOfBounds, "data"));
}

TEST_P(ClientLeaseTest, SharedMemoryIsReadAndWrittenInPlace) {
  const auto lease = Connect().OpenLease();
  ASSERT_OK(lease);
  const auto memory = lease->ShareMemory(8192);
  ASSERT_OK(memory);
  const absl::Span<float> scores = memory->elements<float>();
  EXPECT_THAT(scores, Each(0.0f));
  std::copy(scores_.begin(), scores_.end(), scores.begin());
  TopKRequest request = BestTwo(memory->AsMatrix(DType::kFloat32, 1, 4));
  request.indices = memory->AsOutput(4096);
  ASSERT_OK(lease->client().TopK(request));
  EXPECT_THAT(memory->elements<int32_t>().subspan(1024, 2), ElementsAre(1, 2));
  scores[0] = 9;
  ASSERT_OK(lease->client().AsyncTopK(request).Get());
  EXPECT_THAT(memory->elements<int32_t>().subspan(1024, 2), ElementsAre(0, 1));
}

TEST_P(ClientLeaseTest, PageTablesHaveVersionsAndForks) {
  const auto lease = Connect().OpenLease();
  ASSERT_OK(lease);
  const std::vector<int32_t> first = {7, -1};
  const auto table = lease->CreatePageTable(
      {.rows = 1, .columns = 2, .page_size = 2, .initial = Int32Matrix(first.data(), 1, 2)});
  ASSERT_OK(table);
  EXPECT_EQ(table->version(), 1);
  const auto appended = table->Append(0, {5});
  ASSERT_OK(appended);
  EXPECT_EQ(*appended, 2);
  const auto fork = table->Fork(std::vector<int64_t>{0, 0});
  ASSERT_OK(fork);
  EXPECT_EQ(fork->rows(), 2);
  ASSERT_OK(table->Update({.ranges = {{.row = 0, .column = 1, .page_ids = {9}}}}));
  EXPECT_EQ(table->version(), 3);
  TopKRequest request = BestTwo(Float32Matrix(scores_.data(), 1, 4));
  request.slots = Placement::kInline;
  request.page_table = table->View();
  const auto now = lease->client().TopK(request);
  ASSERT_OK(now);
  EXPECT_THAT(now->slots.row<int32_t>(0), ElementsAre(15, 18));
  const std::vector<int32_t> second_row = {1};
  request.page_table = fork->View(Int32Column(second_row));
  const auto before = lease->client().TopK(request);
  ASSERT_OK(before);
  EXPECT_THAT(before->slots.row<int32_t>(0), ElementsAre(15, 10));
  EXPECT_THAT(table->Append(0, {1}).status(),
              FailsWith(ErrorReason::kRangeOutOfBounds, "appends[0].page_ids"));
  EXPECT_EQ(table->version(), 3);
}

TEST_P(ClientLeaseTest, APlanIsStaleForOtherLengths) {
  const auto lease = Connect().OpenLease();
  ASSERT_OK(lease);
  const auto plan = lease->CreatePlan({.lengths = Int32Column(lengths_), .columns = 4, .k = kK});
  ASSERT_OK(plan);
  EXPECT_EQ(plan->summary().routes.single_block + plan->summary().routes.streaming +
                plan->summary().routes.split + plan->summary().routes.identity,
            1);
  TopKRequest request = BestTwo(Float32Matrix(scores_.data(), 1, 4));
  request.plan = plan->ref();
  ASSERT_OK(lease->client().TopK(request));
  const std::vector<int32_t> other = {3};
  request.lengths = Int32Column(other);
  EXPECT_TRUE(HasReason(lease->client().TopK(request).status(), ErrorReason::kPlanStale));
}

TEST_P(ClientLeaseTest, ReferencesThatAreNotTheLeasesOwnFailWithTheirReason) {
  const Client client = Connect();
  auto lease = client.OpenLease();
  const auto other = client.OpenLease();
  ASSERT_OK(lease);
  ASSERT_OK(other);
  auto buffer = lease->AllocateBuffer(64);
  ASSERT_OK(buffer);
  ASSERT_OK(buffer->WriteElements<float>(0, scores_));
  const TopKRequest request = BestTwo(buffer->AsMatrix(DType::kFloat32, 1, 4));
  ASSERT_OK(lease->client().TopK(request));
  EXPECT_THAT(client.TopK(request), FailsWith(ErrorReason::kFieldMissing, "lease_id"));
  EXPECT_THAT(other->client().TopK(request),
              FailsWith(ErrorReason::kResourceForeign, "step.scores.buffer"));
  TopKRequest wrong = BestTwo(buffer->AsMatrix(DType::kFloat32, 1, 4));
  wrong.plan = buffer->ref();
  EXPECT_THAT(lease->client().TopK(wrong), FailsWith(ErrorReason::kFieldsConflict, "step.plan"));
  wrong = BestTwo(BufferMatrix{{buffer->ref().lease, 99}, DType::kFloat32, 1, 4});
  EXPECT_THAT(lease->client().TopK(wrong),
              FailsWith(ErrorReason::kResourceNotFound, "step.scores.buffer"));
  ASSERT_OK(buffer->Release());
  EXPECT_FALSE(buffer->valid());
  EXPECT_THAT(lease->client().TopK(request),
              FailsWith(ErrorReason::kResourceStale, "step.scores.buffer"));
  EXPECT_THAT(buffer->WriteElements<float>(0, scores_), FailsWith(ErrorReason::kFieldMissing, ""));
}

TEST_P(ClientLeaseTest, QuotasComeBackWithTheirResources) {
  const auto lease = Connect().OpenLease();
  ASSERT_OK(lease);
  EXPECT_EQ(lease->quota().max_bytes, 8 << 20);
  for (int turn = 0; turn < 20; ++turn) {
    auto all = lease->AllocateBuffer(8 << 20);
    ASSERT_OK(all);
    EXPECT_TRUE(HasReason(lease->AllocateBuffer(1).status(), ErrorReason::kQuotaExceeded));
    Buffer moved = *std::move(all);  // released once, at the end of the turn
  }
}

TEST_P(ClientLeaseTest, TheEndOfALeaseFreesEverything) {
  const Client client = Connect();
  std::optional<Buffer> left;
  std::optional<Client> its_client;
  {
    const auto lease = client.OpenLease();
    ASSERT_OK(lease);
    auto buffer = lease->AllocateBuffer(8 << 20);
    ASSERT_OK(buffer);
    left = *std::move(buffer);
    its_client = lease->client();
  }
  EXPECT_THAT(left->WriteElements<float>(0, scores_), FailsWith(ErrorReason::kLeaseEnded, ""));
  EXPECT_THAT(its_client->TopK(BestTwo(Float32Matrix(scores_.data(), 1, 4))),
              FailsWith(ErrorReason::kLeaseEnded, ""));
  EXPECT_TRUE(AwaitLeaseCount(client, 0));
}

TEST_P(ClientLeaseTest, TheGraceDoesNotOutliveALeaseThatItsClientEnds) {
  const Client client = Connect();
  std::optional<Buffer> left;
  // The pool has 16 MiB: each lease takes half of it.
  for (int turn = 0; turn < 20; ++turn) {
    const auto lease = client.OpenLease({.resume_grace = absl::Seconds(50)});
    ASSERT_OK(lease);
    ASSERT_OK(lease->CreatePageTable({.rows = 1, .columns = 1, .page_size = 1}));
    auto buffer = lease->AllocateBuffer((8 << 20) - 4096);
    ASSERT_OK(buffer) << turn;
    left = *std::move(buffer);
  }
  EXPECT_TRUE(AwaitLeaseCount(client, 0));
}

TEST_P(ClientLeaseTest, CloseSaysThatTheServerKnows) {
  const Client client = Connect();
  const auto lease = client.OpenLease({.resume_grace = absl::Seconds(50)});
  ASSERT_OK(lease);
  const Client its_client = lease->client();
  const auto buffer = lease->AllocateBuffer(8 << 20);
  ASSERT_OK(buffer);
  EXPECT_TRUE(absl::IsInvalidArgument(lease->Close({.metadata = {{"Upper", "case"}}})));
  EXPECT_OK(buffer->WriteElements<float>(0, scores_)) << "it lives on";
  ASSERT_OK(lease->Close());
  EXPECT_THAT(lease->status(), FailsWith(ErrorReason::kLeaseEnded, ""));
  EXPECT_THAT(its_client.TopK(BestTwo(Float32Matrix(scores_.data(), 1, 4))),
              FailsWith(ErrorReason::kLeaseEnded, ""));
  EXPECT_OK(lease->Close());
  EXPECT_TRUE(AwaitLeaseCount(client, 0));
}

TEST_P(ClientLeaseTest, AnythingMayGoFirst) {
  // Each order of destroying client, lease, its client, buffer and memory, with a call under way.
  std::vector<int> order(5);
  std::iota(order.begin(), order.end(), 0);
  do {
    auto client = std::make_optional(Connect());
    auto lease = std::make_optional(*client->OpenLease());
    auto its_client = std::make_optional(lease->client());
    auto buffer = std::make_optional(*lease->AllocateBuffer(64));
    auto memory = std::make_optional(*lease->ShareMemory(4096));
    Future<TopKResult> under_way =
        its_client->AsyncTopK(BestTwo(memory->AsMatrix(DType::kFloat32, 1, 4)));
    for (const int what : order) {
      if (what == 0) client.reset();
      if (what == 1) lease.reset();
      if (what == 2) its_client.reset();
      if (what == 3) buffer.reset();
      if (what == 4) memory.reset();
    }
    ASSERT_TRUE(under_way.WaitFor(absl::Seconds(20)));
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_P(ClientLeaseTest, ALeaseMayEndInACallback) {
  const Client client = Connect();
  auto lease = std::make_shared<std::optional<Lease>>(*client.OpenLease());
  const Client its_client = (*lease)->client();
  absl::Notification ended;
  its_client.AsyncTopK(BestTwo(Float32Matrix(scores_.data(), 1, 4)))
      .Then([lease, &ended](const absl::StatusOr<TopKResult>& result) {
        EXPECT_OK(result);
        lease->reset();
        ended.Notify();
      });
  ASSERT_TRUE(ended.WaitForNotificationWithTimeout(absl::Seconds(20)));
  EXPECT_TRUE(AwaitLeaseCount(client, 0));
}

TEST_P(ClientLeaseTest, AnOperatorEndsALeaseForGood) {
  const Client client = Connect();
  absl::Notification told;
  absl::Status why;
  auto holder = std::make_shared<std::optional<Lease>>();
  auto lease = client.OpenLease({.on_event = [&](const LeaseEvent& event) {
    if (event.kind != LeaseEventKind::kEnded) return;
    why = event.status;
    holder->reset();  // the lease may be destroyed by what it tells
    told.Notify();
  }});
  ASSERT_OK(lease);
  const Client its_client = lease->client();
  holder->emplace(*std::move(lease));
  const auto leases = client.ListLeases();
  ASSERT_OK(leases);
  ASSERT_EQ(leases->size(), 1u);
  EXPECT_TRUE(HasReason(client.EndLease({.number = 999}), ErrorReason::kLeaseNotFound));
  ASSERT_OK(client.EndLease({.number = leases->front().number, .message = "maintenance"}));
  ASSERT_TRUE(told.WaitForNotificationWithTimeout(absl::Seconds(20)));
  EXPECT_THAT(why, FailsWith(ErrorReason::kLeaseEnded, ""));
  EXPECT_THAT(std::string(why.message()), ::testing::HasSubstr("maintenance"));
  EXPECT_THAT(its_client.TopK(BestTwo(Float32Matrix(scores_.data(), 1, 4))),
              FailsWith(ErrorReason::kLeaseEnded, ""));
}

TEST_P(ClientLeaseTest, OptionsThatTheServerRefusesSayWhich) {
  const Client client = Connect();
  EXPECT_THAT(client.OpenLease({.resume_grace = absl::Hours(9)}).status(),
              FailsWith(ErrorReason::kValueOutOfRange, "resume_grace_duration"));
  EXPECT_THAT(client.OpenLease({.weight = 101}).status(),
              FailsWith(ErrorReason::kValueOutOfRange, "weight"));
}

TEST_P(ClientLeaseTest, MemoryIsSharedWhereTheSocketsFolderHasAnotherPath) {
  // As a volume that two containers mount in different places.
  const std::string path = server_.socket_path();
  const std::string folder = path.substr(0, path.rfind('/'));
  const std::string elsewhere = folder + ".elsewhere";
  ASSERT_EQ(rename(folder.c_str(), elsewhere.c_str()), 0);
  const std::string target = "unix:" + elsewhere + path.substr(path.rfind('/'));
  absl::Status shared;
  {
    const auto lease = Client::Create({.target = target, .streaming = GetParam()})->OpenLease();
    ASSERT_OK(lease);
    shared = lease->ShareMemory(4096).status();
  }
  ASSERT_EQ(rename(elsewhere.c_str(), folder.c_str()), 0);
  EXPECT_OK(shared);
}

TEST_P(ClientLeaseTest, ManyThreadsShareALease) {
  const auto lease = Connect().OpenLease();
  ASSERT_OK(lease);
  const auto memory = lease->ShareMemory(4096);
  ASSERT_OK(memory);
  std::copy(scores_.begin(), scores_.end(), memory->elements<float>().begin());
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const Client client = lease->client();
      std::vector<Future<TopKResult>> results;
      for (int call = 0; call < 200; ++call) {
        results.push_back(client.AsyncTopK(BestTwo(memory->AsMatrix(DType::kFloat32, 1, 4))));
      }
      for (Future<TopKResult>& future : results) {
        const auto result = std::move(future).Get();
        EXPECT_OK(result);
        good += result.ok() && result->indices.row<int32_t>(0)[0] == 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 800);
}

INSTANTIATE_TEST_SUITE_P(Transports, ClientLeaseTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Stream" : "Unary"; });

}  // namespace
}  // namespace winnow::client
