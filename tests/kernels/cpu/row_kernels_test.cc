// Each vectorised loop, for each instruction set of this processor, against a plain one.

#include "kernels/cpu/row_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "kernels/cpu/row_rules.h"
#include "tests/testing/random.h"
#include "tests/testing/score_generators.h"

namespace winnow::cpu {
namespace {

using testing::Pattern;
using testing::Random;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class RowKernelsTest : public ::testing::TestWithParam<const RowKernels*> {
 protected:
  const RowKernels& kernels() { return *GetParam(); }
  Random random_{testing::SeedFromEnvironment("WINNOW_KERNELS_SEED")};
};

int32_t PlainKey(float score) {
  if (std::isnan(score)) return kNanKey;
  int32_t bits;
  std::memcpy(&bits, &score, sizeof(bits));
  return bits >= 0 ? bits : static_cast<int32_t>(0x80000000u - static_cast<uint32_t>(bits));
}

// Scores as the kernels read them, and as floats.
struct Scores {
  Scores(DType row_dtype, const std::vector<float>& values) : dtype(row_dtype), floats(values) {
    for (float& value : floats) {
      const uint16_t bits = testing::ToBfloat16(value);
      halves.push_back(bits);
      if (dtype == DType::kBfloat16) value = Bfloat16ToFloat(bits);
    }
  }
  const void* data() const {
    return dtype == DType::kBfloat16 ? static_cast<const void*>(halves.data()) : floats.data();
  }

  DType dtype;
  std::vector<float> floats;
  std::vector<uint16_t> halves;
};

TEST_P(RowKernelsTest, CollectListsWhatReachesTheThreshold) {
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    for (const Pattern pattern : testing::AllPatterns()) {
      const Scores scores(dtype, MakeScores(pattern, 5003, random_));
      const float one_of_them = std::isnan(scores.floats[77]) ? 0.5f : scores.floats[77];
      for (const float threshold :
           {-kInfinity, -1.0f, 0.0f, -0.0f, 1.0f, one_of_them, 1e30f, kInfinity}) {
        const int32_t begin = static_cast<int32_t>(random_.Below(2000));
        const int32_t end = static_cast<int32_t>(random_.Between(begin, 5003));
        std::vector<int32_t> positions(8192 + kVectorSlack), keys(8192 + kVectorSlack);
        Candidates candidates{positions.data(), keys.data(), 0, 8192};
        EXPECT_EQ(kernels().collect(dtype, scores.data(), begin, end, threshold, &candidates), end);
        int32_t next = 0;
        for (int32_t i = begin; i < end; ++i) {
          if (!(scores.floats[i] >= threshold)) continue;
          ASSERT_LT(next, candidates.count) << Name(pattern);
          ASSERT_EQ(positions[next], i) << Name(pattern);
          ASSERT_EQ(keys[next++], PlainKey(scores.floats[i])) << Name(pattern);
        }
        EXPECT_EQ(next, candidates.count) << Name(pattern);
      }
    }
  }
}

// Chunks are listed bit by bit where few scores reach the threshold, and packed where many do.
TEST_P(RowKernelsTest, CollectListsChunksOfEveryDensity) {
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    for (int32_t winners = 0; winners <= kCollectChunk; winners += winners < 130 ? 1 : 149) {
      std::vector<float> values(kCollectChunk, -2.0f);
      for (const int32_t at : testing::DistinctNumbers(winners, kCollectChunk, random_)) {
        values[at] = at % 3 == 0 ? -1.0f : static_cast<float>(at);
      }
      const Scores scores(dtype, values);
      std::vector<int32_t> positions(kCollectChunk + kVectorSlack);
      std::vector<int32_t> keys(kCollectChunk + kVectorSlack);
      Candidates candidates{positions.data(), keys.data(), 0, kCollectChunk};
      kernels().collect(dtype, scores.data(), 0, kCollectChunk, -1.0f, &candidates);
      ASSERT_EQ(candidates.count, winners);
      int32_t next = 0;
      for (int32_t i = 0; i < kCollectChunk; ++i) {
        if (scores.floats[i] < -1.0f) continue;
        ASSERT_EQ(positions[next], i) << winners;
        ASSERT_EQ(keys[next++], PlainKey(scores.floats[i])) << winners;
      }
    }
  }
}

