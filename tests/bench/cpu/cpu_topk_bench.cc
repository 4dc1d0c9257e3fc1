// CPU top-k beside std::nth_element on (score, index) pairs and beside a plain read of the same
// bytes, with the same threads, turn by turn in one run. CSV on stdout: medians, least times (which
// a machine shared with others disturbs less), and the ratios of both.
//
// The scores of successive turns are different parts of one large array, so that each turn finds
// them outside the first and second level of the cache. Excluded: making the scores, opening the
// device. Included in nth_element: making the pairs, which it needs and a selection does not.
//
//   cpu_topk_bench [--threads=N] [--megabytes=512] [--turns=15] [--quick]

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/worker_pool.h"
#include "tests/bench/cpu/plain_read.h"

namespace winnow::bench {
namespace {

struct Flags {
  int32_t threads = 0;
  int64_t megabytes = 512;
  int turns = 15;
  bool quick = false;
};

struct Shape {
  DType dtype;
  int32_t rows;
  int32_t length;
  int32_t k;
};

// Irwin-Hall normals from a fixed generator, as float32 and rounded to bfloat16.
class ScorePool {
 public:
  explicit ScorePool(int64_t bytes) : floats_(bytes / 4), halves_(bytes / 2) {
    uint64_t state = 88172645463325252u;
    const auto next = [&state] {
      state ^= state << 13;
      state ^= state >> 7;
      return state ^= state << 17;
    };
    for (size_t i = 0; i < floats_.size(); ++i) {
      const uint64_t word = next();
      const auto sum = static_cast<float>((word & 0xffff) + ((word >> 16) & 0xffff) +
                                          ((word >> 32) & 0xffff) + (word >> 48));
      floats_[i] = sum / 37837.0f - 3.4641f;
      uint32_t bits;
      std::memcpy(&bits, &floats_[i], sizeof(bits));
      halves_[i] = halves_[i + floats_.size()] = static_cast<uint16_t>((bits + 0x8000u) >> 16);
    }
  }

  // Reads all once: what the system does at a page's first reading is no part of a turn.
  uint32_t ReadAll() const {
    return SumWords(floats_.data(), static_cast<int64_t>(floats_.size()) * 4) +
           SumWords(halves_.data(), static_cast<int64_t>(halves_.size()) * 2);
  }

  // The scores of the next turn.
  const void* Next(const Shape& shape) {
    const int64_t count = int64_t{shape.rows} * shape.length;
    const auto size =
        static_cast<int64_t>(shape.dtype == DType::kFloat32 ? floats_.size() : halves_.size());
    if (next_ + count > size) next_ = 0;
    const int64_t begin = std::exchange(next_, next_ + count);
    return shape.dtype == DType::kFloat32 ? static_cast<const void*>(floats_.data() + begin)
                                          : halves_.data() + begin;
  }

