// A request that keeps a server busy without many bytes.

#ifndef WINNOW_TESTS_INTEGRATION_SLOW_WORK_H_
#define WINNOW_TESTS_INTEGRATION_SLOW_WORK_H_

#include <cstdint>
#include <memory>

#include "grpcpp/channel.h"
#include "tests/integration/lease_session.h"
#include "winnow/v1/indexer_service.pb.h"

namespace winnow::testing {

// `times` for SlowWork where a test's next step must come before the work ends: a test that shares
// its cores with others may come late. A GPU is not shared, and its memory has no room for more: 1.
int32_t TimesForBusyMachine(int32_t times);

// A lease with a buffer of scores, and a request that selects from all of them sixty times over:
// milliseconds of work, whether for one thread of a CPU or for a whole GPU, `times` over. Ends the
// program when the server does not grant them.
class SlowWork {
 public:
  explicit SlowWork(std::shared_ptr<grpc::Channel> channel, v1::OpenLeaseRequest open = {},
                    int32_t times = 1);

  const v1::ExecuteRequest& request() const { return request_; }
  LeaseSession& session() { return session_; }

 private:
  LeaseSession session_;
  v1::ExecuteRequest request_;
};

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_INTEGRATION_SLOW_WORK_H_