TEST_P(RowKernelsTest, CollectStopsBeforeItsListIsFullAndGoesOn) {
  const Scores scores(DType::kFloat32, MakeScores(Pattern::kAllEqual, 10000, random_));
  std::vector<int32_t> positions(3000 + kVectorSlack), keys(3000 + kVectorSlack);
  Candidates candidates{positions.data(), keys.data(), 0, 3000};
  const int32_t stopped =
      kernels().collect(DType::kFloat32, scores.data(), 0, 10000, 0.5f, &candidates);
  EXPECT_EQ(stopped, 2048);
  EXPECT_EQ(candidates.count, 2048);
  candidates.count = 0;
  EXPECT_EQ(kernels().collect(DType::kFloat32, scores.data(), 9000, 10000, 0.5f, &candidates),
            10000);
  EXPECT_EQ(candidates.count, 1000);
  EXPECT_EQ(positions[999], 9999);
}

TEST_P(RowKernelsTest, KeysOrderAsScoresDo) {
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    for (const Pattern pattern : testing::AllPatterns()) {
      const Scores scores(dtype, MakeScores(pattern, 131, random_));
      for (const int32_t count : {0, 1, 15, 16, 17, 131}) {
        std::vector<int32_t> keys(131 + kVectorSlack, 5);
        kernels().make_keys(dtype, scores.data(), count, keys.data());
        for (int32_t i = 0; i < count; ++i) {
          ASSERT_EQ(keys[i], PlainKey(scores.floats[i])) << Name(pattern);
        }
      }
    }
  }
}

TEST_P(RowKernelsTest, TheKthLargestIsThatOfASort) {
  for (const Pattern pattern : testing::AllPatterns()) {
    for (const int32_t count : {1, 2, 15, 16, 17, 100, 1023, 6000}) {
      std::vector<int32_t> sorted;
      for (const float score : MakeScores(pattern, count, random_)) {
        sorted.push_back(PlainKey(score));
      }
      const std::vector<int32_t> unsorted = sorted;
      std::sort(sorted.begin(), sorted.end(), std::greater<>());
      for (const int32_t k : {1, 2, count / 3 + 1, count / 2 + 1, count}) {
        if (k > count) continue;
        std::vector<int32_t> keys = unsorted;
        keys.resize(count + kVectorSlack, INT32_MAX);  // what lies behind must not matter
        const std::vector<int32_t> before = keys;
        std::vector<int32_t> work(count + kVectorSlack), spare(count + kVectorSlack);
        EXPECT_EQ(kernels().kth_largest(keys.data(), count, k, work.data(), spare.data()),
                  sorted[k - 1])
            << Name(pattern) << " count " << count << " k " << k;
        EXPECT_EQ(keys, before);
        EXPECT_EQ(kernels().kth_largest(keys.data(), count, k, keys.data(), spare.data()),
                  sorted[k - 1])
            << "in place, " << Name(pattern) << " count " << count << " k " << k;
      }
    }
  }
}

