#include "kernels/cpu/select_row.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/cpu/row_rules.h"
#include "kernels/cpu/score_order.h"

namespace winnow::cpu {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
constexpr int32_t kInfinityKey = 0x7f800000;

// Rows up to this length are selected by their keys alone: a sample would cost as much.
constexpr int32_t kShortLength = 4096;

// Scores of a sample that lie side by side: they share a cache line, which is what a sample costs.
constexpr int32_t kSampleGroup = 4;

// Of a row up to this size the sample touches so many cache lines that asking for all of them in
// order costs less than waiting for those here and there.
constexpr int64_t kPrefetchedBytes = 131072;
constexpr int64_t kCacheLine = 64;

// How far the sample's rank is above the mean, in deviations of it: one row in about 1,500 at worst
// needs a second pass.
constexpr double kRankDeviations = 4.5;

// Close to the sample's end a rank says little.
constexpr double kMaxRankShare = 0.9;

// A piece of a shared row: large enough to pay for handing it over.
constexpr int32_t kMinPiece = 32768;

int32_t SampleSize(int32_t length) {
  if (length < 32768) return 1024;
  return length < 524288 ? 2048 : 4096;
}

float ScoreOfKey(int32_t key) {
  const auto unsigned_key = static_cast<uint32_t>(key);
  const uint32_t bits = key < 0 ? 0x80000000u - unsigned_key : unsigned_key;
  float score;
  std::memcpy(&score, &bits, sizeof(score));
  return score;
}

uint64_t Hash(uint32_t value) {
  value = (value ^ (value >> 16)) * 0x7feb352du;
  value = (value ^ (value >> 15)) * 0x846ca68bu;
  return value ^ (value >> 16);
}

void Prefetch(const ScoreRow& row) {
  const auto* scores = static_cast<const char*>(row.scores);
  const int64_t bytes = int64_t{row.length} * SizeOf(row.dtype);
  for (int64_t at = 0; at < bytes; at += kCacheLine) __builtin_prefetch(scores + at);
}

// Copies one group of kBytes from somewhere in each of equal parts of the row, so that no period
// escapes and no part is missed.
template <int kBytes>
void CopyGroups(const ScoreRow& row, int32_t sample_size, char* to) {
  constexpr int64_t kScoreBytes = kBytes / kSampleGroup;
  const auto* scores = static_cast<const char*>(row.scores);
  const auto groups = static_cast<uint32_t>(sample_size / kSampleGroup);
  // Fixed point with 16 binary places: positions stay below 2^21, so sums below 2^48.
  const uint64_t part = (static_cast<uint64_t>(row.length) << 16) / groups;
  const uint64_t room = part - (uint64_t{kSampleGroup} << 16);
  for (uint32_t group = 0; group < groups; ++group) {
    const uint64_t within = (Hash(group) * (room >> 16)) >> 32;
    const uint64_t position = (group * part >> 16) + within;
    std::memcpy(to + group * kBytes, scores + position * kScoreBytes, kBytes);
  }
}

// The rank among the sample that a little more than k scores of the row should reach.
double RankOfThreshold(int32_t length, int32_t k, int32_t sample_size) {
  const double mean = static_cast<double>(k) * sample_size / length;
  return std::ceil(mean + kRankDeviations * std::sqrt(mean) + 1);
}

}  // namespace

RowSelector::RowSelector(const RowKernels& kernels) : kernels_(kernels) {}

RowSelector& RowSelector::OfThisThread(const RowKernels& kernels) {
  thread_local std::unique_ptr<RowSelector> selector;
  if (selector == nullptr || &selector->kernels_ != &kernels) {
    selector = std::make_unique<RowSelector>(kernels);
  }
  return *selector;
}

Selection RowSelector::Select(const ScoreRow& row, int32_t k) {
  if (row.length <= kShortLength) return SelectShort(row, k);
  if (SelectHalves(row, k)) return {list_.positions, static_cast<size_t>(k)};
  Sample(row);
  for (int32_t attempt = 0;; ++attempt) {
    const Threshold threshold = ChooseThreshold(row.length, k, attempt);
    Candidates candidates = list_.Empty(threshold.capacity);
    Collect(row, 0, row.length, k, threshold.score, &candidates);
    if (candidates.count >= k || threshold.score == kMinusInfinity) {
      return Finish(row, k, candidates);
    }
  }
}

