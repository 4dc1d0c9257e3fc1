// Rows aimed at the CUDA kernels' samples: high, or low, exactly at the places that are looked at
// to guess a threshold, so that the guess leaves far too few candidates, or all of them. Other
// devices have no such places; for them these are rows like others.

#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/primitives/sample_places.h"
#include "tests/contract/contract_test.h"

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

}  // namespace
}  // namespace winnow::contract
