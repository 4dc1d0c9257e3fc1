// What the decoders make of good requests. Bad ones are in tests/integration/malformed_requests.cc,
// through a server.

#include "server/rpc/request_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/resources/buffer.h"
#include "server/resources/lease_ledger.h"
#include "server/resources/shared_memory.h"
#include "server/rpc/request_ordering.h"
#include "server/rpc/request_resources.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/random.h"
#include "tests/testing/requests.h"
#include "tests/testing/status_matchers.h"

namespace winnow::server {
namespace {

using testing::FailsWith;

const DecodeLimits kLimits;

TEST(RequestDecoderTest, TopKPointsIntoTheBytesOfTheRequest) {
  const v1::TopKRequest request = testing::GoodPagedTopK();
  const auto item = DecodeTopK(request, kLimits);
  ASSERT_OK(item);
  const auto& step = std::get<TopKStep>(item->steps[0]);
  EXPECT_EQ(static_cast<const void*>(step.scores.data),
            static_cast<const void*>(request.step().scores().inline_data().data()));
  EXPECT_EQ(step.scores.row_stride, 8);
  EXPECT_EQ(step.params.k, 3);
  EXPECT_EQ(step.params.order, Order::kScore);
  EXPECT_EQ(step.max_length, 8);
  EXPECT_EQ(step.pages.page_size, 4);
  EXPECT_TRUE(step.slots.wanted());
  EXPECT_FALSE(step.values.wanted());
  EXPECT_FALSE(step.has_static_threshold);
}

TEST(RequestDecoderTest, TheLastRowMayEndAtItsColumnsOrAtItsStride) {
  v1::TopKRequest request = testing::GoodTopK();
  auto& scores = *request.mutable_step()->mutable_scores();
  scores.set_row_stride(10);
  scores.set_inline_data(std::string(18 * 4, '\0'));
  EXPECT_OK(DecodeTopK(request, kLimits));
  scores.set_inline_data(std::string(20 * 4, '\0'));
  EXPECT_OK(DecodeTopK(request, kLimits));
  scores.set_inline_data(std::string(19 * 4, '\0'));
  EXPECT_THAT(DecodeTopK(request, kLimits),
              FailsWith(ErrorReason::kDataSizeMismatch, "step.scores.inline_data"));
}

TEST(RequestDecoderTest, ARequestOfNoRowsIsGood) {
  v1::TopKRequest request = testing::GoodTopK();
  *request.mutable_step()->mutable_scores() = testing::FloatTensor(0, 8, {});
  *request.mutable_step()->mutable_lengths() = testing::Int32Vector({});
  EXPECT_OK(DecodeTopK(request, kLimits));
}

TEST(RequestDecoderTest, AThresholdOfZeroIsNotAbsent) {
  v1::TopKRequest request = testing::GoodTopK();
  request.mutable_step()->set_static_threshold(0);
  const auto item = DecodeTopK(request, kLimits);
  ASSERT_OK(item);
  EXPECT_TRUE(std::get<TopKStep>(item->steps[0]).has_static_threshold);
  EXPECT_EQ(std::get<TopKStep>(item->steps[0]).static_threshold, 0);
}

TEST(RequestDecoderTest, ChainsHaveTheDefaultsOfTheContract) {
  v1::PublishCandidatesRequest publish = testing::GoodPublish();
  publish.clear_k();
  publish.clear_k_blocks();
  const auto published = DecodePublish(publish, kLimits);
  ASSERT_OK(published);
  const auto& step = std::get<PublishStep>(published->steps[0]);
  EXPECT_EQ(step.params.k, 512);
  EXPECT_EQ(step.params.k_blocks, 2048);
  EXPECT_EQ(step.params.block_size, 8);
  v1::ConsumeCandidatesRequest consume = testing::GoodConsume();
  consume.clear_k();
  const auto consumed = DecodeConsume(consume, kLimits);
  ASSERT_OK(consumed);
  EXPECT_EQ(std::get<TopKStep>(consumed->steps[0]).params.k, 512);
  EXPECT_EQ(std::get<TopKStep>(consumed->steps[0]).pages.page_size, 8);
}

TEST(RequestDecoderTest, KeyColumnsDefaultToTheBlocksOfTheScores) {
  v1::BlockAmaxRequest request = testing::GoodBlockAmax();
  const auto item = DecodeBlockAmax(request, kLimits);
  ASSERT_OK(item);
  EXPECT_EQ(std::get<BlockAmaxStep>(item->steps[0]).key_columns, 4);
}

TEST(RequestDecoderTest, AStepReadsTheOutputOfAnEarlierOne) {
  const auto item = DecodeExecute(testing::GoodExecute(), kLimits);
  ASSERT_OK(item);
  ASSERT_EQ(item->steps.size(), 2u);
  const auto& step = std::get<TopKStep>(item->steps[1]);
  EXPECT_EQ(step.scores.source, TensorRef::Source::kStep);
  EXPECT_EQ(step.scores.step, 0);
  EXPECT_EQ(step.scores.output, OutputName::kKeys);
  EXPECT_EQ(step.lengths.output, OutputName::kBlockCounts);
  EXPECT_EQ(step.max_length, 0);
}

TEST(RequestDecoderTest, OutputsLargerThanTheLimitAreRefusedBeforeTheyExist) {
  v1::TopKRequest request = testing::GoodTopK();
  DecodeLimits limits;
  limits.max_inline_bytes = 2 * 8 * 4 + 2 * 4;  // just the inputs
  EXPECT_OK(DecodeTopK(request, limits));
  request.mutable_step()->set_k(10);
  const auto item = DecodeTopK(request, limits);
  EXPECT_THAT(item, FailsWith(ErrorReason::kMessageTooLarge, "step.indices"));
  EXPECT_EQ(item.status().code(), absl::StatusCode::kResourceExhausted);
  limits.max_inline_bytes -= 1;
  EXPECT_THAT(DecodeTopK(request, limits),
              FailsWith(ErrorReason::kMessageTooLarge, "step.lengths.inline_data"));
}

TEST(RequestDecoderTest, APlanNamesTheRowThatIsTooLong) {
  v1::PlanTopKRequest request = testing::GoodPlan();
  ASSERT_OK(DecodePlan(request, kLimits));
  *request.mutable_lengths() = testing::Int32Vector({1, 8193});
  const auto plan = DecodePlan(request, kLimits);
  EXPECT_THAT(plan, FailsWith(ErrorReason::kLengthOutOfRange, "lengths"));
  EXPECT_EQ(GetErrorInfo(plan.status())->row, 1);
}

// Whatever bytes arrive: a message that parses is decoded or refused, never worse.
TEST(RequestDecoderTest, RequestsWithFlippedBitsAreDecodedOrRefused) {
  testing::Random random(testing::SeedFromEnvironment("WINNOW_TEST_SEED"));
  const std::string good = testing::GoodExecute().SerializeAsString();
  int parsed_count = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = good;
    for (int64_t flips = random.Between(1, 4); flips > 0; --flips) {
      bytes[random.Below(static_cast<int64_t>(bytes.size()))] ^=
          static_cast<char>(1 << random.Below(8));
    }
    v1::ExecuteRequest request;
    if (!request.ParseFromString(bytes)) continue;
    ++parsed_count;
    const auto item = DecodeExecute(request, kLimits);
    if (item.ok()) continue;
    EXPECT_TRUE(GetErrorInfo(item.status()).has_value()) << item.status();
  }
  EXPECT_GT(parsed_count, 1000);
}

TEST(RequestDecoderTest, AnOrderingTimeoutJustPastTheLongestIsNamedInFull) {
  DecodeLimits limits;
  limits.ordering = true;
  v1::Ordering ordering;
  ordering.mutable_wait_timeout_duration()->set_seconds(10);
  WorkOrdering decoded;
  EXPECT_OK(DecodeOrdering(ordering, limits, nullptr, decoded));
  ordering.mutable_wait_timeout_duration()->set_nanos(500'000'000);
  const absl::Status status = DecodeOrdering(ordering, limits, nullptr, decoded);
  EXPECT_THAT(status, FailsWith(ErrorReason::kValueOutOfRange, "ordering.wait_timeout_duration"));
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("10.5s"));
}

