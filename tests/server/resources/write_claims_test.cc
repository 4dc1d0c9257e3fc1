#include "server/resources/write_claims.h"

#include <gtest/gtest.h>

#include <array>

namespace winnow::server {
namespace {

class WriteClaimsTest : public ::testing::Test {
 protected:
  // `columns` float32 elements of each of `rows` rows of eight, from element `first` on.
  StridedRegion Region(int64_t first, int64_t rows, int64_t columns) const {
    return MakeStridedRegion(memory_.data() + first * 4, rows, columns, 8, DType::kFloat32);
  }

  std::array<std::byte, 1024> memory_{};
  const int one_ = 0, other_ = 0;
  WriteClaims claims_;
};

TEST_F(WriteClaimsTest, BytesThatAnotherOwnerWritesAreRefused) {
  EXPECT_TRUE(claims_.Claim(&one_, Region(0, 2, 8)));
  EXPECT_FALSE(claims_.Claim(&other_, Region(15, 1, 1)));
  EXPECT_TRUE(claims_.Claim(&other_, Region(16, 1, 1)));
}

TEST_F(WriteClaimsTest, ColumnsOfOneMatrixDoNotMeet) {
  EXPECT_TRUE(claims_.Claim(&one_, Region(0, 4, 3)));
  EXPECT_TRUE(claims_.Claim(&other_, Region(3, 4, 5)));
  EXPECT_FALSE(claims_.Claim(&other_, Region(2, 4, 1)));
}

TEST_F(WriteClaimsTest, AnOwnerDoesNotStandInItsOwnWay) {
  EXPECT_TRUE(claims_.Claim(&one_, Region(0, 2, 8)));
  EXPECT_TRUE(claims_.Claim(&one_, Region(8, 2, 8)));
}

TEST_F(WriteClaimsTest, AReleaseFreesAllOfItsOwnerAndNothingOfOthers) {
  EXPECT_TRUE(claims_.Claim(&one_, Region(0, 1, 8)));
  EXPECT_TRUE(claims_.Claim(&one_, Region(16, 1, 8)));
  EXPECT_TRUE(claims_.Claim(&other_, Region(32, 1, 8)));
  claims_.Release(&one_);
  EXPECT_TRUE(claims_.Claim(&other_, Region(0, 3, 8)));
  EXPECT_FALSE(claims_.Claim(&one_, Region(32, 1, 1)));
}

}  // namespace
}  // namespace winnow::server
