// Selects from short bfloat16 rows in lanes of their own width: twice the scores of one vector, and
// half the bytes of a list. Part of row_kernels-inl.h.
//
// A half key is the upper half of the key that row_kernels.h defines; the lower half is 0.

#ifndef WINNOW_KERNELS_CPU_HALVES_INL_H_
#define WINNOW_KERNELS_CPU_HALVES_INL_H_

#include "kernels/cpu/vector_keys-inl.h"

// Without an instruction that packs lanes of 16 bits the general way is as fast.
#ifdef __AVX512VBMI2__

HWY_BEFORE_NAMESPACE();
namespace winnow::cpu {
namespace {

using HalfKeyTag = hn::ScalableTag<int16_t>;
using PlaceTag = hn::ScalableTag<uint16_t>;
using HalfKeyVector = hn::Vec<HalfKeyTag>;
using PlaceVector = hn::Vec<PlaceTag>;
using HalfMask = hn::Mask<HalfKeyTag>;

constexpr HalfKeyTag kHalfKeys;
constexpr PlaceTag kPlaces;
constexpr auto kHalfLanes = static_cast<int32_t>(hn::MaxLanes(kHalfKeys));

constexpr int32_t kInfinityHalfKey = 0x7f80;

// Highway's own takes this instruction only where there is AVX-VNNI as well.
HWY_INLINE HalfKeyVector PackHalves(HalfKeyVector keys, HalfMask mask) {
  return HalfKeyVector{_mm512_maskz_compress_epi16(mask.raw, keys.raw)};
}
HWY_INLINE PlaceVector PackHalves(PlaceVector places, HalfMask mask) {
  return PlaceVector{_mm512_maskz_compress_epi16(mask.raw, places.raw)};
}

HWY_INLINE int32_t CountHalves(HalfMask mask) { return __builtin_popcount(mask.raw); }

HWY_INLINE HalfKeyVector LoadHalves(const uint16_t* scores) {
  return hn::BitCast(kHalfKeys, hn::LoadU(kPlaces, scores));
}

HWY_INLINE HalfKeyVector MirrorNegativeHalves(HalfKeyVector bits) {
  return hn::IfNegativeThenElse(bits, hn::Sub(hn::Set(kHalfKeys, INT16_MIN), bits), bits);
}

// How many of `count` half keys are above `bound`. What follows them up to a whole vector must not
// be.
HWY_INLINE int32_t CountHalvesAbove(const int16_t* keys, int32_t count, int32_t bound) {
  const HalfKeyVector bounds = hn::Set(kHalfKeys, static_cast<int16_t>(bound));
  int32_t above = 0;
  for (int32_t i = 0; i < count; i += kHalfLanes) {
    above += CountHalves(hn::Gt(hn::LoadU(kHalfKeys, keys + i), bounds));
  }
  return above;
}

// The largest key, and the smallest possible one behind the last, up to a whole vector.
HWY_INLINE int32_t LargestHalf(int16_t* keys, int32_t count) {
  HalfKeyVector largest = hn::Set(kHalfKeys, INT16_MIN);
  hn::StoreU(largest, kHalfKeys, keys + count);
  for (int32_t i = 0; i < count; i += kHalfLanes) {
    largest = hn::Max(largest, hn::LoadU(kHalfKeys, keys + i));
  }
  return hn::GetLane(hn::MaxOfLanes(kHalfKeys, largest));
}

// The k-th largest of the half keys, none of which is below `low`. Halves the range until one is
// left, at most 16 times: to count in a list this short costs less than to make it shorter.
HWY_INLINE int32_t KthLargestHalf(int16_t* keys, int32_t count, int32_t k, int32_t low) {
  int32_t high = LargestHalf(keys, count);
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (CountHalvesAbove(keys, count, middle) >= k) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

int32_t HalfThreshold(uint16_t* sample, int32_t count, int32_t rank) {
  auto* keys = reinterpret_cast<int16_t*>(sample);
  const HalfKeyVector infinities = hn::Set(kHalfKeys, kInfinityHalfKey);
  for (int32_t i = 0; i < count; i += kHalfLanes) {
    const HalfKeyVector part = MirrorNegativeHalves(LoadHalves(sample + i));
    // NaN lies outside of the infinities. Negative ones are below the rest already.
    const auto is_nan = hn::Gt(part, infinities);
    hn::StoreU(hn::IfThenElse(is_nan, hn::Set(kHalfKeys, INT16_MIN), part), kHalfKeys, keys + i);
  }
  return KthLargestHalf(keys, count, rank, INT16_MIN);
}

// Appends the scores with half keys of at least `low`, which is not that of a NaN. With a positive
// `low` a score's bits serve as its key: negative ones are less in either form.
template <bool kMirror>
struct HalfCollector {
  HalfKeyVector lows;
  PlaceVector past;

  explicit HWY_INLINE HalfCollector(int32_t low)
      : lows(hn::Set(kHalfKeys, static_cast<int16_t>(low))),
        past(hn::Set(kPlaces, static_cast<uint16_t>(kInfinityHalfKey - low + 1))) {}

  // Returns the count with those of one vector.
  HWY_INLINE int32_t Append(const uint16_t* scores, PlaceVector places, int32_t count,
                            const HalfCandidates& list) const {
    const HalfKeyVector bits = LoadHalves(scores);
    const HalfKeyVector keys = kMirror ? MirrorNegativeHalves(bits) : bits;
    const auto above = hn::BitCast(kPlaces, hn::Sub(keys, lows));
    const HalfMask mask = hn::RebindMask(kHalfKeys, hn::Lt(above, past));
    hn::StoreU(PackHalves(keys, mask), kHalfKeys, list.keys + count);
    hn::StoreU(PackHalves(places, mask), kPlaces, list.positions + count);
    return count + CountHalves(mask);
  }
};

// Returns how many there are, or -1 when they might not fit.
template <bool kMirror>
HWY_INLINE int32_t CollectHalves(const uint16_t* scores, int32_t length, int32_t low,
                                 const HalfCandidates list) {
  const HalfCollector<kMirror> collector(low);
  const PlaceVector step = hn::Set(kPlaces, kHalfLanes);
  PlaceVector places = hn::Iota(kPlaces, 0);
  int32_t count = 0;
  for (int32_t at = 0; at < length;) {
    const int32_t end = length - at < kCollectChunk ? length : at + kCollectChunk;
    if (count + end - at > list.capacity) return -1;
    for (; end - at >= kHalfLanes; at += kHalfLanes, places = hn::Add(places, step)) {
      count = collector.Append(scores + at, places, count, list);
    }
    if (at == end) continue;
    uint16_t rest[kHalfLanes];
    for (int32_t i = 0; i < kHalfLanes; ++i) rest[i] = i < end - at ? scores[at + i] : 0xffff;
    count = collector.Append(rest, places, count, list);
    at = end;
  }
  return count;
}

// The first `wanted` of the set lanes; at least so many are set.
HWY_INLINE HalfMask FirstOf(HalfMask mask, int32_t wanted) {
  uint32_t rest = mask.raw;
  for (int32_t i = 0; i < wanted; ++i) rest &= rest - 1;
  return HalfMask{mask.raw & ~rest};
}

// Stores both in their full width.
HWY_INLINE void StoreWide(PlaceVector places, HalfKeyVector keys, int32_t* to_positions,
                          int32_t* to_keys) {
  constexpr hn::Half<PlaceTag> kUpperPlaces;
  constexpr hn::Half<HalfKeyTag> kUpperKeys;
  const auto wide = [](auto half) HWY_ATTR { return hn::PromoteTo(kKeys, half); };
  hn::StoreU(wide(hn::LowerHalf(places)), kKeys, to_positions);
  hn::StoreU(wide(hn::UpperHalf(kUpperPlaces, places)), kKeys, to_positions + kLanes);
  hn::StoreU(hn::ShiftLeft<16>(wide(hn::LowerHalf(keys))), kKeys, to_keys);
  hn::StoreU(hn::ShiftLeft<16>(wide(hn::UpperHalf(kUpperKeys, keys))), kKeys, to_keys + kLanes);
}

HWY_INLINE void KeepLargestHalves(const HalfCandidates& from, int32_t k, int32_t kth,
                                  Candidates* to) {
  const HalfKeyVector kths = hn::Set(kHalfKeys, static_cast<int16_t>(kth));
  int32_t equals = k - CountHalvesAbove(from.keys, from.count, kth);
  int32_t kept = 0;
  for (int32_t i = 0; i < from.count; i += kHalfLanes) {
    const HalfKeyVector keys = hn::LoadU(kHalfKeys, from.keys + i);
    HalfMask is_equal = hn::Eq(keys, kths);
    const int32_t here = CountHalves(is_equal);
    if (here > equals) is_equal = FirstOf(is_equal, equals);
    equals -= here < equals ? here : equals;
    const HalfMask stays = hn::Or(hn::Gt(keys, kths), is_equal);
    StoreWide(PackHalves(hn::LoadU(kPlaces, from.positions + i), stays), PackHalves(keys, stays),
              to->positions + kept, to->keys + kept);
    kept += CountHalves(stays);
  }
  to->count = kept;
}

bool SelectHalves(const uint16_t* scores, int32_t length, int32_t k, int32_t low,
                  HalfCandidates* scratch, Candidates* selected) {
  scratch->count = low > 0 ? CollectHalves<false>(scores, length, low, *scratch)
                           : CollectHalves<true>(scores, length, low, *scratch);
  if (scratch->count < k) return false;
  const int32_t kth = KthLargestHalf(scratch->keys, scratch->count, k, low);
  KeepLargestHalves(*scratch, k, kth, selected);
  return true;
}

}  // namespace
}  // namespace winnow::cpu
HWY_AFTER_NAMESPACE();

#endif  // __AVX512VBMI2__

#endif  // WINNOW_KERNELS_CPU_HALVES_INL_H_
