#include "kernels/cpu/score_order.h"

#include <algorithm>
#include <array>
#include <utility>

#include "winnow/kernels/limits.h"

namespace winnow::cpu {
namespace {

constexpr int32_t kDigitBits = 11;
constexpr int32_t kDigits = 1 << kDigitBits;
constexpr uint32_t kDigitMask = kDigits - 1;

// Up to here comparing costs less than counting digits: 64 keys take about as long as one pass over
// the counts.
constexpr int32_t kMaxCompared = 64;

struct Entry {
  uint32_t rank;  // 0 is the largest key
  int32_t position;
};

// Stable; by the digit `shift` bits up.
void SortByDigit(const Entry* from, Entry* to, int32_t count, int32_t shift) {
  std::array<int32_t, kDigits> starts{};
  for (int32_t i = 0; i < count; ++i) ++starts[(from[i].rank >> shift) & kDigitMask];
  int32_t sum = 0;
  for (int32_t& start : starts) sum += std::exchange(start, sum);
  for (int32_t i = 0; i < count; ++i) to[starts[(from[i].rank >> shift) & kDigitMask]++] = from[i];
}

// Flipping the sign makes keys ascend as unsigned numbers, inverting makes them descend.
uint32_t RankOf(int32_t key) { return ~(static_cast<uint32_t>(key) ^ 0x80000000u); }
int32_t KeyOf(uint32_t rank) { return static_cast<int32_t>(~rank ^ 0x80000000u); }

// Equal keys keep their order because what comes first has the smaller position.
void SortFew(int32_t* keys, int32_t* positions, int32_t count) {
  std::array<uint64_t, kMaxCompared> ranked;
  for (int32_t i = 0; i < count; ++i) {
    ranked[i] = uint64_t{RankOf(keys[i])} << 32 | static_cast<uint32_t>(positions[i]);
  }
  std::sort(ranked.begin(), ranked.begin() + count);
  for (int32_t i = 0; i < count; ++i) {
    keys[i] = KeyOf(static_cast<uint32_t>(ranked[i] >> 32));
    positions[i] = static_cast<int32_t>(ranked[i]);
  }
}

}  // namespace

void SortByKey(int32_t* keys, int32_t* positions, int32_t count) {
  if (count <= kMaxCompared) return SortFew(keys, positions, count);
  std::array<Entry, kMaxK> entries, other;
  for (int32_t i = 0; i < count; ++i) entries[i] = {RankOf(keys[i]), positions[i]};
  SortByDigit(entries.data(), other.data(), count, 0);
  SortByDigit(other.data(), entries.data(), count, kDigitBits);
  SortByDigit(entries.data(), other.data(), count, 2 * kDigitBits);
  for (int32_t i = 0; i < count; ++i) {
    keys[i] = KeyOf(other[i].rank);
    positions[i] = other[i].position;
  }
}

}  // namespace winnow::cpu
