// That the suite finds what is wrong: a device that spoils its results must not pass.

#include <functional>
#include <limits>

#include "kernels/cpu/cpu_device.h"
#include "tests/contract/block_check.h"
#include "tests/contract/contract_test.h"
#include "tests/contract/topk_check.h"
#include "tests/testing/score_generators.h"
#include "tests/testing/status_matchers.h"

namespace winnow::contract {
namespace {

// The CPU device, with one more step after each TopK.
class SpoilingDevice final : public cpu::CpuDevice {
 public:
  using Spoil = std::function<void(const TopKParams&, const TopKSegment&)>;
  explicit SpoilingDevice(Spoil spoil)
      : CpuDevice(1, cpu::BestRowKernels()), spoil_(std::move(spoil)) {}

  absl::Status TopK(Stream& stream, const TopKParams& params,
                    absl::Span<const TopKSegment> segments,
                    absl::Span<std::byte> workspace) override {
    const absl::Status status = CpuDevice::TopK(stream, params, segments, workspace);
    if (status.ok()) spoil_(params, segments[0]);
    return status;
  }

 private:
  Spoil spoil_;
};

class HarnessTest : public ::testing::Test {
 protected:
  HarnessTest() {
    request_ = NormalRequest({3000, 700, 9000}, random_);
    request_.pages = RandomPageTable(3, 9000, 64, random_);
    request_.index_offsets = {0, 5, 9};
    request_.wants_slots = request_.wants_values = true;
    request_.output_padding = 2;
  }

  ::testing::AssertionResult RunSpoiled(const TopKParams& params, SpoilingDevice::Spoil spoil) {
    SpoilingDevice device(std::move(spoil));
    auto executor = Executor::Create(device);
    if (!executor.ok()) return ::testing::AssertionFailure() << executor.status();
    return RunTopK(**executor, params, {request_});
  }

