#include "client/src/page_table_mirror.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace winnow::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

MatrixView View(const std::vector<int32_t>& ids, int64_t rows, int64_t columns,
                int64_t stride = 0) {
  return {DType::kInt32, rows, columns, stride, ids.data()};
}

PageTableMirror Empty(int64_t rows) {
  return PageTableMirror({.rows = rows, .columns = 8, .page_size = 64, .pool_pages = 100});
}

TEST(PageTableMirrorTest, TrailingMissingPagesOfTheInitialContentAreNoEntries) {
  const std::vector<int32_t> ids = {1, -1, 3, -1, -1, -1};
  PageTableMirror table({.rows = 2, .columns = 3});
  table.SetInitial(View(ids, 2, 3));
  EXPECT_THAT(table.row(0), ElementsAre(1, -1, 3));
  EXPECT_THAT(table.row(1), IsEmpty());
}

TEST(PageTableMirrorTest, InitialContentMayHaveAStride) {
  const std::vector<int32_t> ids = {1, 2, 99, 3, 4};
  PageTableMirror table({.rows = 2, .columns = 2});
  table.SetInitial(View(ids, 2, 2, 3));
  EXPECT_THAT(table.row(0), ElementsAre(1, 2));
  EXPECT_THAT(table.row(1), ElementsAre(3, 4));
}

TEST(PageTableMirrorTest, UpdatesClearThenWriteThenAppend) {
  PageTableMirror table = Empty(2);
  table.Apply({.appends = {{.row = 0, .page_ids = {9, 9, 9}}, {.row = 1, .page_ids = {5}}}});
  table.Apply({.clear_rows = {0},
               .ranges = {{.row = 0, .column = 2, .page_ids = {7, -1}}},
               .appends = {{.row = 0, .page_ids = {8}}, {.row = 1, .page_ids = {6}}}});
  EXPECT_THAT(table.row(0), ElementsAre(-1, -1, 7, -1, 8)) << "-1 that was set counts as an entry";
  EXPECT_THAT(table.row(1), ElementsAre(5, 6));
}

TEST(PageTableMirrorTest, AForkStartsAtVersionOneWithTheRowsAskedFor) {
  PageTableMirror table = Empty(2);
  table.Apply({.appends = {{.row = 1, .page_ids = {5}}}});
  table.SetServerVersion(4);
  const PageTableMirror fork = table.Fork(std::vector<int64_t>{1, 0, 1});
  EXPECT_EQ(fork.rows(), 3);
  EXPECT_EQ(fork.version(), 1);
  EXPECT_THAT(fork.row(0), ElementsAre(5));
  EXPECT_THAT(fork.row(1), IsEmpty());
  EXPECT_EQ(table.Fork({}).rows(), 2);
}

TEST(PageTableMirrorTest, TheCallersVersionGoesOnWhenTheServersStartsAgain) {
  PageTableMirror table = Empty(1);
  table.SetServerVersion(41);
  table.Rebase(3);
  EXPECT_EQ(table.version(), 41);
  EXPECT_EQ(table.server_version(), 3);
  table.SetServerVersion(4);
  EXPECT_EQ(table.version(), 42);
  table.Rebase(1);
  EXPECT_EQ(table.version(), 42);
}

TEST(PageTableMirrorTest, AnUpdateWhoseReplyWasLostIsTakenOverOnceIfItWasApplied) {
  PageTableMirror table = Empty(1);
  const auto applied = std::make_shared<PageTableMirror::Pending>();
  applied->update.appends = {{.row = 0, .page_ids = {5}}};
  table.SetPending(applied);
  EXPECT_TRUE(table.has_pending());
  table.ResolvePending(2);
  EXPECT_FALSE(table.has_pending());
  EXPECT_EQ(applied->applied_version, 2);
  EXPECT_EQ(table.version(), 2);
  table.ResolvePending(3);
  EXPECT_THAT(table.row(0), ElementsAre(5));

  const auto dropped = std::make_shared<PageTableMirror::Pending>();
  dropped->update.appends = {{.row = 0, .page_ids = {6}}};
  table.SetPending(dropped);
  table.ResolvePending(2);
  EXPECT_EQ(dropped->applied_version, 0);
  EXPECT_THAT(table.row(0), ElementsAre(5));
}

}  // namespace
}  // namespace winnow::client
