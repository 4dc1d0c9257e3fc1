#include "server/resources/import_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "tests/testing/fake_sharing.h"
#include "tests/testing/status_matchers.h"

namespace winnow::server {
namespace {

using winnow::testing::FailsWith;

class ImportCacheTest : public ::testing::Test {
 protected:
  ImportCacheTest() { sharing_.Share("engine", 4096); }

  std::shared_ptr<DeviceMemory> Open() {
    auto memory = cache_.Open(sharing_, "engine");
    EXPECT_TRUE(memory.ok()) << memory.status();
    return *std::move(memory);
  }

  winnow::testing::FakeSharing sharing_;
  ImportCache cache_;
};

TEST_F(ImportCacheTest, AHandleIsOpenedOnceForAllWhoUseIt) {
  const auto first = Open();
  const auto second = Open();
  EXPECT_EQ(first->data(), second->data());
  EXPECT_EQ(sharing_.opens, 1);
  EXPECT_EQ(cache_.size(), 1);
}

TEST_F(ImportCacheTest, ItIsClosedWithTheLastUserAndOpenedAgain) {
  auto first = Open();
  auto second = Open();
  first = nullptr;
  EXPECT_EQ(sharing_.open_now, 1);
  second = nullptr;
  EXPECT_EQ(sharing_.open_now, 0);
  EXPECT_EQ(cache_.size(), 0);
  const auto third = Open();
  EXPECT_EQ(sharing_.opens, 2);
}

TEST_F(ImportCacheTest, ARefusedHandleLeavesNothingBehind) {
  EXPECT_THAT(cache_.Open(sharing_, "nobody").status(), FailsWith(ErrorReason::kImportRefused, ""));
  EXPECT_EQ(cache_.size(), 0);
}

TEST_F(ImportCacheTest, ThreadsThatOpenAtOnceShare) {
  std::vector<std::thread> threads;
  std::vector<std::shared_ptr<DeviceMemory>> memories(8);
  for (auto& memory : memories) threads.emplace_back([&] { memory = Open(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sharing_.opens, 1);
}

}  // namespace
}  // namespace winnow::server
