#include "tests/integration/slow_work.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "tests/integration/test_programs.h"
#include "tests/testing/requests.h"

namespace winnow::testing {
namespace {

constexpr int64_t kColumns = 65536;
constexpr int kSteps = 60;
constexpr int32_t kResults = 4096;  // of a step

// A GPU reads in the time of a request what takes one thread a hundred times as long.
int32_t SlowRows() { return TestBackend() == "cpu" ? 16 : 2048; }

void AddStep(v1::ExecuteRequest& request, int32_t rows, int32_t k, const v1::ResourceId& buffer) {
  auto& step = *request.add_steps()->mutable_top_k();
  *step.mutable_scores() = BufferTensor(v1::DATA_TYPE_FLOAT32, rows, kColumns, buffer);
  *step.mutable_lengths() = Int32Vector(std::vector<int32_t>(rows, kColumns));
  step.set_k(k);
  step.mutable_indices()->set_placement(v1::OUTPUT_PLACEMENT_INLINE);
}

}  // namespace

int32_t TimesForBusyMachine(int32_t times) { return TestBackend() == "cpu" ? times : 1; }

SlowWork::SlowWork(std::shared_ptr<grpc::Channel> channel, v1::OpenLeaseRequest open, int32_t times)
    : session_(std::move(channel), std::move(open)) {
  const int32_t rows = SlowRows() * times;
  v1::ResourceId buffer;
  if (!session_.opened() ||
      !session_.Allocate(rows * kColumns * int64_t{sizeof(float)}, buffer).ok()) {
    std::fprintf(stderr, "no lease or no buffer for slow work\n");
    std::abort();
  }
  request_.set_lease_id(session_.id());
  const int32_t k = std::max(1, kResults / rows);
  // Steps of different rows: the scheduler cannot cut such a request into short launches.
  AddStep(request_, 1, k, buffer);
  for (int i = 1; i < kSteps; ++i) AddStep(request_, rows, k, buffer);
}

}  // namespace winnow::testing