// A lease with a buffer of shared memory that its owner truncates.
class TruncatedBufferTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(ftruncate(fd_.get(), kBytes), 0);
    auto memory = SharedMemory::Map(fd_, {.size_bytes = kBytes, .watch_size = true});
    ASSERT_OK(memory);
    auto holds = ledger_.Reserve(lease_.lease_id, kBytes);
    ASSERT_OK(holds);
    const auto id = ledger_.Add(
        lease_.lease_id, std::make_shared<ImportedBuffer>(*std::move(memory)), *std::move(holds));
    ASSERT_OK(id);
    id_.set_id(id->id);
    id_.set_generation(id->generation);
    auto resources = RequestResources::Open(ledger_, lease_.lease_id);
    ASSERT_OK(resources);
    resources_ = *std::move(resources);
    limits_.ordering = true;
  }
  void Truncate() const { ASSERT_EQ(ftruncate(fd_.get(), 0), 0); }

  static constexpr int64_t kBytes = 4096;
  const UniqueFd fd_{memfd_create("words", MFD_CLOEXEC)};
  FakeClock clock_;
  LeaseLedger ledger_{{.devices = {{.max_bytes = kBytes}}},
                      &clock_,
                      [](const LeaseEnding&, auto finished) { std::move(finished)(); }};
  const LeaseGrant lease_ = *ledger_.Open({});
  std::shared_ptr<RequestResources> resources_;
  DecodeLimits limits_;
  v1::ResourceId id_;
};

