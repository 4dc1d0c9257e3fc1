// The device memory of the benchmark, allocated once: scores, tables and lengths that cases read,
// and where they write. Launches of a cold case rotate over places, so that as far as the pool goes
// none finds in L2 what another one read. Next: bench_runner.h.

#ifndef WINNOW_TESTS_BENCH_CUDA_BENCH_MEMORY_H_
#define WINNOW_TESTS_BENCH_CUDA_BENCH_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/cuda/cuda_device.h"
#include "kernels/cuda/runtime/stream.h"
#include "tests/bench/cuda/bench_case.h"

namespace winnow::bench {

// What an operation writes, or one step leaves to the next.
enum class Output { kSlots, kIndices, kValues, kKeys, kBlocks, kBlockSlots };

class BenchMemory {
 public:
  // Of the scores that cases rotate over, and the rows that tables have: no case may take more.
  static constexpr int64_t kPoolBytes = int64_t{4} << 30;
  static constexpr int32_t kTableRows = 1024;

  // `device` and `stream` must outlive it.
  static absl::StatusOr<std::unique_ptr<BenchMemory>> Create(cuda::CudaDevice& device,
                                                             cuda::CudaStream& stream);

  // The scores of Data::kText, which cases of it need. Once.
  absl::Status SetText(absl::Span<const float> text);

  // Makes what the case reads, unless it is there, and waits for it.
  absl::Status Prepare(const BenchCase& bench_case);
  // Whether what the case reads is there, untouched since.
  bool Holds(const BenchCase& bench_case) const;
  // The scores were overwritten.
  void ForgetScores();

  // What a launch of the case reads: scores, or ids.
  std::byte* InputOf(const BenchCase& bench_case, int32_t launch) const;
  // [kMaxRows] times `length`, which some Prepare made.
  const int32_t* LengthsOf(int32_t length) const { return lengths_.at(length); }
  PageTransform PagesOf(const BenchCase& bench_case) const;
  template <typename Element = int32_t>
  Element* OutputOf(Output output) const {
    return reinterpret_cast<Element*>(outputs_ + static_cast<int64_t>(output) * kOutputBytes);
  }

  // Scores that a producing kernel copies.
  const std::byte* source() const { return source_; }
  const int32_t* starts() const { return starts_; }
  SegmentReport* report() const { return report_; }
  absl::Span<std::byte> workspace() const { return workspace_; }
  // All outputs as one, for a kernel that only writes.
  std::byte* outputs() const { return outputs_; }

 private:
  static constexpr int64_t kOutputBytes = int64_t{64} << 20;

  BenchMemory(cuda::CudaDevice& device, cuda::CudaStream& stream)
      : device_(device), stream_(stream) {}
  absl::Status Allocate();
  absl::StatusOr<std::byte*> Take(int64_t bytes);
  absl::Status FillScorePool(const BenchCase& bench_case);
  absl::Status MakeLengths(int32_t length);
  bool HoldsScores(const BenchCase& bench_case) const;
  bool HoldsIds(const BenchCase& bench_case) const;

  cuda::CudaDevice& device_;
  cuda::CudaStream& stream_;
  std::vector<std::unique_ptr<DeviceMemory>> memory_;
  std::byte* pool_ = nullptr;  // of scores
  std::byte* ids_ = nullptr;
  std::byte* source_ = nullptr;
  std::byte* outputs_ = nullptr;
  float* text_ = nullptr;
  int64_t text_count_ = 0;
  int32_t* pages_ = nullptr;
  int32_t* starts_ = nullptr;
  SegmentReport* report_ = nullptr;
  absl::Span<std::byte> workspace_;
  std::map<int32_t, const int32_t*> lengths_;
  // What the pool and the ids hold now, so that they are not made again.
  std::tuple<DType, Data, uint32_t> pool_content_ = {DType::kUnspecified, Data::kNormal, 0};
  std::pair<int32_t, int32_t> ids_content_ = {0, 0};  // ids of a row, blocks
};

}  // namespace winnow::bench

#endif  // WINNOW_TESTS_BENCH_CUDA_BENCH_MEMORY_H_
