#include "server/resources/random_id.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace winnow::server {
namespace {

TEST(RandomIdTest, IdsAre32HexadecimalDigitsAndDiffer) {
  std::set<std::string> seen;
  for (int draw = 0; draw < 1000; ++draw) {
    const std::string id = RandomHexId();
    ASSERT_EQ(id.size(), 32u);
    ASSERT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos) << id;
    ASSERT_TRUE(seen.insert(id).second) << id;
  }
}

TEST(RandomIdTest, GenerationsArePositiveAndLeaveRoomToCount) {
  for (int draw = 0; draw < 1000; ++draw) {
    const int64_t generation = RandomGeneration();
    ASSERT_GE(generation, 1);
    ASSERT_LT(generation, int64_t{1} << 40);
  }
}

}  // namespace
}  // namespace winnow::server