TEST_P(RowKernelsTest, KeepLargestKeepsTheFirstOfEqualOnes) {
  for (const Pattern pattern : testing::AllPatterns()) {
    for (const int32_t count : {2, 16, 17, 100, 1023, 6000}) {
      std::vector<int32_t> keys, positions;
      for (const float score : MakeScores(pattern, count, random_)) {
        keys.push_back(PlainKey(score));
        positions.push_back(static_cast<int32_t>(positions.size()) * 3);
      }
      std::vector<int32_t> order(count);
      for (int32_t i = 0; i < count; ++i) order[i] = i;
      std::stable_sort(order.begin(), order.end(),
                       [&](int32_t a, int32_t b) { return keys[a] > keys[b]; });
      const int32_t k = static_cast<int32_t>(random_.Between(1, count));
      const int32_t kth = keys[order[k - 1]];
      std::vector<int32_t> expected(order.begin(), order.begin() + k);
      std::sort(expected.begin(), expected.end());
      std::vector<int32_t> kept_keys = keys, kept_positions = positions;
      kept_keys.resize(count + kVectorSlack);
      kept_positions.resize(count + kVectorSlack);
      Candidates candidates{kept_positions.data(), kept_keys.data(), count, count};
      kernels().keep_largest(&candidates, k, kth);
      ASSERT_EQ(candidates.count, k) << Name(pattern);
      for (int32_t i = 0; i < k; ++i) {
        ASSERT_EQ(kept_positions[i], positions[expected[i]]) << Name(pattern) << " count " << count;
        ASSERT_EQ(kept_keys[i], keys[expected[i]]);
      }
    }
  }
}

// A score of each of the 65,536 bit patterns, in random order.
std::vector<uint16_t> EveryHalf(Random& random) {
  const auto order = testing::DistinctNumbers(65536, 65536, random);
  return {order.begin(), order.end()};
}

int32_t PlainHalfKey(uint16_t bits) { return PlainKey(Bfloat16ToFloat(bits)) >> 16; }

bool IsMinusInfinityOrMore(int32_t half_key) { return half_key >= kMinusInfinityHalfKey; }

TEST_P(RowKernelsTest, AHalfThresholdIsTheKeyOfItsRank) {
  if (kernels().half_threshold == nullptr) GTEST_SKIP() << "no lanes of 16 bits";
  const auto every = EveryHalf(random_);
  for (const int32_t count : {64, 1024, 4096}) {
    for (int round = 0; round < 16; ++round) {
      std::vector<uint16_t> sample(every.begin() + round * 4096,
                                   every.begin() + round * 4096 + count);
      std::vector<int32_t> sorted;
      for (const uint16_t bits : sample) sorted.push_back(PlainHalfKey(bits));
      std::sort(sorted.begin(), sorted.end(), std::greater<>());
      const auto rank = static_cast<int32_t>(random_.Between(1, count));
      sample.resize(count + kVectorSlack);
      const int32_t key = kernels().half_threshold(sample.data(), count, rank);
      ASSERT_EQ(IsMinusInfinityOrMore(key), IsMinusInfinityOrMore(sorted[rank - 1]));
      if (IsMinusInfinityOrMore(key)) {
        ASSERT_EQ(key, sorted[rank - 1]);
      }
    }
  }
}

class SelectHalvesTest : public RowKernelsTest {
 protected:
  void SetUp() override {
    if (kernels().select_halves == nullptr) GTEST_SKIP() << "no lanes of 16 bits";
  }

  bool Select(const std::vector<uint16_t>& scores, int32_t k, int32_t low, int32_t capacity) {
    // Behind what may be used lies nothing: an address sanitizer sees every read past it.
    half_positions_ = std::vector<uint16_t>(capacity + kVectorSlack);
    half_keys_ = std::vector<int16_t>(capacity + kVectorSlack);
    positions_ = std::vector<int32_t>(k + kVectorSlack);
    keys_ = std::vector<int32_t>(k + kVectorSlack);
    HalfCandidates scratch{half_positions_.data(), half_keys_.data(), 0, capacity};
    Candidates selected{positions_.data(), keys_.data(), 0, k};
    const bool is_selected = kernels().select_halves(
        scores.data(), static_cast<int32_t>(scores.size()), k, low, &scratch, &selected);
    EXPECT_EQ(selected.count, is_selected ? k : 0);
    return is_selected;
  }

