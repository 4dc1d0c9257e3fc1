#include "tests/integration/flood.h"

#include <utility>

namespace winnow::testing {

void Flood::Send(std::chrono::milliseconds patience) {
  auto call = std::make_unique<One>();
  call->context.set_deadline(std::chrono::system_clock::now() + patience);
  call->reader = indexer_.AsyncExecute(&call->context, work_.request(), &queue_);
  call->reader->Finish(&call->response, &call->status, call.get());
  calls_.push_back(std::move(call));
}

void Flood::CancelAll() {
  for (auto& call : calls_) call->context.TryCancel();
}

std::map<grpc::StatusCode, int> Flood::Finish() {
  void* tag = nullptr;
  bool ok = false;
  for (; finished_ < calls_.size(); ++finished_) queue_.Next(&tag, &ok);
  std::map<grpc::StatusCode, int> codes;
  for (const auto& call : calls_) ++codes[call->status.error_code()];
  return codes;
}

std::vector<grpc::Status> Flood::FindStatuses(grpc::StatusCode code) const {
  std::vector<grpc::Status> found;
  for (const auto& call : calls_) {
    if (call->status.error_code() == code) found.push_back(call->status);
  }
  return found;
}

int64_t CountOf(const std::map<grpc::StatusCode, int>& codes, grpc::StatusCode code) {
  const auto found = codes.find(code);
  return found == codes.end() ? 0 : found->second;
}

}  // namespace winnow::testing