Selection RowSelector::SelectShort(const ScoreRow& row, int32_t k) {
  kernels_.make_keys(row.dtype, row.scores, row.length, work_);
  const int32_t kth = kernels_.kth_largest(work_, row.length, k, work_, spare_);
  Candidates candidates = list_.Empty(k + 2 * kCollectChunk);
  Collect(row, 0, row.length, k, kth == kNanKey ? kMinusInfinity : ScoreOfKey(kth), &candidates);
  return Finish(row, k, candidates);
}

// False where it does not apply, the sample misled it, or ties do not fit the list.
bool RowSelector::SelectHalves(const ScoreRow& row, int32_t k) {
  if (kernels_.select_halves == nullptr || row.dtype != DType::kBfloat16) return false;
  if (row.length > kMaxHalfPositions) return false;
  Prefetch(row);
  const int32_t sample_size = SampleSize(row.length);
  const double rank = RankOfThreshold(row.length, k, sample_size);
  if (rank > kMaxRankShare * sample_size) return false;
  CopyGroups<kSampleGroup * 2>(row, sample_size, reinterpret_cast<char*>(half_positions_));
  const int32_t low =
      kernels_.half_threshold(half_positions_, sample_size, static_cast<int32_t>(rank));
  if (low < kMinusInfinityHalfKey) return false;
  HalfCandidates scratch = {half_positions_, half_keys_, 0, kHalfCapacity};
  Candidates selected = list_.Empty();
  selected_ = k;
  return kernels_.select_halves(static_cast<const uint16_t*>(row.scores), row.length, k, low,
                                &scratch, &selected);
}

Selection RowSelector::SelectShared(const ScoreRow& row, int32_t k, WorkerPool& pool) {
  const int32_t piece_count = std::min(std::max(row.length / kMinPiece, 1), 4 * pool.threads());
  if (piece_count == 1 || row.length <= kShortLength) return Select(row, k);
  if (piece_capacity_ < piece_count) {
    pieces_ = std::make_unique<List[]>(piece_count);
    piece_capacity_ = piece_count;
  }
  std::vector<int32_t> counts(piece_count);
  Sample(row);
  for (int32_t attempt = 0;; ++attempt) {
    const Threshold threshold = ChooseThreshold(row.length, k, attempt);
    pool.Run(piece_count, [&](int64_t piece) {
      const auto begin = static_cast<int32_t>(piece * row.length / piece_count);
      const auto end = static_cast<int32_t>((piece + 1) * row.length / piece_count);
      Candidates candidates = pieces_[piece].Empty(threshold.capacity);
      OfThisThread(kernels_).Collect(row, begin, end, k, threshold.score, &candidates);
      counts[piece] = candidates.count;
    });
    Candidates candidates = list_.Empty();
    AppendPieces(pieces_.get(), counts.data(), piece_count, k, &candidates);
    if (candidates.count >= k || threshold.score == kMinusInfinity) {
      return Finish(row, k, candidates);
    }
  }
}

void RowSelector::AppendPieces(List* pieces, const int32_t* counts, int32_t piece_count, int32_t k,
                               Candidates* candidates) {
  for (int32_t piece = 0; piece < piece_count; ++piece) {
    Candidates part = pieces[piece].Empty();
    part.count = counts[piece];
    int32_t kth = 0;
    if (candidates->count + part.count > kCapacity) {
      if (part.count > k) Shrink(k, &part, &kth);
      if (candidates->count > k) Shrink(k, candidates, &kth);
    }
    std::copy_n(part.positions, part.count, candidates->positions + candidates->count);
    std::copy_n(part.keys, part.count, candidates->keys + candidates->count);
    candidates->count += part.count;
  }
}

