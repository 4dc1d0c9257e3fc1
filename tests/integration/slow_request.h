// A request that keeps a server busy without many bytes.

#ifndef WINNOW_TESTS_INTEGRATION_SLOW_REQUEST_H_
#define WINNOW_TESTS_INTEGRATION_SLOW_REQUEST_H_

#include "winnow/v1/indexer_service.pb.h"

namespace winnow::testing {

// Sixteen rows of 4,096 scores, their best 2,048 sorted sixty times over: little to send, tens of
// milliseconds of work for one thread.
const v1::ExecuteRequest& SlowRequest();

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_INTEGRATION_SLOW_REQUEST_H_
