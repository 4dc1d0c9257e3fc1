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

// How many bits of a chunk are set.
HWY_INLINE int32_t CountMarks(const uint64_t* marks) {
  int32_t count = 0;
  for (int32_t word = 0; word < kCollectChunk / 64; ++word) {
    count += static_cast<int32_t>(__builtin_popcountll(marks[word]));
  }
  return count;
}

// Writes the positions of the set bits from `positions` on.
HWY_INLINE void ListMarks(const uint64_t* marks, int32_t begin, int32_t* positions) {
  // First which words have bits at all: a branch on each would be a guess where bits are few.
  int32_t words[kCollectChunk / 64];
  int32_t word_count = 0;
  for (int32_t word = 0; word < kCollectChunk / 64; ++word) {
    words[word_count] = word;
    word_count += marks[word] != 0 ? 1 : 0;
  }
  for (int32_t index = 0; index < word_count; ++index) {
    uint64_t mark = marks[words[index]];
    const int32_t base = begin + words[index] * 64;
    const auto marked = static_cast<int32_t>(__builtin_popcountll(mark));
    // The first four without a branch each: most words have fewer, and what is written past them is
    // overwritten next. The highest bit stands in for those of an exhausted word.
    for (int32_t i = 0; i < 4; ++i) {
      positions[i] = base + static_cast<int32_t>(__builtin_ctzll(mark | (uint64_t{1} << 63)));
      mark &= mark - 1;
    }
    for (int32_t i = 4; i < marked; ++i) {
      positions[i] = base + static_cast<int32_t>(__builtin_ctzll(mark));
      mark &= mark - 1;
    }
    positions += marked;
  }
}

#if HWY_MAX_BYTES >= 32
// From so many set bits of a chunk on, packing whole vectors beats going from bit to bit.
constexpr int32_t kDenseChunk = HWY_TARGET == HWY_AVX2 ? 96 : 48;

HWY_INLINE auto LoadMarks(const uint64_t* marks, int32_t i) {
  return hn::LoadMaskBits(kKeys, reinterpret_cast<const uint8_t*>(marks) + i / 8);
}

// Writes the positions and keys of the set bits without a branch that depends on the bits. A score
// that is marked is no NaN.
HWY_INLINE void PackMarks(Float32Scores scores, const uint64_t* marks, int32_t begin,
                          int32_t* positions, int32_t* keys) {
  const KeyVector step = hn::Set(kKeys, kLanes);
  KeyVector places = hn::Iota(kKeys, begin);
  for (int32_t i = 0; i < kCollectChunk; i += kLanes, places = hn::Add(places, step)) {
    const auto mask = LoadMarks(marks, i);
    const KeyVector bits = hn::BitCast(kKeys, scores.Load(begin + i));
    hn::StoreU(Pack(places, mask), kKeys, positions);
    hn::StoreU(Pack(MirrorNegative(bits), mask), kKeys, keys);
    const auto marked = hn::CountTrue(kKeys, mask);
    positions += marked;
    keys += marked;
  }
}

// A bfloat16 and its place in the chunk share a word, so that one packing moves both.
HWY_INLINE void PackMarks(Bfloat16Scores scores, const uint64_t* marks, int32_t begin,
                          int32_t* positions, int32_t* keys) {
  int32_t* words = keys;
  const KeyVector step = hn::Set(kKeys, kLanes);
  KeyVector places = hn::Iota(kKeys, 0);
  for (int32_t i = 0; i < kCollectChunk; i += kLanes, places = hn::Add(places, step)) {
    const auto mask = LoadMarks(marks, i);
    const KeyVector bits = hn::BitCast(kKeys, scores.Load(begin + i));
    hn::StoreU(Pack(hn::Or(bits, places), mask), kKeys, words);
    words += hn::CountTrue(kKeys, mask);
  }
  const auto count = static_cast<int32_t>(words - keys);
  const KeyVector low = hn::Set(kKeys, 0xffff), first = hn::Set(kKeys, begin);
  for (int32_t i = 0; i < count; i += kLanes) {
    const KeyVector word = hn::LoadU(kKeys, keys + i);
    hn::StoreU(hn::Add(first, hn::And(word, low)), kKeys, positions + i);
    hn::StoreU(MirrorNegative(hn::AndNot(low, word)), kKeys, keys + i);
  }
}
#endif

// Appends the marked scores of a whole chunk.
template <typename Scores>
HWY_INLINE void AppendChunk(Scores scores, const uint64_t* marks, int32_t begin,
                            Candidates* candidates) {
  const int32_t marked = CountMarks(marks);
  int32_t* const positions = candidates->positions + candidates->count;
  int32_t* const keys = candidates->keys + candidates->count;
  candidates->count += marked;
#if HWY_MAX_BYTES >= 32
  if (marked >= kDenseChunk) return PackMarks(scores, marks, begin, positions, keys);
#endif
  ListMarks(marks, begin, positions);
  for (int32_t i = 0; i < marked; ++i) keys[i] = KeyOfBits(scores.BitsAt(positions[i]));
}

// The same for the row's end, score by score.
template <typename Scores>
HWY_INLINE void AppendRest(Scores scores, int32_t begin, int32_t end, float threshold,
                           Candidates* candidates) {
  int32_t count = candidates->count;
  for (int32_t at = begin; at < end; ++at) {
    const uint32_t bits = scores.BitsAt(at);
    candidates->positions[count] = at;
    candidates->keys[count] = KeyOfBits(bits);
    count += AsFloat(bits) >= threshold ? 1 : 0;
  }
  candidates->count = count;
}

template <typename Scores>
int32_t CollectFrom(Scores scores, int32_t begin, int32_t end, float threshold,
                    Candidates* candidates) {
  const FloatVector thresholds = hn::Set(kFloats, threshold);
  uint64_t marks[kCollectChunk / 64];
  int32_t at = begin;
  while (at < end && candidates->count + kCollectChunk <= candidates->capacity) {
    if (end - at < kCollectChunk) {
      AppendRest(scores, at, end, threshold, candidates);
      return end;
    }
    MarkChunk(scores, at, thresholds, marks);
    AppendChunk(scores, marks, at, candidates);
    at += kCollectChunk;
  }
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
