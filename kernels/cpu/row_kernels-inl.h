// Body of row_kernels_*.cc, compiled once per instruction set. No include guard, and everything in
// an unnamed namespace: an inline function shared with other files could be compiled here with
// instructions that the processor lacks and be picked by the linker for all of them. For the same
// reason nothing here calls the standard library.

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

// ---- Collect

// One bit for each of kCollectChunk scores at `begin`: whether it reaches the threshold. Lane 0 is
// the lowest bit.
template <typename Scores>
HWY_INLINE void MarkChunk(Scores scores, int32_t begin, FloatVector threshold, uint64_t* marks) {
#if HWY_MAX_BYTES >= 32
  auto* bytes = reinterpret_cast<uint8_t*>(marks);
  const int32_t vector_bytes = kLanes / 8;
  for (int32_t i = 0; i < kCollectChunk; i += 4 * kLanes) {
    const auto mark0 = hn::Ge(scores.Load(begin + i), threshold);
    const auto mark1 = hn::Ge(scores.Load(begin + i + kLanes), threshold);
    const auto mark2 = hn::Ge(scores.Load(begin + i + 2 * kLanes), threshold);
    const auto mark3 = hn::Ge(scores.Load(begin + i + 3 * kLanes), threshold);
    hn::StoreMaskBits(kFloats, mark0, bytes);
    hn::StoreMaskBits(kFloats, mark1, bytes + vector_bytes);
    hn::StoreMaskBits(kFloats, mark2, bytes + 2 * vector_bytes);
    hn::StoreMaskBits(kFloats, mark3, bytes + 3 * vector_bytes);
    bytes += 4 * vector_bytes;
  }
#else
  // Fewer than eight lanes do not fill a byte.
  for (int32_t word = 0; word < kCollectChunk / 64; ++word) {
    uint64_t mark = 0;
    for (int32_t i = 0; i < 64; i += kLanes) {
      uint8_t lanes[8] = {};
      hn::StoreMaskBits(kFloats, hn::Ge(scores.Load(begin + word * 64 + i), threshold), lanes);
      mark |= static_cast<uint64_t>(lanes[0]) << i;
    }
    marks[word] = mark;
  }
#endif
}

// Writes the positions of the set bits from `positions` on, and returns how many there are.
HWY_INLINE int32_t ListMarks(const uint64_t* marks, int32_t begin, int32_t* positions) {
  int32_t count = 0;
  for (int32_t word = 0; word < kCollectChunk / 64; ++word) {
    uint64_t mark = marks[word];
    if (mark == 0) continue;
    const int32_t base = begin + word * 64;
    const auto marked = static_cast<int32_t>(__builtin_popcountll(mark));
    int32_t* out = positions + count;
    // The first four without a branch each: most words have fewer, and what is written past them is
    // overwritten next. The highest bit stands in for those of an exhausted word.
    for (int32_t i = 0; i < 4; ++i) {
      out[i] = base + static_cast<int32_t>(__builtin_ctzll(mark | (uint64_t{1} << 63)));
      mark &= mark - 1;
    }
    for (int32_t i = 4; i < marked; ++i) {
      out[i] = base + static_cast<int32_t>(__builtin_ctzll(mark));
      mark &= mark - 1;
    }
    count += marked;
  }
  return count;
}

template <typename Scores>
int32_t CollectFrom(Scores scores, int32_t begin, int32_t end, float threshold,
                    Candidates* candidates) {
  const FloatVector thresholds = hn::Set(kFloats, threshold);
  uint64_t marks[kCollectChunk / 64];
  int32_t count = candidates->count;
  int32_t at = begin;
  while (at < end && count + kCollectChunk <= candidates->capacity) {
    const int32_t first = count;
    if (end - at >= kCollectChunk) {
      MarkChunk(scores, at, thresholds, marks);
      count += ListMarks(marks, at, candidates->positions + count);
      at += kCollectChunk;
    } else {
      for (; at < end; ++at) {
        candidates->positions[count] = at;
        count += AsFloat(scores.BitsAt(at)) >= threshold ? 1 : 0;
      }
    }
    for (int32_t i = first; i < count; ++i) {
      candidates->keys[i] = KeyOfBits(scores.BitsAt(candidates->positions[i]));
    }
  }
  candidates->count = count;
  return at;
}

int32_t Collect(DType dtype, const void* scores, int32_t begin, int32_t end, float threshold,
                Candidates* candidates) {
  if (dtype == DType::kBfloat16) {
    const Bfloat16Scores halves{static_cast<const uint16_t*>(scores)};
    return CollectFrom(halves, begin, end, threshold, candidates);
  }
  const Float32Scores floats{static_cast<const float*>(scores)};
  return CollectFrom(floats, begin, end, threshold, candidates);
}

// ---- Keys

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

// ---- Selection among keys

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

// Moves the keys above `middle` to `upper` and leaves the others in `keys`.
HWY_INLINE Halves Split(int32_t* keys, int32_t* upper, int32_t count, int32_t middle) {
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
    hn::StoreU(hn::Compress(part, is_upper), kKeys, upper + halves.upper_count);
    hn::StoreU(hn::Compress(part, is_lower), kKeys, keys + halves.lower_count);
    const auto uppers = static_cast<int32_t>(hn::CountTrue(kKeys, is_upper));
    halves.upper_count += uppers;
    halves.lower_count += (left < kLanes ? left : kLanes) - uppers;
  }
  halves.upper_low = hn::GetLane(hn::MinOfLanes(kKeys, upper_low));
  halves.lower_high = hn::GetLane(hn::MaxOfLanes(kKeys, lower_high));
  return halves;
}

// Halves the range of keys until one is left: at most 32 rounds, whatever the keys are.
int32_t KthLargest(int32_t* keys, int32_t* spare, int32_t count, int32_t k) {
  KeyRange range = RangeOf(keys, count);
  while (range.low < range.high) {
    const uint32_t width = static_cast<uint32_t>(range.high) - static_cast<uint32_t>(range.low);
    const auto middle = static_cast<int32_t>(static_cast<uint32_t>(range.low) + width / 2);
    const Halves halves = Split(keys, spare, count, middle);
    if (halves.upper_count >= k) {
      int32_t* const swapped = keys;
      keys = spare;
      spare = swapped;
      count = halves.upper_count;
      range.low = halves.upper_low;
    } else {
      k -= halves.upper_count;
      count = halves.lower_count;
      range.high = halves.lower_high;
    }
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
    hn::StoreU(hn::Compress(keys, stays), kKeys, candidates->keys + kept);
    hn::StoreU(hn::Compress(positions, stays), kKeys, candidates->positions + kept);
    kept += static_cast<int32_t>(hn::CountTrue(kKeys, stays));
  }
  candidates->count = KeepOneByOne(candidates, i, count, kth, kept, &equals);
}

// ---- Block maxima

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
