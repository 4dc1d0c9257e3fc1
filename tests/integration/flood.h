// Many calls in flight from one thread.

#ifndef WINNOW_TESTS_INTEGRATION_FLOOD_H_
#define WINNOW_TESTS_INTEGRATION_FLOOD_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "grpcpp/client_context.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/support/async_unary_call.h"
#include "grpcpp/support/status.h"
#include "tests/integration/slow_work.h"
#include "winnow/v1/indexer_service.grpc.pb.h"

namespace winnow::testing {

// Thread safety: none.
class Flood {
 public:
  // Both outlive it.
  Flood(v1::IndexerService::Stub& indexer, const SlowWork& work) : indexer_(indexer), work_(work) {}
  // Waits for all replies.
  ~Flood() { Finish(); }
  Flood(const Flood&) = delete;
  Flood& operator=(const Flood&) = delete;

  void Send(std::chrono::milliseconds patience = std::chrono::seconds(60));
  void CancelAll();

  // Waits for all replies; how many came with each code.
  std::map<grpc::StatusCode, int> Finish();
  // All with the code. Finish first.
  std::vector<grpc::Status> FindStatuses(grpc::StatusCode code) const;

 private:
  struct One {
    grpc::ClientContext context;
    v1::ExecuteResponse response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::ExecuteResponse>> reader;
  };
  v1::IndexerService::Stub& indexer_;
  const SlowWork& work_;
  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<One>> calls_;
  size_t finished_ = 0;
};

int64_t CountOf(const std::map<grpc::StatusCode, int>& codes, grpc::StatusCode code);

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_INTEGRATION_FLOOD_H_
