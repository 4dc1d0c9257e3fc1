// A client with a lease and score rows in shared memory, for the benches of whole servers.

#ifndef WINNOW_TESTS_BENCH_RPC_SHARED_CLIENT_H_
#define WINNOW_TESTS_BENCH_RPC_SHARED_CLIENT_H_

#include <cstdint>
#include <memory>

#include "grpcpp/channel.h"
#include "tests/integration/lease_session.h"
#include "tests/testing/random.h"
#include "winnow/v1/indexer_service.grpc.pb.h"

namespace winnow::testing {

inline constexpr int32_t kMaxSharedResults = 512;  // of a row

// Float32 scores [rows, columns] in memory that the server has imported, and room for results
// behind them. Ends the process when that fails. Thread safety: none.
class SharedClient {
 public:
  SharedClient(std::shared_ptr<grpc::Channel> channel, int32_t rows, int32_t columns,
               Random& random);
  ~SharedClient();
  SharedClient(const SharedClient&) = delete;
  SharedClient& operator=(const SharedClient&) = delete;

  float* scores() { return scores_; }
  // TopK of all rows, deterministic, indices inline.
  v1::TopKRequest TopK(int32_t k) const;
  // The same, with the indices in shared memory too. `k` is at most kMaxSharedResults.
  v1::TopKRequest TopKInPlace(int32_t k) const;
  v1::IndexerService::Stub& indexer() { return session_->indexer(); }

 private:
  int64_t score_bytes() const { return int64_t{rows_} * columns_ * 4; }
  int64_t bytes() const { return score_bytes() + int64_t{rows_} * kMaxSharedResults * 4; }

  const int32_t rows_, columns_;
  std::unique_ptr<LeaseSession> session_;
  float* scores_ = nullptr;
  v1::ResourceId buffer_;
};

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_BENCH_RPC_SHARED_CLIENT_H_
