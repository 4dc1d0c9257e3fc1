// Selection among keys. Part of row_kernels-inl.h.

#ifndef WINNOW_KERNELS_CPU_SELECT_KEYS_INL_H_
#define WINNOW_KERNELS_CPU_SELECT_KEYS_INL_H_

#include "kernels/cpu/vector_keys-inl.h"

HWY_BEFORE_NAMESPACE();
namespace winnow::cpu {
namespace {

struct KeyRange {
  int32_t low, high;
};

HWY_INLINE KeyRange RangeOf(const int32_t* keys, int32_t count) {
  KeyVector low = hn::Set(kKeys, INT32_MAX), high = hn::Set(kKeys, INT32_MIN);
  int32_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const KeyVector part = hn::LoadU(kKeys, keys + i);
    low = hn::Min(low, part);
    high = hn::Max(high, part);
  }
  KeyRange range{hn::GetLane(hn::MinOfLanes(kKeys, low)), hn::GetLane(hn::MaxOfLanes(kKeys, high))};
  for (; i < count; ++i) {
    range.low = keys[i] < range.low ? keys[i] : range.low;
    range.high = keys[i] > range.high ? keys[i] : range.high;
  }
  return range;
}

struct Halves {
  int32_t upper_count = 0, lower_count = 0;
  int32_t upper_low = 0;   // smallest of the upper half
  int32_t lower_high = 0;  // largest of the lower half
};

// Copies the keys above `middle` to `upper` and the others to `lower`, which may be `keys`.
HWY_INLINE Halves Split(const int32_t* keys, int32_t* lower, int32_t* upper, int32_t count,
                        int32_t middle) {
  const KeyVector middles = hn::Set(kKeys, middle);
  KeyVector upper_low = hn::Set(kKeys, INT32_MAX), lower_high = hn::Set(kKeys, INT32_MIN);
  Halves halves;
  for (int32_t i = 0; i < count; i += kLanes) {
    const int32_t left = count - i;
    const KeyVector part = hn::LoadU(kKeys, keys + i);
    auto is_upper = hn::Gt(part, middles);
    auto is_lower = hn::Not(is_upper);
    if (left < kLanes) {
      const auto valid = hn::FirstN(kKeys, static_cast<size_t>(left));
      is_upper = hn::And(is_upper, valid);
      is_lower = hn::And(is_lower, valid);
    }
    upper_low = hn::Min(upper_low, hn::IfThenElse(is_upper, part, upper_low));
    lower_high = hn::Max(lower_high, hn::IfThenElse(is_lower, part, lower_high));
    // The lower half's end is never past what was read, so it may overwrite its source.
    hn::StoreU(Pack(part, is_upper), kKeys, upper + halves.upper_count);
    hn::StoreU(Pack(part, is_lower), kKeys, lower + halves.lower_count);
    const auto uppers = static_cast<int32_t>(hn::CountTrue(kKeys, is_upper));
    halves.upper_count += uppers;
    halves.lower_count += (left < kLanes ? left : kLanes) - uppers;
  }
  halves.upper_low = hn::GetLane(hn::MinOfLanes(kKeys, upper_low));
  halves.lower_high = hn::GetLane(hn::MaxOfLanes(kKeys, lower_high));
  return halves;
}

// Halves the range of keys until one is left: at most 33 rounds, whatever the keys are.
int32_t KthLargest(const int32_t* keys, int32_t count, int32_t k, int32_t* work, int32_t* spare) {
  KeyRange range = RangeOf(keys, count);
  // Keys that passed a threshold crowd above it, so the first cut is low.
  uint32_t share = 4;
  while (range.low < range.high) {
    const uint32_t width = static_cast<uint32_t>(range.high) - static_cast<uint32_t>(range.low);
    const auto middle = static_cast<int32_t>(static_cast<uint32_t>(range.low) + width / share);
    share = 2;
    const Halves halves = Split(keys, work, spare, count, middle);
    if (halves.upper_count >= k) {
      int32_t* const upper = spare;
      spare = work;
      work = upper;
      count = halves.upper_count;
      range.low = halves.upper_low;
    } else {
      k -= halves.upper_count;
      count = halves.lower_count;
      range.high = halves.lower_high;
    }
    keys = work;
  }
  return range.low;
}

HWY_INLINE int32_t CountAbove(const int32_t* keys, int32_t count, int32_t kth) {
  const KeyVector kths = hn::Set(kKeys, kth);
  int32_t above = 0, i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    above += static_cast<int32_t>(hn::CountTrue(kKeys, hn::Gt(hn::LoadU(kKeys, keys + i), kths)));
  }
  for (; i < count; ++i) above += keys[i] > kth ? 1 : 0;
  return above;
}

// A vector's worth of candidates, of which only some of the equal ones may stay.
HWY_INLINE int32_t KeepOneByOne(Candidates* candidates, int32_t begin, int32_t end, int32_t kth,
                                int32_t kept, int32_t* equals) {
  for (int32_t i = begin; i < end; ++i) {
    const int32_t key = candidates->keys[i];
    if (key < kth || (key == kth && (*equals)-- <= 0)) continue;
    candidates->keys[kept] = key;
    candidates->positions[kept++] = candidates->positions[i];
  }
  return kept;
}

void KeepLargest(Candidates* candidates, int32_t k, int32_t kth) {
  const KeyVector kths = hn::Set(kKeys, kth);
  const int32_t count = candidates->count;
  int32_t equals = k - CountAbove(candidates->keys, count, kth);
  int32_t kept = 0, i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const KeyVector keys = hn::LoadU(kKeys, candidates->keys + i);
    const KeyVector positions = hn::LoadU(kKeys, candidates->positions + i);
    const auto is_equal = hn::Eq(keys, kths);
    const auto here = static_cast<int32_t>(hn::CountTrue(kKeys, is_equal));
    if (here > equals && equals > 0) {
      kept = KeepOneByOne(candidates, i, i + kLanes, kth, kept, &equals);
      equals = 0;
      continue;
    }
    auto stays = hn::Gt(keys, kths);
    if (equals > 0) {
      stays = hn::Or(stays, is_equal);
      equals -= here;
    }
    hn::StoreU(Pack(keys, stays), kKeys, candidates->keys + kept);
    hn::StoreU(Pack(positions, stays), kKeys, candidates->positions + kept);
    kept += static_cast<int32_t>(hn::CountTrue(kKeys, stays));
  }
  candidates->count = KeepOneByOne(candidates, i, count, kth, kept, &equals);
}

}  // namespace
}  // namespace winnow::cpu
HWY_AFTER_NAMESPACE();

#endif  // WINNOW_KERNELS_CPU_SELECT_KEYS_INL_H_
