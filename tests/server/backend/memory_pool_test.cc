#include "server/backend/memory_pool.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>
#include <vector>

#include "tests/testing/random.h"
#include "tests/testing/status_matchers.h"
#include "winnow/kernels/error.h"

namespace winnow::server {
namespace {

using winnow::testing::FailsWith;

TEST(FreeRangesTest, PiecesAreAlignedAndTheFirstGapThatFitsIsTaken) {
  FreeRanges ranges(10 * 256 + 100);
  EXPECT_EQ(ranges.Take(1), 0);
  EXPECT_EQ(ranges.Take(257), 256);
  EXPECT_EQ(ranges.Take(256), 768);
  EXPECT_EQ(ranges.used_bytes(), 4 * 256);
  ranges.Give(256, 257);
  EXPECT_EQ(ranges.Take(256), 256);
  EXPECT_EQ(ranges.Take(7 * 256), std::nullopt);
  EXPECT_EQ(ranges.Take(6 * 256), 1024);
}

TEST(FreeRangesTest, NeighboursMergeInWhateverOrderTheyAreGivenBack) {
  for (const auto& order : {std::vector<int>{0, 1, 2}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}}) {
    FreeRanges ranges(3 * 256);
    for (int i = 0; i < 3; ++i) ASSERT_EQ(ranges.Take(256), i * 256);
    for (const int i : order) ranges.Give(i * 256, 256);
    EXPECT_EQ(ranges.range_count(), 1);
    EXPECT_EQ(ranges.Take(3 * 256), 0);
  }
}

TEST(FreeRangesTest, RandomUseNeverOverlapsAndEndsWhole) {
  winnow::testing::Random random(winnow::testing::SeedFromEnvironment("WINNOW_SEED"));
  FreeRanges ranges(1 << 20);
  std::map<int64_t, int64_t> taken;  // offset -> bytes
  for (int i = 0; i < 20000; ++i) {
    if (random.OneIn(2) || taken.empty()) {
      const int64_t bytes = random.Between(1, 30000);
      const auto offset = ranges.Take(bytes);
      if (!offset.has_value()) continue;
      const auto next = taken.lower_bound(*offset);
      if (next != taken.end()) {
        ASSERT_LE(*offset + bytes, next->first);
      }
      if (next != taken.begin()) {
        const auto previous = std::prev(next);
        ASSERT_LE(previous->first + previous->second, *offset);
      }
      ASSERT_LE(*offset + bytes, 1 << 20);
      taken.emplace(*offset, bytes);
    } else {
      const auto victim = std::next(taken.begin(), random.Below(taken.size()));
      ranges.Give(victim->first, victim->second);
      taken.erase(victim);
    }
  }
  for (const auto& [offset, bytes] : taken) ranges.Give(offset, bytes);
  EXPECT_EQ(ranges.used_bytes(), 0);
  EXPECT_EQ(ranges.range_count(), 1);
}

class MemoryPoolTest : public ::testing::Test {
 protected:
  std::unique_ptr<Device> device_ = *OpenCpuDevice({.threads = 1});
  std::unique_ptr<MemoryPool> pool_ =
      *MemoryPool::Create(*device_, MemoryKind::kDevice, 4096, "buffer");
};

TEST_F(MemoryPoolTest, AnExhaustedPoolNamesUsedAndLimit) {
  auto piece = pool_->Allocate(3000);
  ASSERT_OK(piece);
  const auto refused = pool_->Allocate(2000);
  EXPECT_THAT(refused, FailsWith(ErrorReason::kMemoryExhausted, ""));
  EXPECT_EQ(GetErrorInfo(refused.status())->value, "3072");
  EXPECT_EQ(GetErrorInfo(refused.status())->limit, "4096 bytes");
  piece->reset();
  EXPECT_EQ(pool_->used_bytes(), 0);
  EXPECT_OK(pool_->Allocate(4096));
}

TEST_F(MemoryPoolTest, SizesThatCannotBeAreRefused) {
  EXPECT_THAT(pool_->Allocate(0), FailsWith(ErrorReason::kValueOutOfRange, "size_bytes"));
  EXPECT_THAT(pool_->Allocate(-5), FailsWith(ErrorReason::kValueOutOfRange, "size_bytes"));
  EXPECT_THAT(pool_->Allocate(INT64_MAX), FailsWith(ErrorReason::kMemoryExhausted, ""));
  EXPECT_THAT(pool_->AwaitAllocate(4097), FailsWith(ErrorReason::kMemoryExhausted, ""));
}

TEST_F(MemoryPoolTest, AWaitingAllocationGetsWhatIsGivenBack) {
  auto piece = *pool_->Allocate(4096);
  std::thread waiter([&] { EXPECT_OK(pool_->AwaitAllocate(2048)); });
  piece.reset();
  waiter.join();
}

TEST_F(MemoryPoolTest, APieceMayOutliveThePool) {
  auto piece = *pool_->Allocate(100);
  pool_.reset();
  piece->data()[99] = std::byte{7};
  EXPECT_EQ(piece->size_bytes(), 100);
}

}  // namespace
}  // namespace winnow::server
