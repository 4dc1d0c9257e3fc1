// Scores and keys in vectors. Part of row_kernels-inl.h.

#ifndef WINNOW_KERNELS_CPU_VECTOR_KEYS_INL_H_
#define WINNOW_KERNELS_CPU_VECTOR_KEYS_INL_H_

#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "kernels/cpu/row_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace winnow::cpu {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using KeyTag = hn::ScalableTag<int32_t>;
using BitsTag = hn::ScalableTag<uint32_t>;
using HalfTag = hn::Rebind<uint16_t, FloatTag>;
using FloatVector = hn::Vec<FloatTag>;
using KeyVector = hn::Vec<KeyTag>;

constexpr FloatTag kFloats;
constexpr KeyTag kKeys;
constexpr BitsTag kBits;
constexpr HalfTag kHalves;

constexpr auto kLanes = static_cast<int32_t>(hn::MaxLanes(kFloats));

// How scores of each type are read.
struct Float32Scores {
  const float* base;
  static constexpr int64_t kBytes = 4;
  HWY_INLINE FloatVector Load(int32_t i) const { return hn::LoadU(kFloats, base + i); }
  HWY_INLINE uint32_t BitsAt(int32_t i) const {
    uint32_t bits;
    std::memcpy(&bits, base + i, sizeof(bits));
    return bits;
  }
};

struct Bfloat16Scores {
  const uint16_t* base;
  static constexpr int64_t kBytes = 2;
  HWY_INLINE FloatVector Load(int32_t i) const {
    const auto halves = hn::LoadU(kHalves, base + i);
    return hn::BitCast(kFloats, hn::ShiftLeft<16>(hn::PromoteTo(kBits, halves)));
  }
  HWY_INLINE uint32_t BitsAt(int32_t i) const { return static_cast<uint32_t>(base[i]) << 16; }
};

HWY_INLINE float AsFloat(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// Negative floats descend as integers: mirror them, which also makes -0 equal to +0.
HWY_INLINE int32_t KeyOfBits(uint32_t bits) {
  if ((bits & 0x7fffffffu) > 0x7f800000u) return kNanKey;
  return static_cast<int32_t>((bits >> 31) != 0 ? 0x80000000u - bits : bits);
}

HWY_INLINE KeyVector MirrorNegative(KeyVector bits) {
  const KeyVector mirrored = hn::Sub(hn::Set(kKeys, INT32_MIN), bits);
  return hn::IfThenElse(hn::Lt(bits, hn::Zero(kKeys)), mirrored, bits);
}

HWY_INLINE KeyVector KeysOf(FloatVector scores) {
  const KeyVector keys = MirrorNegative(hn::BitCast(kKeys, scores));
  const auto is_nan = hn::RebindMask(kKeys, hn::IsNaN(scores));
  return hn::IfThenElse(is_nan, hn::Set(kKeys, kNanKey), keys);
}

template <typename Scores>
void MakeKeysFrom(Scores scores, int32_t count, int32_t* keys) {
  int32_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(KeysOf(scores.Load(i)), kKeys, keys + i);
  for (; i < count; ++i) keys[i] = KeyOfBits(scores.BitsAt(i));
}

void MakeKeys(DType dtype, const void* scores, int32_t count, int32_t* keys) {
  if (dtype == DType::kBfloat16) {
    MakeKeysFrom(Bfloat16Scores{static_cast<const uint16_t*>(scores)}, count, keys);
  } else {
    MakeKeysFrom(Float32Scores{static_cast<const float*>(scores)}, count, keys);
  }
}

// Lanes where `mask` is set, packed to the front; the others hold anything.
#if HWY_TARGET == HWY_AVX2
// Highway's own has its table on the stack, copied for each call by some compilers.
struct LaneOrders {
  constexpr LaneOrders() {
    for (int mask = 0; mask < 256; ++mask) {
      int packed = 0;
      for (int lane = 0; lane < 8; ++lane) {
        if ((mask >> lane) & 1) order[mask][packed++] = static_cast<uint8_t>(lane);
      }
    }
  }
  uint8_t order[256][8] = {};
};
alignas(64) constexpr LaneOrders kLaneOrders;

HWY_INLINE KeyVector Pack(KeyVector keys, hn::Mask<KeyTag> mask) {
  const hn::Rebind<uint8_t, KeyTag> bytes;
  uint8_t bits[8];
  hn::StoreMaskBits(kKeys, mask, bits);
  const auto order = hn::PromoteTo(kKeys, hn::LoadU(bytes, kLaneOrders.order[bits[0]]));
  return hn::TableLookupLanes(keys, hn::IndicesFromVec(kKeys, order));
}
#else
HWY_INLINE KeyVector Pack(KeyVector keys, hn::Mask<KeyTag> mask) {
  return hn::Compress(keys, mask);
}
#endif

}  // namespace
}  // namespace winnow::cpu
HWY_AFTER_NAMESPACE();

#endif  // WINNOW_KERNELS_CPU_VECTOR_KEYS_INL_H_
