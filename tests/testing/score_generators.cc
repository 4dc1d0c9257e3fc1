#include "tests/testing/score_generators.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_set>

namespace winnow::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float FromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// A NaN of either sign with any payload.
float SomeNan(Random& random) {
  const auto payload = static_cast<uint32_t>(random.Next());
  return FromBits(0x7f800000u | (payload & 0x807fffffu) | 1u);
}

// Half-way between two neighbours in half precision: bit 12 of the mantissa set, those below clear.
float HalfMidpoint(Random& random) {
  const auto mantissa = static_cast<uint32_t>(random.Below(1024));
  const auto exponent = static_cast<uint32_t>(random.Between(125, 129));
  return FromBits(((random.Next() & 1) ? 0x80000000u : 0u) | (exponent << 23) | (mantissa << 13) |
                  0x1000u);
}

float BeyondHalf(Random& random) {
  const float sign = random.OneIn(2) ? 1.0f : -1.0f;
  if (random.OneIn(2)) return sign * (65504.0f + static_cast<float>(random.Uniform()) * 1e30f);
  return sign * static_cast<float>(random.Uniform()) * 6e-8f;
}

float PatternScore(Pattern pattern, int64_t i, int64_t length, int64_t parameter, Random& random) {
  switch (pattern) {
    case Pattern::kNormal:
      return random.Normal();
    case Pattern::kAllEqual:
      return 0.71875f;
    case Pattern::kAllNegativeInfinity:
    case Pattern::kFewFinite:
      return -kInfinity;
    case Pattern::kAllPositiveInfinity:
      return kInfinity;
    case Pattern::kManyInfinite:
    case Pattern::kBestFirst:
    case Pattern::kBestLast:
      return random.Normal();
    case Pattern::kNanFew:
      return random.OneIn(16) ? SomeNan(random) : random.Normal();
    case Pattern::kNanMany:
      return random.OneIn(8) ? random.Normal() : SomeNan(random);
    case Pattern::kNanOnly:
      return SomeNan(random);
    case Pattern::kHalfMidpoints:
      return HalfMidpoint(random);
    case Pattern::kRelu:
      return std::max(random.Normal(), 0.0f);
    case Pattern::kNarrow:
      return 1.0f + 0.01f * static_cast<float>(random.Uniform());
    case Pattern::kRampUp:
      return static_cast<float>(i);
    case Pattern::kRampDown:
      return static_cast<float>(length - i);
    case Pattern::kPeriodic:
      return (i % parameter == 0 ? 100.0f : 0.0f) + static_cast<float>(i % 7);
    case Pattern::kDenormal:
      return FromBits(static_cast<uint32_t>(random.Below(1 << 20)) |
                      (random.OneIn(2) ? 0x80000000u : 0u));
    case Pattern::kBeyondHalf:
      return BeyondHalf(random);
    case Pattern::kOneHalfBin:
      return FromBits(0x3f800000u + static_cast<uint32_t>(random.Below(0xfff)));
    case Pattern::kSignedZeros:
      return random.OneIn(64) ? 1.0f : (random.OneIn(2) ? 0.0f : -0.0f);
    case Pattern::kFewWinners:
      return 0.0f;
    case Pattern::kSparseSpikes:
      return random.OneIn(97) ? 1e30f * static_cast<float>(random.Uniform())
                              : std::numeric_limits<float>::lowest();
    case Pattern::kHeavyTail:
      return std::exp(2.0f * random.Normal());
    case Pattern::kTwoValues:
      return random.OneIn(2) ? 1.0f : 1.0000001f;
  }
  return 0;
}

// Changes that look at the whole row.
void Finish(Pattern pattern, std::vector<float>& scores, Random& random) {
  const auto length = static_cast<int64_t>(scores.size());
  const auto set_some = [&](int64_t count, auto value) {
    for (const int32_t i : DistinctNumbers(std::min(count, length), length, random)) {
      scores[i] = value();
    }
  };
  if (pattern == Pattern::kFewFinite) set_some(3, [&] { return random.Normal(); });
  if (pattern == Pattern::kManyInfinite) set_some(2048, [] { return kInfinity; });
  if (pattern == Pattern::kFewWinners)
    set_some(100, [&] { return 1.0f + std::fabs(random.Normal()); });
  const int64_t part = std::min<int64_t>(length, 3000);
  for (int64_t i = 0; i < part; ++i) {
    if (pattern == Pattern::kBestFirst) scores[i] += 20.0f;
    if (pattern == Pattern::kBestLast) scores[length - 1 - i] += 20.0f;
  }
}

}  // namespace

const char* Name(Pattern pattern) {
  static constexpr const char* kNames[kPatternCount] = {
      "normal",        "all equal",   "all -inf",     "all +inf",     "few finite",
      "many +inf",     "nan few",     "nan many",     "nan only",     "half midpoints",
      "relu",          "narrow",      "ramp up",      "ramp down",    "periodic",
      "denormal",      "beyond half", "one half bin", "signed zeros", "few winners",
      "sparse spikes", "heavy tail",  "best first",   "best last",    "two values"};
  return kNames[static_cast<int>(pattern)];
}

std::vector<Pattern> AllPatterns() {
  std::vector<Pattern> patterns;
  for (int i = 0; i < kPatternCount; ++i) patterns.push_back(static_cast<Pattern>(i));
  return patterns;
}

std::vector<float> MakeScores(Pattern pattern, int64_t length, Random& random) {
  static constexpr int64_t kStrides[] = {2, 3, 4, 8, 16, 31, 32, 64, 128, 256, 1000, 1024};
  const int64_t parameter = kStrides[random.Below(12)];
  std::vector<float> scores(length);
  for (int64_t i = 0; i < length; ++i) {
    scores[i] = PatternScore(pattern, i, length, parameter, random);
  }
  Finish(pattern, scores, random);
  return scores;
}

uint16_t ToBfloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  // A NaN must not round to infinity.
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

std::vector<int32_t> DistinctNumbers(int64_t count, int64_t limit, Random& random) {
  std::vector<int32_t> numbers;
  numbers.reserve(count);
  if (count * 4 >= limit) {
    for (int64_t i = 0; i < limit; ++i) numbers.push_back(static_cast<int32_t>(i));
    for (int64_t i = 0; i < count; ++i) {
      std::swap(numbers[i], numbers[random.Between(i, limit - 1)]);
    }
    numbers.resize(count);
    return numbers;
  }
  std::unordered_set<int32_t> seen;
  while (static_cast<int64_t>(numbers.size()) < count) {
    const auto number = static_cast<int32_t>(random.Below(limit));
    if (seen.insert(number).second) numbers.push_back(number);
  }
  return numbers;
}

}  // namespace winnow::testing
