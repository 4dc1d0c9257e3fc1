#include "tests/testing/random.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <random>
#include <string>

namespace winnow::testing {
namespace {

uint64_t RotateLeft(uint64_t value, int by) { return (value << by) | (value >> (64 - by)); }

uint64_t ReadSeed(const char* variable) {
  if (const char* text = std::getenv(variable); text != nullptr && *text != '\0') {
    return std::strtoull(text, nullptr, 10);
  }
  return std::random_device{}();
}

}  // namespace

uint64_t SeedFromEnvironment(const char* variable) {
  static std::mutex mutex;
  static auto* const seeds = new std::map<std::string, uint64_t>;
  std::lock_guard<std::mutex> lock(mutex);
  const auto [place, is_new] = seeds->try_emplace(variable, 0);
  if (is_new) {
    place->second = ReadSeed(variable);
    std::printf("%s=%llu repeats this run\n", variable,
                static_cast<unsigned long long>(place->second));
    std::fflush(stdout);
  }
  return place->second;
}

Random::Random(uint64_t seed) {
  for (uint64_t& word : state_) {
    seed += 0x9e3779b97f4a7c15u;
    uint64_t mixed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    word = mixed ^ (mixed >> 31);
  }
}

uint64_t Random::Next() {
  const uint64_t result = RotateLeft(state_[1] * 5, 7) * 9;
  const uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = RotateLeft(state_[3], 45);
  return result;
}

float Random::Normal() {
  // Sum of uniforms: near enough to normal for scores, with tails to six deviations.
  const uint64_t a = Next(), b = Next(), c = Next();
  int64_t sum = 0;
  for (const uint64_t word : {a, b, c}) {
    for (int part = 0; part < 4; ++part)
      sum += static_cast<int64_t>((word >> (16 * part)) & 0xffff);
  }
  return static_cast<float>(static_cast<double>(sum) / 65536.0 - 6.0);
}

}  // namespace winnow::testing
