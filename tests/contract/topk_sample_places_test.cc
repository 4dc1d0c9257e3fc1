// Rows aimed at the CUDA kernels' samples: high, or low, exactly at the places that are looked at
// to guess a threshold, so that the guess leaves far too few candidates, or all of them. Other
// devices have no such places; for them these are rows like others.

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/primitives/sample_places.h"
#include "tests/contract/contract_test.h"
#include "winnow/kernels/limits.h"

namespace winnow::contract {
namespace {

constexpr int kThreads = 512;  // of every block that samples

struct Row {
  DType dtype = DType::kFloat32;
  int32_t length = 0;
  int32_t lead = 0;  // scores between a multiple of 16 bytes and the row's first
  int per_vector() const { return dtype == DType::kFloat32 ? 4 : 8; }
};

// Positions sampled of a row that lies in memory.
std::vector<int32_t> MemoryPlaces(const Row& row) {
  const int per_vector = row.per_vector();
  const int32_t vectors = (row.length + row.lead + per_vector - 1) / per_vector;
  const uint32_t strata = static_cast<uint32_t>(cuda::kSampleKeys / per_vector * kThreads);
  std::vector<int32_t> places;
  for (uint32_t stratum = 0; stratum < strata; ++stratum) {
    const int32_t vector =
        1 + cuda::SampledVector(stratum, strata, static_cast<uint32_t>(vectors - 2));
    for (int i = 0; i < per_vector; ++i) places.push_back(vector * per_vector + i - row.lead);
  }
  return places;
}

// Positions sampled of a row of which each thread holds `loads` vectors, 32 apart.
std::vector<int32_t> RegisterPlaces(const Row& row, int loads) {
  const int scores = loads * row.per_vector();
  const int choices = cuda::RegisterChoices(scores);
  std::vector<int32_t> places;
  for (int thread = 0; thread < kThreads; ++thread) {
    for (int sample = 0; sample < cuda::kRegisterSamples; ++sample) {
      const int choice = cuda::RegisterChoice(cuda::HashOf(thread), sample, choices);
      const auto place = cuda::RegisterPlaceOf(sample, choice, scores, row.per_vector());
      const int vector = thread / 32 * 32 * loads + thread % 32 + 32 * place.vector;
      places.push_back(vector * row.per_vector() + place.element - row.lead);
    }
  }
  return places;
}

// A row that says something else at `places` than everywhere else.
TopKRequest MisleadingRequest(const Row& row, const std::vector<int32_t>& places, float at_places,
                              testing::Random& random) {
  TopKRequest request;
  request.misaligned_elements = row.lead;
  std::vector<float>& scores = request.windows.emplace_back(row.length);
  for (float& score : scores) score = random.Normal();
  for (const int32_t place : places) {
    if (place >= 0 && place < row.length) scores[place] = at_places + random.Normal();
  }
  return request;
}

constexpr float kMisleading[] = {100.0f, -100.0f, -std::numeric_limits<float>::infinity()};

TEST_P(ContractTest, ASampleOfMemoryThatMisleadsCostsNoMember) {
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    for (const int32_t length : {8321, 16384, 40000, 131072, 524288}) {
      if (length > MaxLength()) continue;
      Row row{.dtype = dtype, .length = length};
      for (row.lead = 0; row.lead < row.per_vector(); row.lead += 3) {
        for (const float at_places : kMisleading) {
          SCOPED_TRACE(absl::StrCat(length, " scores, lead ", row.lead, ", sampled ", at_places));
          const auto request = MisleadingRequest(row, MemoryPlaces(row), at_places, random());
          ExpectTopK({.dtype = dtype, .k = 512, .deterministic = true}, {request});
          ExpectTopK({.dtype = dtype, .k = 2048}, {request});
        }
      }
    }
  }
}

TEST_P(ContractTest, ASampleOfRegistersThatMisleadsCostsNoMember) {
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    for (const int loads : {1, 2, 4, 8}) {
      Row row{.dtype = dtype};
      const int32_t held = kThreads * loads * row.per_vector();
      if (held > MaxLength()) continue;
      for (row.length = held; row.length > held / 2; row.length -= held / 3) {
        for (const float at_places : kMisleading) {
          SCOPED_TRACE(absl::StrCat(row.length, " scores in ", loads, " loads, ", at_places));
          const auto request =
              MisleadingRequest(row, RegisterPlaces(row, loads), at_places, random());
          ExpectTopK({.dtype = dtype, .k = 512, .deterministic = true}, {request});
          ExpectTopK({.dtype = dtype, .k = 2048}, {request});
        }
      }
    }
  }
}

constexpr int32_t kBlock = kDefaultBlockSize;

// A row of `blocks` blocks whose maxima rise with the position, so that those that are kept are
// replaced again and again; they are low at the places that are sampled of them, so that nearly all
// pass. The k best scores lie in blocks of their own: k - 1 of the last 500, so that one warp reads
// them together with the last block, which counts as the best whatever it holds; and an earlier
// one, with the lowest of them. The last block is low, too.
std::vector<float> MisleadingBlocks(int32_t blocks, int32_t k, testing::Random& random) {
  std::vector<bool> low(blocks, false);
  for (const int32_t block : MemoryPlaces({.length = blocks})) low[block] = true;
  low[blocks - 1] = true;
  std::vector<float> scores(int64_t{blocks} * kBlock, -10.0f);
  const auto best_of = [&](int32_t block) -> float& {
    return scores[int64_t{block} * kBlock + block % kBlock];
  };
  std::vector<int32_t> late;
  for (int32_t block = 0; block < blocks; ++block) {
    if (low[block]) {
      std::fill_n(&scores[int64_t{block} * kBlock], kBlock, -1e6f);
      continue;
    }
    best_of(block) = 1.0f + static_cast<float>(block) / static_cast<float>(blocks);
    if (block > blocks - 500) late.push_back(block);
  }
  int32_t lone = blocks - 4000;
  while (low[lone]) ++lone;
  best_of(lone) = 1e3f;
  for (int32_t i = 0; i < k - 1; ++i) {
    std::swap(late[i], late[i + random.Below(static_cast<int64_t>(late.size()) - i)]);
    best_of(late[i]) = 1e6f + static_cast<float>(i);
  }
  return scores;
}

TEST_P(ContractTest, APublishWhoseSampledBlocksMisleadCostsNoMember) {
  constexpr int32_t k = 256;
  for (int32_t blocks = 24576; blocks <= 29696; blocks += 1024) {
    for (const bool deterministic : {false, true}) {
      SCOPED_TRACE(absl::StrCat(blocks, " blocks, deterministic ", deterministic));
      PublishRequest request;
      request.windows.push_back(MisleadingBlocks(blocks, k, random()));
      request.pages = RandomPageTable(1, blocks * kBlock, 64, random());
      ExpectPublish({.dtype = DType::kFloat32, .k = k, .deterministic = deterministic}, {request});
    }
  }
}

}  // namespace
}  // namespace winnow::contract