void RowSelector::Sample(const ScoreRow& row) {
  if (int64_t{row.length} * SizeOf(row.dtype) <= kPrefetchedBytes) Prefetch(row);
  sample_size_ = SampleSize(row.length);
  auto* raw = reinterpret_cast<char*>(work_);
  if (row.dtype == DType::kBfloat16) {
    CopyGroups<kSampleGroup * 2>(row, sample_size_, raw);
  } else {
    CopyGroups<kSampleGroup * 4>(row, sample_size_, raw);
  }
  kernels_.make_keys(row.dtype, raw, sample_size_, sample_);
}

RowSelector::Threshold RowSelector::ChooseThreshold(int32_t length, int32_t k, int32_t attempt) {
  const double mean = static_cast<double>(k) * sample_size_ / length;
  const double rank =
      attempt == 0 ? RankOfThreshold(length, k, sample_size_) : std::ceil(3 * mean + 64);
  // A third pass takes everything.
  if (attempt > 1 || rank > kMaxRankShare * sample_size_) return {.score = kMinusInfinity};
  const int32_t key =
      kernels_.kth_largest(sample_, sample_size_, static_cast<int32_t>(rank), work_, spare_);
  const double expected = rank * length / sample_size_;
  return {.score = key == kNanKey ? kMinusInfinity : ScoreOfKey(key),
          .capacity = std::min(kCapacity, static_cast<int32_t>(2 * expected) + 2 * kCollectChunk)};
}

void RowSelector::Collect(const ScoreRow& row, int32_t begin, int32_t end, int32_t k,
                          float threshold, Candidates* candidates) {
  while (true) {
    begin = kernels_.collect(row.dtype, row.scores, begin, end, threshold, candidates);
    if (begin == end) return;
    int32_t kth = 0;
    Shrink(k, candidates, &kth);
    // Later scores equal to the worst of k lose to it.
    if (kth == kInfinityKey) return;
    threshold = ScoreOfKey(kth + 1);
  }
}

void RowSelector::Shrink(int32_t k, Candidates* candidates, int32_t* kth) {
  *kth = kernels_.kth_largest(candidates->keys, candidates->count, k, work_, spare_);
  kernels_.keep_largest(candidates, k, *kth);
}

Selection RowSelector::Finish(const ScoreRow& row, int32_t k, Candidates candidates) {
  int32_t kth = 0;
  if (candidates.count > k) Shrink(k, &candidates, &kth);
  if (candidates.count < k) FillWithNan(row, k, &candidates);
  selected_ = candidates.count;
  return {list_.positions, static_cast<size_t>(selected_)};
}

// All scores but NaN are candidates already; the first NaNs make up k.
void RowSelector::FillWithNan(const ScoreRow& row, int32_t k, Candidates* candidates) {
  int32_t missing = k - candidates->count;
  std::copy_n(candidates->positions, candidates->count, work_);
  std::copy_n(candidates->keys, candidates->count, spare_);
  int32_t next = 0, count = 0;
  for (int32_t position = 0; missing > 0; ++position) {
    if (next < candidates->count && work_[next] == position) {
      candidates->positions[count] = position;
      candidates->keys[count++] = spare_[next++];
    } else {
      candidates->positions[count] = position;
      candidates->keys[count++] = kNanKey;
      --missing;
    }
  }
  std::copy(work_ + next, work_ + candidates->count, candidates->positions + count);
  std::copy(spare_ + next, spare_ + candidates->count, candidates->keys + count);
  candidates->count = k;
}

Selection RowSelector::SelectAll(const ScoreRow& row) {
  kernels_.make_keys(row.dtype, row.scores, row.length, list_.keys);
  return SelectFirst(row.length);
}

Selection RowSelector::SelectFirst(int32_t length) {
  std::iota(list_.positions, list_.positions + length, 0);
  selected_ = length;
  return {list_.positions, static_cast<size_t>(length)};
}

Selection RowSelector::SortByScore() {
  SortByKey(list_.keys, list_.positions, selected_);
  return {list_.positions, static_cast<size_t>(selected_)};
}

}  // namespace winnow::cpu
