// An engine that never idles: kernels of many blocks, each for a given time, always several queued.
//
//   engine_load [SECONDS [BLOCKS [MICROSECONDS [THREADS]]]]      default: 10 1056 200 128
//
// Blocks of 128 threads leave room on a multiprocessor for another process's, as decode kernels do.
// Prints the kernels a second of each tenth of the time, and of all of it, so that what slows it
// down can be seen. Ends by itself, or with SIGTERM.

#include <cuda_runtime.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

volatile std::sig_atomic_t stopped = 0;

__device__ uint64_t Nanoseconds() {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void Spin(uint64_t nanoseconds, unsigned* out) {
  const uint64_t begin = Nanoseconds();
  unsigned turns = 0;
  while (Nanoseconds() - begin < nanoseconds) ++turns;
  if (turns == 0) *out = turns;
}

void Require(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "engine_load: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

double Argument(int argc, char** argv, int index, double otherwise) {
  return argc > index ? std::atof(argv[index]) : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  using Clock = std::chrono::steady_clock;
  const double seconds = Argument(argc, argv, 1, 10);
  const auto blocks = static_cast<unsigned>(Argument(argc, argv, 2, 1056));
  const auto nanoseconds = static_cast<uint64_t>(Argument(argc, argv, 3, 200) * 1000);
  const auto threads = static_cast<unsigned>(Argument(argc, argv, 4, 128));
  constexpr int kQueued = 8;
  std::signal(SIGTERM, [](int) { stopped = 1; });
  cudaStream_t stream = nullptr;
  unsigned* out = nullptr;
  cudaEvent_t events[kQueued];
  Require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  Require(cudaMalloc(&out, sizeof(unsigned)));
  for (cudaEvent_t& event : events) {
    Require(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync));
  }
  const auto since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  const auto begin = Clock::now();
  auto part = begin;
  int64_t kernels = 0, in_part = 0;
  while (since(begin) < seconds && stopped == 0) {
    cudaEvent_t& event = events[kernels % kQueued];
    if (kernels >= kQueued) Require(cudaEventSynchronize(event));
    Spin<<<blocks, threads, 0, stream>>>(nanoseconds, out);
    Require(cudaGetLastError());
    Require(cudaEventRecord(event, stream));
    ++kernels;
    ++in_part;
    if (since(part) < seconds / 10) continue;
    std::printf("%.1f s: %.0f kernels a second\n", since(begin),
                static_cast<double>(in_part) / since(part));
    std::fflush(stdout);
    part = Clock::now();
    in_part = 0;
  }
  Require(cudaStreamSynchronize(stream));
  std::printf("all: %.1f kernels a second\n", static_cast<double>(kernels) / since(begin));
  return 0;
}
