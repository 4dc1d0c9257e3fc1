// Lists the scores that reach a threshold: bits for a chunk of scores, then positions for the bits.
// Part of row_kernels-inl.h.

#ifndef WINNOW_KERNELS_CPU_COLLECT_INL_H_
#define WINNOW_KERNELS_CPU_COLLECT_INL_H_

#include "kernels/cpu/vector_keys-inl.h"

HWY_BEFORE_NAMESPACE();
namespace winnow::cpu {
namespace {

// How far ahead scores are asked for: the lists between the chunks make the processor's own
// prefetching lose its place. Addresses past the row's end are harmless.
constexpr int64_t kPrefetchBytes = 2048;

// One bit for each of kCollectChunk scores at `begin`: whether it reaches the threshold. Lane 0 is
// the lowest bit.
template <typename Scores>
HWY_INLINE void MarkChunk(Scores scores, int32_t begin, FloatVector threshold, uint64_t* marks) {
#if HWY_MAX_BYTES >= 32
  auto* bytes = reinterpret_cast<uint8_t*>(marks);
  const int32_t vector_bytes = kLanes / 8;
  for (int32_t i = 0; i < kCollectChunk; i += 4 * kLanes) {
    for (int64_t bytes_ahead = 0; bytes_ahead < 4 * kLanes * Scores::kBytes; bytes_ahead += 64) {
      __builtin_prefetch(reinterpret_cast<const char*>(scores.base + begin + i) + kPrefetchBytes +
                         bytes_ahead);
    }
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

#if HWY_MAX_BYTES >= 32
// The same for bfloat16 in its own width: a score is at least the threshold if its key, the upper
// half of the float's, lies between the threshold's, rounded up, and that of infinity.
HWY_INLINE void MarkChunk(Bfloat16Scores scores, int32_t begin, FloatVector threshold,
                          uint64_t* marks) {
  const hn::ScalableTag<int16_t> shorts;
  const hn::ScalableTag<uint16_t> unsigned_shorts;
  constexpr auto kShortLanes = static_cast<int32_t>(hn::MaxLanes(shorts));
  const int32_t key = hn::GetLane(KeysOf(threshold));
  const auto low = static_cast<int16_t>((int64_t{key} + 0xffff) >> 16);
  const auto lows = hn::Set(shorts, low);
  const auto past = hn::Set(unsigned_shorts, static_cast<uint16_t>(0x7f80 - low + 1));
  const auto mirror = hn::Set(shorts, INT16_MIN);
  auto* bytes = reinterpret_cast<uint8_t*>(marks);
  for (int32_t i = 0; i < kCollectChunk; i += kShortLanes) {
    __builtin_prefetch(scores.base + begin + i + kPrefetchBytes / 2);
    const auto bits = hn::BitCast(shorts, hn::LoadU(unsigned_shorts, scores.base + begin + i));
    const auto keys = hn::IfThenElse(hn::Lt(bits, hn::Zero(shorts)), hn::Sub(mirror, bits), bits);
    const auto above = hn::BitCast(unsigned_shorts, hn::Sub(keys, lows));
    bytes += hn::StoreMaskBits(unsigned_shorts, hn::Lt(above, past), bytes);
  }
}
#endif

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

}  // namespace
}  // namespace winnow::cpu
HWY_AFTER_NAMESPACE();

#endif  // WINNOW_KERNELS_CPU_COLLECT_INL_H_