  testing::Random random_{7};
  TopKRequest request_;
};

TEST_F(HarnessTest, AnUnspoiledResultPasses) {
  EXPECT_TRUE(RunSpoiled({.k = 512}, [](const auto&, const auto&) {}));
  EXPECT_TRUE(RunSpoiled({.k = 512, .deterministic = true}, [](const auto&, const auto&) {}));
}

TEST_F(HarnessTest, EverySpoiledResultIsFound) {
  const SpoilingDevice::Spoil spoils[] = {
      [](const auto&, const TopKSegment& s) { s.indices[3] = s.indices[4]; },
      [](const auto&, const TopKSegment& s) { s.indices[0] = 3000; },
      [](const auto&, const TopKSegment& s) { s.indices[0] = -1; },
      [](const auto& p, const TopKSegment& s) {
        s.indices[2 * s.indices_row_stride + p.k - 1] ^= 1;
      },
      [](const auto&, const TopKSegment& s) { s.slots[7] += 64; },
      [](const auto&, const TopKSegment& s) { static_cast<float*>(s.values)[9] += 1e-6f; },
      [](const auto& p, const TopKSegment& s) { s.indices[p.k] = 0; },  // between two rows
      [](const auto&, const TopKSegment& s) { s.indices[-1] = 0; },
      [](const auto&, const TopKSegment& s) {
        const_cast<float*>(static_cast<const float*>(s.scores))[5] = -0.0f;
      },
      [](const auto&, const TopKSegment& s) { const_cast<int32_t*>(s.lengths)[1] = 701; },
      [](const auto&, const TopKSegment& s) { s.report->negative_rows = 1; },
      [](const auto&, const TopKSegment& s) { s.report->fault.kind = 1; },
  };
  for (const auto& spoil : spoils) {
    EXPECT_FALSE(RunSpoiled({.k = 512}, spoil)) << "spoil " << &spoil - spoils;
  }
}

TEST_F(HarnessTest, AWrongOrderIsFoundWhereOneWasAskedFor) {
  const SpoilingDevice::Spoil swap_two = [](const auto&, const TopKSegment& s) {
    std::swap(s.indices[3], s.indices[4]);
    std::swap(s.slots[3], s.slots[4]);
    auto* const values = static_cast<float*>(s.values);
    std::swap(values[3], values[4]);
  };
  EXPECT_TRUE(RunSpoiled({.k = 512}, swap_two)) << "any order is right here";
  EXPECT_FALSE(RunSpoiled({.k = 512, .deterministic = true}, swap_two));
  EXPECT_FALSE(RunSpoiled({.k = 512, .order = Order::kPosition}, swap_two));
  EXPECT_FALSE(RunSpoiled({.k = 512, .order = Order::kScore}, swap_two));
}

TEST_F(HarnessTest, AnotherOfEqualScoresIsWrongOnlyWhenDeterministic) {
  for (float& score : request_.windows[0]) score = 1.0f;
  request_.wants_slots = request_.wants_values = false;
  const SpoilingDevice::Spoil take_last = [](const auto& p, const TopKSegment& s) {
    s.indices[p.k - 1] = 2999;
  };
  EXPECT_TRUE(RunSpoiled({.k = 512}, take_last));
  EXPECT_FALSE(RunSpoiled({.k = 512, .deterministic = true}, take_last));
}

TEST_F(HarnessTest, AFaultThatIsNotReportedIsFound) {
  request_.lengths = {3000, 9001, 9000};
  EXPECT_TRUE(RunSpoiled({.k = 512}, [](const auto&, const auto&) {}));
  EXPECT_FALSE(
      RunSpoiled({.k = 512}, [](const auto&, const TopKSegment& s) { s.report->fault = {}; }));
  EXPECT_FALSE(
      RunSpoiled({.k = 512}, [](const auto&, const TopKSegment& s) { s.report->fault.row = 0; }));
  EXPECT_FALSE(RunSpoiled({.k = 512}, [](const auto&, const TopKSegment& s) {
    s.indices[s.indices_row_stride] = 0;
  })) << "the faulting row is padding";
}

// One publish of random rows, spoiled by `spoil`.
::testing::AssertionResult CheckSpoiledPublish(const PublishParams& params,
                                               void (*spoil)(const PublishSegment&)) {
  testing::Random random(11);
  PublishRequest request;
  for (const int32_t length : {30000, 700}) {
    request.windows.push_back(MakeScores(testing::Pattern::kNormal, length, random));
  }
  request.pages = RandomPageTable(2, 30000, 64, random);
  MemoryImage before;
  const std::vector<PublishLayout> layouts = {{params, request, before}};
  MemoryImage after = before;
  cpu::CpuDevice device(1, cpu::BestRowKernels());
  const auto stream = device.CreateStream(StreamPriority::kNormal);
  const PublishSegment segment = layouts[0].At(after.data());
  EXPECT_OK(device.PublishCandidates(**stream, params, {&segment, 1}, {}));
  spoil(segment);
  return CheckPublishRun(params, layouts, before, after);
}

TEST(PublishHarnessTest, EverySpoiledPublishIsFound) {
  for (const bool deterministic : {false, true}) {
    const PublishParams params{.k = 64, .k_blocks = 512, .deterministic = deterministic};
    EXPECT_TRUE(CheckSpoiledPublish(params, [](const PublishSegment&) {}));
    EXPECT_FALSE(CheckSpoiledPublish(params, [](const auto& s) { s.blocks[5] = s.blocks[4]; }));
    EXPECT_FALSE(CheckSpoiledPublish(params, [](const auto& s) { s.blocks[511] = kPaddingBlock; }));
    EXPECT_FALSE(CheckSpoiledPublish(params, [](const auto& s) { s.block_slots[5] ^= 1; }));
    EXPECT_FALSE(CheckSpoiledPublish(params, [](const auto& s) { s.slots[5] ^= 1; }));
    EXPECT_FALSE(CheckSpoiledPublish(params, [](const auto& s) { ++s.candidate_lengths[0]; }));
    EXPECT_FALSE(CheckSpoiledPublish(params, [](const auto& s) { s.blocks[512 + 100] = 3; }));
  }
}

}  // namespace
}  // namespace winnow::contract