TEST_F(TruncatedBufferTest, TheWordOfAnOrderingIsNamed) {
  Truncate();
  v1::Ordering waits, sets;
  *waits.mutable_wait_for()->mutable_word()->mutable_buffer() = id_;
  *sets.mutable_then_set()->mutable_word()->mutable_buffer() = id_;
  WorkOrdering decoded;
  const absl::Status status = DecodeOrdering(waits, limits_, resources_.get(), decoded);
  EXPECT_THAT(status, FailsWith(ErrorReason::kRangeOutOfBounds, "ordering.wait_for.word.buffer"));
  EXPECT_EQ(status.message(),
            "ordering.wait_for.word.buffer: imported shared memory was truncated by its owner; "
            "import it again");
  EXPECT_THAT(DecodeOrdering(sets, limits_, resources_.get(), decoded),
              FailsWith(ErrorReason::kRangeOutOfBounds, "ordering.then_set.word.buffer"));
}

TEST_F(TruncatedBufferTest, TheInputThatIsInItIsNamed) {
  Truncate();
  v1::TopKRequest request = testing::GoodTopK();
  *request.mutable_step()->mutable_scores()->mutable_buffer()->mutable_buffer() = id_;
  EXPECT_THAT(DecodeTopK(request, limits_, resources_.get()),
              FailsWith(ErrorReason::kRangeOutOfBounds, "step.scores.buffer.buffer"));
}

TEST_F(TruncatedBufferTest, ARequestThatItWasTakenFromWhileItRanNamesTheBuffer) {
  ASSERT_OK(resources_->FindBuffer("step.scores.buffer.buffer", id_));
  EXPECT_OK(resources_->Intact());
  Truncate();
  const absl::Status status = resources_->Intact();
  EXPECT_THAT(status, FailsWith(ErrorReason::kRangeOutOfBounds, ""));
  EXPECT_EQ(GetErrorInfo(status)->value, absl::StrCat(id_.id()));
  EXPECT_EQ(status.message(),
            absl::StrCat("buffer ", id_.id(),
                         ": imported shared memory was truncated by its owner; import it again"));
}

}  // namespace
}  // namespace winnow::server
