#include "kernels/cpu/score_order.h"

#include <array>
#include <utility>

#include "winnow/kernels/limits.h"

namespace winnow::cpu {
namespace {

constexpr int32_t kDigitBits = 11;
constexpr int32_t kDigits = 1 << kDigitBits;
constexpr uint32_t kDigitMask = kDigits - 1;

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

}  // namespace

void SortByKey(int32_t* keys, int32_t* positions, int32_t count) {
  std::array<Entry, kMaxK> entries{}, other{};
  for (int32_t i = 0; i < count; ++i) {
    // Flipping the sign makes keys ascend as unsigned numbers, inverting makes them descend.
    entries[i] = {~(static_cast<uint32_t>(keys[i]) ^ 0x80000000u), positions[i]};
  }
  SortByDigit(entries.data(), other.data(), count, 0);
  SortByDigit(other.data(), entries.data(), count, kDigitBits);
  SortByDigit(entries.data(), other.data(), count, 2 * kDigitBits);
  for (int32_t i = 0; i < count; ++i) {
    keys[i] = static_cast<int32_t>(~other[i].rank ^ 0x80000000u);
    positions[i] = other[i].position;
  }
}

}  // namespace winnow::cpu