 private:
  std::vector<float> floats_;
  std::vector<uint16_t> halves_;
  int64_t next_ = 0;
};

template <typename Work>
double Micros(Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

double Quantile(std::vector<double> times, double share) {
  std::sort(times.begin(), times.end());
  const auto last = static_cast<double>(times.size() - 1);
  return times[static_cast<size_t>(share * last + 0.5)];
}

class Bench {
 public:
  explicit Bench(const Flags& flags)
      : flags_(flags),
        device_(flags.threads, cpu::BestRowKernels()),
        stream_(*device_.CreateStream(StreamPriority::kNormal)),
        pool_(flags.threads),
        scores_(flags.megabytes << 20) {
    sum_ += scores_.ReadAll();
  }

  void Measure(const Shape& shape) {
    lengths_.assign(shape.rows, shape.length);
    indices_.resize(int64_t{shape.rows} * shape.k);
    std::vector<double> topk, nth, read;
    const int64_t bytes = int64_t{shape.rows} * shape.length * SizeOf(shape.dtype);
    // nth_element is slow and steady: a few turns are enough.
    const int nth_turns = bytes > (16 << 20) ? 1 : 3;
    for (int turn = -1; turn < flags_.turns; ++turn) {
      const double topk_time = Micros([&] { TopK(shape, scores_.Next(shape)); });
      const double read_time = Micros([&] { Read(shape, scores_.Next(shape)); });
      const double nth_time =
          turn < nth_turns ? Micros([&] { NthElement(shape, scores_.Next(shape)); }) : 0;
      if (turn < 0) continue;  // warms up
      topk.push_back(topk_time);
      read.push_back(read_time);
      if (turn < nth_turns) nth.push_back(nth_time);
    }
    const double topk_median = Quantile(topk, 0.5), topk_least = Quantile(topk, 0);
    const double nth_median = Quantile(nth, 0.5), nth_least = Quantile(nth, 0);
    const double read_median = Quantile(read, 0.5), read_least = Quantile(read, 0);
    std::printf("%s,%d,%d,%d,%d,%s,%lld,%.1f,%.1f,%.1f,%.1f,%.1f,%.1f,%.1f,%.2f,%.2f,%.2f,%.2f\n",
                std::string(Name(shape.dtype)).c_str(), shape.rows, shape.length, shape.k,
                flags_.threads, device_.info().instruction_set.c_str(),
                static_cast<long long>(bytes), topk_median, topk_least, Quantile(topk, 0.99),
                nth_median, nth_least, read_median, read_least, nth_median / topk_median,
                topk_median / read_median, nth_least / topk_least, topk_least / read_least);
    std::fflush(stdout);
  }

 private:
  void TopK(const Shape& shape, const void* scores) {
    SegmentReport report;
    TopKSegment segment{.scores = scores,
                        .row_stride = shape.length,
                        .rows = shape.rows,
                        .columns = shape.length,
                        .lengths = lengths_.data(),
                        .indices = indices_.data(),
                        .indices_row_stride = shape.k,
                        .report = &report};
    const absl::Status status =
        device_.TopK(*stream_, {.dtype = shape.dtype, .k = shape.k}, {&segment, 1}, {});
    if (!status.ok()) std::abort();
  }

  // The same bytes in pieces of at most 256 KiB, shared among the threads.
  void Read(const Shape& shape, const void* scores) {
    const int64_t bytes = int64_t{shape.rows} * shape.length * SizeOf(shape.dtype);
    const int64_t piece = std::min<int64_t>(bytes, 256 << 10);
    pool_.Run((bytes + piece - 1) / piece, [&](int64_t i) {
      const int64_t begin = i * piece;
      sum_ += SumWords(static_cast<const char*>(scores) + begin, std::min(piece, bytes - begin));
    });
  }

  void NthElement(const Shape& shape, const void* scores) {
    pool_.Run(shape.rows, [&](int64_t row) {
      thread_local std::vector<std::pair<float, int32_t>> pairs;
      pairs.resize(shape.length);
      for (int32_t i = 0; i < shape.length; ++i) {
        pairs[i] = {Score(shape, scores, row * shape.length + i), i};
      }
      std::nth_element(pairs.begin(), pairs.begin() + shape.k, pairs.end(),
                       [](const auto& a, const auto& b) { return a.first > b.first; });
      for (int32_t i = 0; i < shape.k; ++i) indices_[row * shape.k + i] = pairs[i].second;
    });
  }

  static float Score(const Shape& shape, const void* scores, int64_t i) {
    if (shape.dtype == DType::kFloat32) return static_cast<const float*>(scores)[i];
    const uint32_t bits = static_cast<uint32_t>(static_cast<const uint16_t*>(scores)[i]) << 16;
    float score;
    std::memcpy(&score, &bits, sizeof(score));
    return score;
  }

  const Flags flags_;
  cpu::CpuDevice device_;
  std::unique_ptr<Stream> stream_;
  cpu::WorkerPool pool_;
  ScorePool scores_;
  std::vector<int32_t> lengths_, indices_;
  std::atomic<uint32_t> sum_{0};  // so that the reads are not optimised away
};

bool ParseFlag(const std::string& argument, Flags& flags) {
  const auto value_of = [&](const char* name) -> const char* {
    const std::string prefix = std::string("--") + name + "=";
    return argument.rfind(prefix, 0) == 0 ? argument.c_str() + prefix.size() : nullptr;
  };
  if (const char* value = value_of("threads"))
    flags.threads = std::atoi(value);
  else if (const char* value = value_of("megabytes"))
    flags.megabytes = std::atoll(value);
  else if (const char* value = value_of("turns"))
    flags.turns = std::atoi(value);
  else if (argument == "--quick")
    flags.quick = true;
  else
    return false;
  return true;
}

int Run(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    if (ParseFlag(argv[i], flags)) continue;
    std::fprintf(stderr, "unknown argument %s; see the top of cpu_topk_bench.cc\n", argv[i]);
    return 2;
  }
  if (flags.threads <= 0) flags.threads = (*OpenCpuDevice({}))->info().multiprocessors;
  // The largest shape must fit.
  flags.megabytes = std::max<int64_t>(flags.megabytes, 256);
  Bench bench(flags);
  std::printf(
      "dtype,rows,length,k,threads,instruction_set,bytes,topk_us,topk_min_us,topk_p99_us,"
      "nth_element_us,nth_element_min_us,read_us,read_min_us,nth_element_over_topk,"
      "topk_over_read,min_nth_element_over_topk,min_topk_over_read\n");
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    for (const int32_t rows : {1, 16, 64}) {
      for (const int32_t length : {16384, 131072, 1048576}) {
        if (flags.quick && int64_t{rows} * length > (1 << 21)) continue;
        for (const int32_t k : {512, 2048}) bench.Measure({dtype, rows, length, k});
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace winnow::bench

int main(int argc, char** argv) { return winnow::bench::Run(argc, argv); }
