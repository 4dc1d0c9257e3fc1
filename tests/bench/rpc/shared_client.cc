#include "tests/bench/rpc/shared_client.h"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "server/resources/shared_memory.h"
#include "tests/bench/rpc/measurement.h"
#include "tests/testing/requests.h"

namespace winnow::testing {

SharedClient::SharedClient(std::shared_ptr<grpc::Channel> channel, int32_t rows, int32_t columns,
                           Random& random)
    : rows_(rows),
      columns_(columns),
      session_(std::make_unique<LeaseSession>(std::move(channel), v1::OpenLeaseRequest())) {
  if (!session_->opened()) BenchFails("no lease");
  const server::UniqueFd memory(memfd_create("scores", MFD_CLOEXEC));
  if (ftruncate(memory.get(), bytes()) != 0) BenchFails("no shared memory");
  scores_ = static_cast<float*>(
      mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0));
  for (int64_t i = 0; i < int64_t{rows} * columns; ++i) scores_[i] = random.Normal();
  const grpc::Status status = session_->Import(memory.get(), bytes(), /*read_only=*/false, buffer_);
  if (!status.ok()) BenchFails("no import: " + status.error_message());
}

SharedClient::~SharedClient() { munmap(scores_, bytes()); }

v1::TopKRequest SharedClient::TopK(int32_t k) const {
  v1::TopKRequest request;
  request.set_lease_id(session_->id());
  v1::TopKStep& step = *request.mutable_step();
  *step.mutable_scores() = BufferTensor(v1::DATA_TYPE_FLOAT32, rows_, columns_, buffer_);
  *step.mutable_lengths() = Int32Vector(std::vector<int32_t>(rows_, columns_));
  step.set_k(k);
  step.set_deterministic(true);
  WantInline(step.mutable_indices());
  return request;
}

v1::TopKRequest SharedClient::TopKInPlace(int32_t k) const {
  v1::TopKRequest request = TopK(k);
  *request.mutable_step()->mutable_indices() = BufferTarget(buffer_, score_bytes());
  return request;
}

}  // namespace winnow::testing
