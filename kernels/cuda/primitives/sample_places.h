// Which scores of a row are looked at to guess a threshold. Plain C++, so that tests can aim at
// them: a row that is high, or low, exactly there makes the guess as bad as can be.

#ifndef WINNOW_KERNELS_CUDA_PRIMITIVES_SAMPLE_PLACES_H_
#define WINNOW_KERNELS_CUDA_PRIMITIVES_SAMPLE_PLACES_H_

#include <cstdint>

namespace winnow::cuda {

// Scores that each thread samples of a row in memory, and of a row in its registers.
inline constexpr int kSampleKeys = 8;
inline constexpr int kRegisterSamples = 2;

constexpr uint32_t HashOf(uint32_t value) {
  value ^= value >> 16;
  value *= 0x85ebca6bu;
  value ^= value >> 13;
  value *= 0xc2b2ae35u;
  return value ^ (value >> 16);
}

// Vector sampled in stratum `stratum` of `strata`: a hashed place inside it, so that no period of
// the data can hide from the sample.
constexpr int32_t SampledVector(uint32_t stratum, uint32_t strata, uint32_t vectors) {
  const uint32_t begin = stratum * vectors / strata;
  const uint32_t end = (stratum + 1) * vectors / strata;
  const uint64_t scaled = uint64_t{HashOf(stratum + 1)} * (end - begin);
  return static_cast<int32_t>(begin + static_cast<uint32_t>(scaled >> 32));
}

// A score among those that a thread holds: which of its vectors, which element of that.
struct RegisterPlace {
  int vector = 0;
  int element = 0;
};

// Places among which each register sample of a thread is chosen by a hash.
constexpr int RegisterChoices(int scores_per_thread) {
  const int share = scores_per_thread / kRegisterSamples;
  return share < 4 ? share : 4;
}
constexpr int RegisterChoice(uint32_t thread_hash, int sample, int choices) {
  return static_cast<int>(thread_hash >> (8 * sample)) & (choices - 1);
}
// Choices lie in different vectors and at different elements where there are several.
constexpr RegisterPlace RegisterPlaceOf(int sample, int choice, int scores_per_thread,
                                        int scores_per_vector) {
  const int share = scores_per_thread / kRegisterSamples;
  const int index = sample * share + choice * (share / RegisterChoices(scores_per_thread));
  return {.vector = index / scores_per_vector,
          .element = (index + choice + sample) % scores_per_vector};
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_PRIMITIVES_SAMPLE_PLACES_H_
