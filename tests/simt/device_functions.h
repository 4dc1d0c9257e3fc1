// What CUDA C++ gives to device code, for kernels that the host's compiler builds. Only what the
// kernels of this repository use.

#ifndef WINNOW_TESTS_SIMT_DEVICE_FUNCTIONS_H_
#define WINNOW_TESTS_SIMT_DEVICE_FUNCTIONS_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "tests/simt/machine.h"

#define __device__
#define __host__
#define __global__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) alignas(bytes)
// One block runs at a time, so that all may use the same memory. (Blocks of a cluster, which run
// together, use dynamic shared memory alone.)
#define __shared__ static

using std::max;
using std::min;

struct alignas(8) uint2 {
  uint32_t x, y;
};
struct alignas(16) uint4 {
  uint32_t x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
inline uint2 make_uint2(uint32_t x, uint32_t y) { return {x, y}; }
inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w) { return {x, y, z, w}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

namespace winnow::simt {

// threadIdx and its like: `x` reads the position of the running thread.
template <uint32_t Position::*kMember>
struct IndexOfThread {
  struct {
    operator uint32_t() const { return Here().*kMember; }  // NOLINT: as the built-in variable does
  } x;
};

template <typename Value>
Value Exchange(WarpOperation operation, Value value, uint32_t argument) {
  static_assert(sizeof(Value) <= 8);
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(Value));
  bits = ExchangeInWarp(operation, bits, argument);
  std::memcpy(&value, &bits, sizeof(Value));
  return value;
}

}  // namespace winnow::simt

inline constexpr winnow::simt::IndexOfThread<&winnow::simt::Position::thread> threadIdx;
inline constexpr winnow::simt::IndexOfThread<&winnow::simt::Position::block> blockIdx;
inline constexpr winnow::simt::IndexOfThread<&winnow::simt::Position::threads> blockDim;
inline constexpr winnow::simt::IndexOfThread<&winnow::simt::Position::blocks> gridDim;

inline void __syncthreads() { winnow::simt::WaitForBlock(false); }
inline int __syncthreads_or(int predicate) {
  return winnow::simt::WaitForBlock(predicate != 0) > 0 ? 1 : 0;
}

// The mask is always that of the whole warp.
template <typename Value>
Value __shfl_sync(uint32_t, Value value, int lane) {
  return winnow::simt::Exchange(winnow::simt::WarpOperation::kShuffle, value, lane);
}
template <typename Value>
Value __shfl_up_sync(uint32_t, Value value, int distance) {
  return winnow::simt::Exchange(winnow::simt::WarpOperation::kShuffleUp, value, distance);
}
template <typename Value>
Value __shfl_xor_sync(uint32_t, Value value, int lanes) {
  return winnow::simt::Exchange(winnow::simt::WarpOperation::kShuffleXor, value, lanes);
}
inline uint32_t __ballot_sync(uint32_t, int predicate) {
  return static_cast<uint32_t>(winnow::simt::ExchangeInWarp(winnow::simt::WarpOperation::kBallot,
                                                            predicate != 0 ? 1 : 0, 0));
}
inline int __any_sync(uint32_t mask, int predicate) {
  return __ballot_sync(mask, predicate) != 0 ? 1 : 0;
}
inline uint32_t __reduce_min_sync(uint32_t, uint32_t value) {
  return winnow::simt::Exchange(winnow::simt::WarpOperation::kMin, value, 0);
}
inline uint32_t __reduce_max_sync(uint32_t, uint32_t value) {
  return winnow::simt::Exchange(winnow::simt::WarpOperation::kMax, value, 0);
}
inline uint32_t __reduce_add_sync(uint32_t, uint32_t value) {
  return winnow::simt::Exchange(winnow::simt::WarpOperation::kAdd, value, 0);
}
inline int __reduce_add_sync(uint32_t mask, int value) {
  return static_cast<int>(__reduce_add_sync(mask, static_cast<uint32_t>(value)));
}

// One thread runs at a time and only gives way where it waits: these are atomic as they are.
template <typename Value, typename Operand>
Value atomicAdd(Value* address, Operand operand) {
  const Value old = *address;
  *address = old + static_cast<Value>(operand);
  return old;
}
template <typename Value, typename Operand>
Value atomicOr(Value* address, Operand operand) {
  const Value old = *address;
  *address = old | static_cast<Value>(operand);
  return old;
}
template <typename Value, typename Operand>
Value atomicMin(Value* address, Operand operand) {
  const Value old = *address;
  *address = std::min(old, static_cast<Value>(operand));
  return old;
}
template <typename Value, typename Operand>
Value atomicMax(Value* address, Operand operand) {
  const Value old = *address;
  *address = std::max(old, static_cast<Value>(operand));
  return old;
}
template <typename Value>
Value atomicCAS(Value* address, Value expected, Value desired) {
  const Value old = *address;
  if (old == expected) *address = desired;
  return old;
}

template <typename Value>
Value __ldg(const Value* address) {
  return *address;
}

inline float __uint_as_float(uint32_t bits) { return std::bit_cast<float>(bits); }
inline uint32_t __float_as_uint(float value) { return std::bit_cast<uint32_t>(value); }
inline int __popc(uint32_t value) { return std::popcount(value); }
inline int __clz(int value) { return std::countl_zero(static_cast<uint32_t>(value)); }
inline int __ffs(int value) {
  return value == 0 ? 0 : std::countr_zero(static_cast<uint32_t>(value)) + 1;
}
inline uint32_t __umulhi(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>((static_cast<uint64_t>(a) * b) >> 32);
}
inline float __fdividef(float a, float b) { return a / b; }

// The device's maximum takes a signalling NaN for a quiet one; the host's library does not.
namespace winnow::simt {
inline float MaxOfFloats(float a, float b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}
}  // namespace winnow::simt
#define fmaxf winnow::simt::MaxOfFloats

#endif  // WINNOW_TESTS_SIMT_DEVICE_FUNCTIONS_H_