  void ExpectLargest(const std::vector<uint16_t>& scores, int32_t k) {
    std::vector<int32_t> order(scores.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return PlainHalfKey(scores[a]) > PlainHalfKey(scores[b]);
    });
    std::sort(order.begin(), order.begin() + k);
    for (int32_t i = 0; i < k; ++i) {
      ASSERT_EQ(positions_[i], order[i]) << "k " << k << " of " << scores.size();
      ASSERT_EQ(keys_[i], PlainHalfKey(scores[order[i]]) * 65536);
    }
  }

  std::vector<uint16_t> half_positions_;
  std::vector<int16_t> half_keys_;
  std::vector<int32_t> positions_, keys_;
};

TEST_P(SelectHalvesTest, TheLargestOfEveryPatternAreSelected) {
  for (const Pattern pattern : testing::AllPatterns()) {
    for (const int32_t length : {1, 31, 32, 33, 1023, 1024, 1025, 5003}) {
      const auto scores = Scores(DType::kBfloat16, MakeScores(pattern, length, random_)).halves;
      std::vector<int32_t> sorted;
      for (const uint16_t bits : scores) sorted.push_back(PlainHalfKey(bits));
      std::sort(sorted.begin(), sorted.end(), std::greater<>());
      for (const int32_t k : {1, length / 3 + 1, length}) {
        if (!IsMinusInfinityOrMore(sorted[k - 1])) continue;
        for (const int32_t low : {sorted[k - 1], kMinusInfinityHalfKey}) {
          SCOPED_TRACE(Name(pattern));
          ASSERT_TRUE(Select(scores, k, low, length));
          ExpectLargest(scores, k);
        }
      }
    }
  }
}

TEST_P(SelectHalvesTest, TheLongestRowOfEveryBitPatternIsSelectedFrom) {
  const auto scores = EveryHalf(random_);
  for (const int32_t low : {kMinusInfinityHalfKey, -1, 0, 1, 0x3f80}) {
    ASSERT_TRUE(Select(scores, 2048, low, kMaxHalfPositions));
    ExpectLargest(scores, 2048);
  }
}

TEST_P(SelectHalvesTest, TooFewScoresOrTooManySelectNone) {
  const std::vector<uint16_t> ones(3000, 0x3f80);
  EXPECT_FALSE(Select(ones, 1, 0x3f81, 3000)) << "none reaches it";
  EXPECT_TRUE(Select(ones, 1, 0x3f80, 3000));
  EXPECT_FALSE(Select(ones, 1, 0x3f80, 2999)) << "one does not fit";
  const std::vector<uint16_t> nans(3000, 0x7fff);
  EXPECT_FALSE(Select(nans, 1, kMinusInfinityHalfKey, 3000));
}

INSTANTIATE_TEST_SUITE_P(Usable, SelectHalvesTest, ::testing::ValuesIn(UsableRowKernels()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST_P(RowKernelsTest, BlockMaximaIgnoreNan) {
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    for (const Pattern pattern : testing::AllPatterns()) {
      for (int32_t shift = 1; shift <= 7; ++shift) {
        const int32_t blocks = 37;
        const Scores scores(dtype, MakeScores(pattern, int64_t{blocks} << shift, random_));
        std::vector<float> maxima(blocks + kVectorSlack, 5.0f);
        kernels().block_max(dtype, scores.data(), blocks, shift, maxima.data());
        for (int32_t block = 0; block < blocks; ++block) {
          int32_t best = kNanKey;
          for (int32_t i = block << shift; i < (block + 1) << shift; ++i) {
            best = std::max(best, PlainKey(scores.floats[i]));
          }
          ASSERT_EQ(PlainKey(maxima[block]), best) << Name(pattern) << " shift " << shift;
        }
        EXPECT_EQ(maxima[blocks], 5.0f) << "written past the blocks";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Usable, RowKernelsTest, ::testing::ValuesIn(UsableRowKernels()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST(UsableRowKernelsTest, TheBestIsTheFirstAndTheBaselineIsTheLast) {
  const auto usable = UsableRowKernels();
  ASSERT_FALSE(usable.empty());
  EXPECT_EQ(&BestRowKernels(), usable.front());
  EXPECT_EQ(&BaselineRowKernels(), usable.back());
}

}  // namespace
}  // namespace winnow::cpu
