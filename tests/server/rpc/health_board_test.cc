#include "server/rpc/health_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace winnow::server {
namespace {

using ::testing::ElementsAre;

class Recorder final : public HealthBoard::Watcher {
 public:
  void OnState(bool serving) override { heard.emplace_back(serving ? "serving" : "not serving"); }
  void OnClose() override { heard.emplace_back("closed"); }
  std::vector<std::string> heard;
};

TEST(HealthBoardTest, ItKnowsItsServicesAndTheServerAsAWhole) {
  const HealthBoard board({"a.B"});
  EXPECT_TRUE(board.Knows("a.B"));
  EXPECT_TRUE(board.Knows(""));
  EXPECT_FALSE(board.Knows("a.C"));
}

TEST(HealthBoardTest, AWatcherHearsTheStateThenEachChangeOnceThenTheEnd) {
  HealthBoard board({"a.B"});
  Recorder watcher;
  board.Add(&watcher);
  board.SetServing(true);
  board.SetServing(false);
  board.SetServing(false);
  board.Close();
  EXPECT_THAT(watcher.heard, ElementsAre("serving", "not serving", "closed"));
  EXPECT_FALSE(board.serving());
}

TEST(HealthBoardTest, AWatcherThatComesAfterTheEndHearsIt) {
  HealthBoard board({});
  board.Close();
  Recorder watcher;
  board.Add(&watcher);
  EXPECT_THAT(watcher.heard, ElementsAre("serving", "closed"));
}

TEST(HealthBoardTest, AWatcherThatLeftHearsNothing) {
  HealthBoard board({});
  Recorder watcher;
  board.Add(&watcher);
  board.Remove(&watcher);
  board.SetServing(false);
  EXPECT_THAT(watcher.heard, ElementsAre("serving"));
}

}  // namespace
}  // namespace winnow::server
