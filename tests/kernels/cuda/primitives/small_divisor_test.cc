#include "kernels/cuda/primitives/small_divisor.h"

#include <gtest/gtest.h>

namespace winnow::cuda {
namespace {

TEST(SmallDivisorTest, EveryDivisorIsExactAroundEveryMultiple) {
  for (int32_t divisor = 1; divisor <= SmallDivisor::kMaxDivisor; ++divisor) {
    const SmallDivisor quick = SmallDivisor::Of(divisor);
    for (int64_t multiple = 0; multiple <= SmallDivisor::kMaxDividend;
         multiple += divisor * int64_t{997}) {
      for (int64_t dividend : {multiple - 1, multiple, multiple + 1}) {
        if (dividend < 0 || dividend > SmallDivisor::kMaxDividend) continue;
        ASSERT_EQ(quick.Divide(static_cast<int32_t>(dividend)), dividend / divisor)
            << dividend << " / " << divisor;
      }
    }
    ASSERT_EQ(quick.Divide(SmallDivisor::kMaxDividend), SmallDivisor::kMaxDividend / divisor);
  }
}

}  // namespace
}  // namespace winnow::cuda
