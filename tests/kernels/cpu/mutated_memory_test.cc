// Memory that a peer rewrites while operations run on it, as shared memory allows: scores, lengths,
// starts, offsets, page tables and block ids change at any moment. What comes out may be anything,
// but nothing may be read or written outside, which the sanitizers and the guards around the
// outputs see.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <iterator>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "tests/testing/random.h"
#include "winnow/kernels/device.h"

#if defined(__SANITIZE_THREAD__)
#define WINNOW_RACES_ON_PURPOSE 1
#endif

namespace winnow {
namespace {

constexpr int32_t kRows = 4;
constexpr int32_t kColumns = 70'000;
constexpr int32_t kPages = 1'200;  // of 64 positions, more than the columns need
constexpr int32_t kWidth = 2'048;
constexpr int32_t kKeyColumns = 9'000;
constexpr int32_t kShortest = 40'000;  // of the good lengths

// An output with guards on both sides.
template <typename T>
class Guarded {
 public:
  explicit Guarded(size_t size) : elements_(size + 2 * kGuard, kValue) {}
  T* data() { return elements_.data() + kGuard; }
  bool intact() const {
    for (size_t i = 0; i < kGuard; ++i) {
      if (elements_[i] != kValue || elements_[elements_.size() - 1 - i] != kValue) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kGuard = 64;
  static constexpr T kValue = T{77};
  std::vector<T> elements_;
};

// What both sides see.
struct SharedInputs {
  std::vector<uint32_t> scores = std::vector<uint32_t>(int64_t{kRows} * kColumns);
  std::vector<int32_t> lengths = std::vector<int32_t>(kRows, kColumns);
  std::vector<int32_t> starts = std::vector<int32_t>(kRows);
  std::vector<int32_t> offsets = std::vector<int32_t>(kRows);
  std::vector<int32_t> table = std::vector<int32_t>(kRows * kPages);
  std::vector<int32_t> table_rows = std::vector<int32_t>(kRows);
  std::vector<int32_t> blocks = std::vector<int32_t>(kRows * kWidth);
};

// Writes of one element at a time, as a peer's processor makes them.
template <typename T>
void Scribble(std::vector<T>& to, testing::Random& random, T value) {
  *static_cast<volatile T*>(&to[random.Below(static_cast<int64_t>(to.size()))]) = value;
}

// Bad values are so rare where many are read that some operations run to their end, and so frequent
// that others find one.
void Mutate(SharedInputs& inputs, uint64_t seed, const std::atomic<bool>& stop) {
  testing::Random random(seed);
  const auto mostly = [&](int64_t low, int64_t high, int64_t bad_one_in) {
    return static_cast<int32_t>(random.OneIn(bad_one_in) ? random.Next()
                                                         : random.Between(low, high));
  };
  while (!stop.load(std::memory_order_relaxed)) {
    for (int turn = 0; turn < 1000; ++turn) {
      Scribble(inputs.scores, random,
               random.OneIn(4) ? 0x7f800000u : static_cast<uint32_t>(random.Next()));
      Scribble(inputs.lengths, random, mostly(kShortest, kColumns, 32));
      Scribble(inputs.starts, random, mostly(0, 0, 32));
      Scribble(inputs.table, random, mostly(0, 5'000, 8192));
      Scribble(inputs.table_rows, random, mostly(0, kRows - 1, 32));
      Scribble(inputs.offsets, random, static_cast<int32_t>(random.Next()));
      Scribble(inputs.blocks, random, mostly(-1, kShortest / 8 - 1, 16384));
    }
  }
}

class MutatedMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef WINNOW_RACES_ON_PURPOSE
    GTEST_SKIP() << "the race is the test's subject";
#endif
    auto device = OpenCpuDevice({.threads = 2});
    ASSERT_TRUE(device.ok());
    device_ = *std::move(device);
    stream_ = *device_->CreateStream(StreamPriority::kNormal);
  }

  PageTransform Pages() {
    return {.page_table = inputs_.table.data(),
            .page_table_rows = inputs_.table_rows.data(),
            .row_stride = kPages,
            .table_rows = kRows,
            .table_columns = kPages,
            .page_size = 64};
  }

  template <typename Segment>
  void SetScores(Segment& segment) {
    segment.scores = inputs_.scores.data();
    segment.row_stride = kColumns;
    segment.rows = kRows;
    segment.columns = kColumns;
    segment.lengths = inputs_.lengths.data();
    segment.report = &(report_ = {});
  }

  absl::Status TopK(int round) {
    const TopKParams params{.dtype = round % 3 == 0 ? DType::kBfloat16 : DType::kFloat32,
                            .k = round % 5 == 0 ? 2048 : 512,
                            .order = static_cast<Order>(round % 3),
                            .deterministic = round % 2 == 0};
    TopKSegment segment;
    SetScores(segment);
    segment.row_starts = inputs_.starts.data();
    segment.index_offsets = inputs_.offsets.data();
    segment.pages = Pages();
    segment.indices = indices_.data();
    segment.slots = slots_.data();
    segment.values = values_.data();
    segment.indices_row_stride = segment.slots_row_stride = segment.values_row_stride = kWidth;
    return device_->TopK(*stream_, params, {&segment, 1}, {});
  }

  absl::Status BlockAmax() {
    BlockAmaxSegment segment;
    SetScores(segment);
    segment.keys = keys_.data();
    segment.keys_row_stride = segment.keys_columns = kKeyColumns;
    segment.block_counts = counts_.data();
    return device_->BlockAmax(*stream_, {}, {&segment, 1});
  }

  absl::Status SortBlocks() {
    SortBlocksSegment segment;
    segment.blocks = inputs_.blocks.data();
    segment.blocks_row_stride = kWidth;
    segment.rows = kRows;
    segment.lengths = inputs_.lengths.data();
    segment.pages = Pages();
    segment.out_blocks = blocks_.data();
    segment.block_slots = block_slots_.data();
    segment.candidate_lengths = counts_.data();
    segment.out_blocks_row_stride = segment.block_slots_row_stride = kWidth;
    segment.report = &(report_ = {});
    return device_->SortCandidateBlocks(*stream_, {.width = kWidth}, {&segment, 1});
  }

  absl::Status Publish() {
    PublishSegment segment;
    SetScores(segment);
    segment.pages = Pages();
    segment.slots = slots_.data();
    segment.indices = indices_.data();
    segment.blocks = blocks_.data();
    segment.block_slots = block_slots_.data();
    segment.candidate_lengths = counts_.data();
    segment.slots_row_stride = segment.indices_row_stride = kWidth;
    segment.blocks_row_stride = segment.block_slots_row_stride = kWidth;
    return device_->PublishCandidates(*stream_, {}, {&segment, 1}, {});
  }

  absl::Status Run(size_t operation, int round) {
    if (operation == 0) return TopK(round);
    if (operation == 1) return BlockAmax();
    if (operation == 2) return SortBlocks();
    return Publish();
  }

  SharedInputs inputs_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  Guarded<int32_t> indices_{kRows * kWidth}, slots_{kRows * kWidth}, blocks_{kRows * kWidth};
  Guarded<int32_t> block_slots_{kRows * kWidth}, counts_{kRows};
  Guarded<float> values_{kRows * kWidth}, keys_{kRows * kKeyColumns};
  SegmentReport report_;
};

TEST_F(MutatedMemoryTest, NothingIsTouchedOutsideWhileAPeerRewritesEveryInput) {
  // A busy machine may let the peer sleep: then more rounds meet both good and bad values.
  constexpr int kRounds = 300, kMostRounds = 20 * kRounds, kFewGood = kRounds / 20;
  std::atomic<bool> stop{false};
  const uint64_t seed = testing::SeedFromEnvironment("WINNOW_MUTATION_SEED");
  std::thread peer([&] { Mutate(inputs_, seed, stop); });
  int good[4] = {}, bad[4] = {};  // rounds by operation
  const auto met_both = [&](size_t operation) {
    return good[operation] > kFewGood && bad[operation] > 0;
  };
  int round = 0;
  for (bool enough = false; !HasFailure() && round < kMostRounds && !enough; ++round) {
    enough = round + 1 >= kRounds;
    for (size_t operation = 0; operation < std::size(good); ++operation) {
      EXPECT_TRUE(Run(operation, round).ok());
      ++(report_.fault.kind == 0 ? good : bad)[operation];
      enough = enough && met_both(operation);
    }
    EXPECT_TRUE(indices_.intact() && slots_.intact() && values_.intact() && keys_.intact() &&
                blocks_.intact() && block_slots_.intact() && counts_.intact())
        << "round " << round;
  }
  stop = true;
  peer.join();
  for (size_t operation = 0; operation < std::size(good); ++operation) {
    std::printf("operation %zu: %d rounds with good data, %d with bad\n", operation,
                good[operation], bad[operation]);
    EXPECT_TRUE(met_both(operation)) << "operation " << operation;
  }
}

}  // namespace
}  // namespace winnow
