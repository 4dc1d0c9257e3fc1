// Maxima of blocks. Part of row_kernels-inl.h.

#ifndef WINNOW_KERNELS_CPU_BLOCK_MAX_INL_H_
#define WINNOW_KERNELS_CPU_BLOCK_MAX_INL_H_

#include "kernels/cpu/vector_keys-inl.h"

HWY_BEFORE_NAMESPACE();
namespace winnow::cpu {
namespace {

// The maxima of kLanes blocks of 2^kShift keys, in order: neighbours are paired again and again.
template <int kShift, typename Scores>
HWY_INLINE KeyVector PairwiseMax(Scores scores, int32_t at) {
  if constexpr (kShift == 0) {
    return KeysOf(scores.Load(at));
  } else {
    const KeyVector low = PairwiseMax<kShift - 1>(scores, at);
    const KeyVector high = PairwiseMax<kShift - 1>(scores, at + (kLanes << (kShift - 1)));
#if HWY_TARGET == HWY_SCALAR
    return hn::Max(low, high);
#else
    return hn::Max(hn::ConcatEven(kKeys, high, low), hn::ConcatOdd(kKeys, high, low));
#endif
  }
}

HWY_INLINE FloatVector ScoresOf(KeyVector keys) {
  // Mirroring is its own inverse.
  const FloatVector scores = hn::BitCast(kFloats, MirrorNegative(keys));
  const auto is_nan = hn::RebindMask(kFloats, hn::Eq(keys, hn::Set(kKeys, kNanKey)));
  return hn::IfThenElse(is_nan, hn::BitCast(kFloats, hn::Set(kKeys, 0x7fc00000)), scores);
}

template <int kShift, typename Scores>
void BlockMaxOf(Scores scores, int32_t blocks, float* keys) {
  int32_t block = 0;
  for (; block + kLanes <= blocks; block += kLanes) {
    hn::StoreU(ScoresOf(PairwiseMax<kShift>(scores, block << kShift)), kFloats, keys + block);
  }
  for (; block < blocks; ++block) {
    int32_t best = kNanKey;
    for (int32_t i = block << kShift; i < (block + 1) << kShift; ++i) {
      const int32_t key = KeyOfBits(scores.BitsAt(i));
      best = key > best ? key : best;
    }
    const auto bits = static_cast<uint32_t>(best);
    keys[block] = AsFloat(best == kNanKey ? 0x7fc00000u : best < 0 ? 0x80000000u - bits : bits);
  }
}

template <typename Scores>
void BlockMaxFrom(Scores scores, int32_t blocks, int32_t block_shift, float* keys) {
  switch (block_shift) {
    case 1:
      return BlockMaxOf<1>(scores, blocks, keys);
    case 2:
      return BlockMaxOf<2>(scores, blocks, keys);
    case 3:
      return BlockMaxOf<3>(scores, blocks, keys);
    case 4:
      return BlockMaxOf<4>(scores, blocks, keys);
    case 5:
      return BlockMaxOf<5>(scores, blocks, keys);
    case 6:
      return BlockMaxOf<6>(scores, blocks, keys);
    default:
      return BlockMaxOf<7>(scores, blocks, keys);
  }
}

void BlockMax(DType dtype, const void* scores, int32_t blocks, int32_t block_shift, float* keys) {
  if (dtype == DType::kBfloat16) {
    BlockMaxFrom(Bfloat16Scores{static_cast<const uint16_t*>(scores)}, blocks, block_shift, keys);
  } else {
    BlockMaxFrom(Float32Scores{static_cast<const float*>(scores)}, blocks, block_shift, keys);
  }
}

}  // namespace
}  // namespace winnow::cpu
HWY_AFTER_NAMESPACE();

#endif  // WINNOW_KERNELS_CPU_BLOCK_MAX_INL_H_
