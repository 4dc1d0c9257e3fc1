#include "server/resources/page_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "tests/server/resources/memory_backend.h"
#include "tests/testing/random.h"
#include "tests/testing/status_matchers.h"
#include "winnow/kernels/error.h"

namespace winnow::server {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using winnow::testing::FailsWith;
using winnow::testing::IsOk;

std::vector<int32_t> Read(const PageTable& table) {
  const auto image = table.Current();
  const int64_t entries = table.shape().rows * table.shape().columns;
  return std::vector<int32_t>(image->data(), image->data() + entries);
}

class PageTableTest : public ::testing::Test {
 protected:
  std::shared_ptr<PageTable> Make(int64_t rows, int64_t columns,
                                  const std::vector<int32_t>& initial = {}) {
    auto table =
        PageTable::Create(&backend_, {.rows = rows, .columns = columns, .page_size = 64}, initial);
    EXPECT_THAT(table, IsOk());
    return *table;
  }

  MemoryBackend backend_;
};

TEST_F(PageTableTest, ANewTableIsEmptyAtVersionOne) {
  const auto table = Make(2, 3);
  EXPECT_EQ(table->version(), 1);
  EXPECT_THAT(Read(*table), Each(-1));
  EXPECT_EQ(table->size_bytes(), 2 * 3 * 4 * PageTable::kImages);
}

TEST_F(PageTableTest, AppendsGoBehindTheLastEntrySet) {
  const auto table = Make(2, 3, {7, -1, -1, -1, -1, -1});
  const auto version = table->Update({.appends = {{.row = 0, .page_ids = {8}},
                                                  {.row = 1, .page_ids = {4, 5}},
                                                  {.row = 0, .page_ids = {9}}}});
  ASSERT_THAT(version, IsOk());
  EXPECT_EQ(*version, 2);
  EXPECT_THAT(Read(*table), ElementsAre(7, 8, 9, 4, 5, -1));
}

TEST_F(PageTableTest, ClearRangesAndAppendsAreAppliedInThisOrder) {
  const auto table = Make(1, 4, {1, 2, 3, 4});
  ASSERT_THAT(table->Update({.clear_rows = {0},
                             .ranges = {{.row = 0, .column = 1, .page_ids = {6}}},
                             .appends = {{.row = 0, .page_ids = {7}}}}),
              IsOk());
  EXPECT_THAT(Read(*table), ElementsAre(-1, 6, 7, -1));
}

TEST_F(PageTableTest, ARefusedUpdateChangesNothing) {
  const auto table = Make(1, 2, {1, 2});
  EXPECT_THAT(
      table->Update({.clear_rows = {0}, .ranges = {{.row = 0, .column = 1, .page_ids = {3, 4}}}}),
      FailsWith(ErrorReason::kRangeOutOfBounds, "ranges[0].column"));
  EXPECT_EQ(table->version(), 1);
  EXPECT_THAT(Read(*table), ElementsAre(1, 2));
}

TEST_F(PageTableTest, ADeviceThatRefusesTheCopyLeavesTheOldVersion) {
  const auto table = Make(1, 3, {1, 2, -1});
  backend_.fail_copies = true;
  EXPECT_EQ(table->Update({.appends = {{.row = 0, .page_ids = {5}}}}).status().code(),
            absl::StatusCode::kUnavailable);
  backend_.fail_copies = false;
  EXPECT_EQ(table->version(), 1);
  EXPECT_THAT(Read(*table), ElementsAre(1, 2, -1));
  ASSERT_THAT(table->Update({.appends = {{.row = 0, .page_ids = {6}}}}), IsOk());
  EXPECT_THAT(Read(*table), ElementsAre(1, 2, 6));
}

TEST_F(PageTableTest, AReaderKeepsItsVersionWhileUpdatesGoOn) {
  const auto table = Make(1, 2, {1, 1});
  const auto before = table->Current();
  for (int32_t id = 2; id < 100; ++id) {
    ASSERT_THAT(table->Update({.ranges = {{.row = 0, .column = 0, .page_ids = {id, id}}}}), IsOk());
    ASSERT_THAT(Read(*table), ElementsAre(id, id));
  }
  EXPECT_EQ(before->version, 1);
  EXPECT_EQ(before->data()[0], 1);
  EXPECT_EQ(before->data()[1], 1);
}

TEST_F(PageTableTest, AnUpdateIsRefusedWhileReadersHoldEveryEarlierVersion) {
  const auto table = Make(1, 1, {1});
  const auto first = table->Current();
  ASSERT_THAT(table->Update({.ranges = {{.row = 0, .column = 0, .page_ids = {2}}}}), IsOk());
  auto second = table->Current();
  ASSERT_THAT(table->Update({.ranges = {{.row = 0, .column = 0, .page_ids = {3}}}}), IsOk());
  const auto busy = table->Update({.ranges = {{.row = 0, .column = 0, .page_ids = {4}}}});
  EXPECT_THAT(busy, FailsWith(ErrorReason::kResourceBusy, "page_table"));
  // Not FailedPrecondition: the client has nothing to change, only to try again.
  EXPECT_EQ(busy.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_GT(GetErrorInfo(busy.status())->retry_after_millis, 0);
  second = nullptr;
  ASSERT_THAT(table->Update({.ranges = {{.row = 0, .column = 0, .page_ids = {4}}}}), IsOk());
  EXPECT_THAT(Read(*table), ElementsAre(4));
  EXPECT_EQ(first->data()[0], 1);
}

TEST_F(PageTableTest, ASmallUpdateCopiesLittle) {
  const auto table = Make(64, 4096);
  for (int32_t id = 0; id < 10; ++id) {
    ASSERT_THAT(table->Update({.appends = {{.row = 3, .page_ids = {id}}}}), IsOk());
  }
  backend_.copied_bytes = 0;
  ASSERT_THAT(table->Update({.appends = {{.row = 3, .page_ids = {10}}}}), IsOk());
  EXPECT_LE(backend_.copied_bytes, 4 * PageTable::kImages);
}

TEST_F(PageTableTest, AForkIsACopyOfItsOwn) {
  const auto table = Make(3, 2, {1, -1, 2, -1, 3, 4});
  const auto fork = table->Fork({{2, 0, 0}});
  ASSERT_THAT(fork, IsOk());
  EXPECT_THAT(Read(**fork), ElementsAre(3, 4, 1, -1, 1, -1));
  ASSERT_THAT((*fork)->Update({.appends = {{.row = 1, .page_ids = {9}}}}), IsOk());
  EXPECT_THAT(Read(**fork), ElementsAre(3, 4, 1, 9, 1, -1));
  EXPECT_THAT(Read(*table), ElementsAre(1, -1, 2, -1, 3, 4));
  EXPECT_THAT(table->Fork({{3}}), FailsWith(ErrorReason::kRangeOutOfBounds, "source_rows[0]"));
}

TEST_F(PageTableTest, AReaderKeepsTheTableAlive) {
  auto table = Make(1, 1, {5});
  const auto image = table->Current();
  table = nullptr;
  EXPECT_EQ(image->data()[0], 5);
}

// Whatever the updates, the device shows what a plain array shows.
TEST_F(PageTableTest, RandomUpdatesEqualAPlainArray) {
  const uint64_t seed = winnow::testing::SeedFromEnvironment("WINNOW_TEST_SEED");
  SCOPED_TRACE(seed);
  winnow::testing::Random random(seed);
  const int64_t rows = 5, columns = 12;
  const auto table = Make(rows, columns);
  std::vector<int32_t> plain(rows * columns, -1);
  std::vector<std::shared_ptr<const PageTableImage>> readers;
  for (int step = 0; step < 3000; ++step) {
    const int64_t row = random.Below(rows), column = random.Below(columns);
    const int64_t count = random.Between(1, columns - column);
    PageTableEdit edit = {.row = row, .column = column};
    for (int64_t id = 0; id < count; ++id) {
      edit.page_ids.push_back(static_cast<int32_t>(random.Below(1000)));
    }
    if (random.OneIn(3)) readers.push_back(table->Current());
    if (readers.size() > 1 || random.OneIn(2)) readers.clear();
    if (!table->Update({.ranges = {edit}}).ok()) continue;  // every image is held
    std::copy(edit.page_ids.begin(), edit.page_ids.end(), plain.begin() + row * columns + column);
    ASSERT_EQ(Read(*table), plain) << "step " << step;
  }
  EXPECT_GT(table->version(), 1000);
}

TEST_F(PageTableTest, ConcurrentReadersNeverSeeHalfAnUpdate) {
  const auto table = Make(4, 64, std::vector<int32_t>(256, 0));
  std::atomic<bool> stop{false};
  std::atomic<int64_t> torn{0};
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 3; ++reader) {
    readers.emplace_back([&] {
      while (!stop) {
        const auto image = table->Current();
        const int32_t first = image->data()[0];
        for (int entry = 0; entry < 256; ++entry) torn += image->data()[entry] != first;
      }
    });
  }
  int64_t applied = 0;
  for (int32_t id = 1; id <= 2000; ++id) {
    PageTableUpdate update;
    for (int64_t row = 0; row < 4; ++row) {
      update.ranges.push_back({.row = row, .page_ids = std::vector<int32_t>(64, id)});
    }
    applied += table->Update(update).ok();
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(torn, 0);
  EXPECT_GT(applied, 100);
}

}  // namespace
}  // namespace winnow::server
