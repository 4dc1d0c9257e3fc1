// Valid requests of every operation with random shapes, options and data, and what each must give.

#ifndef WINNOW_TESTS_INTEGRATION_RANDOM_REQUESTS_H_
#define WINNOW_TESTS_INTEGRATION_RANDOM_REQUESTS_H_

#include <string>
#include <variant>
#include <vector>

#include "grpcpp/support/status.h"
#include "tests/testing/random.h"
#include "tests/testing/reference_results.h"
#include "winnow/v1/indexer_service.grpc.pb.h"

namespace winnow::testing {

using AnyRequest =
    std::variant<v1::TopKRequest, v1::BlockAmaxRequest, v1::SortCandidateBlocksRequest,
                 v1::PublishCandidatesRequest, v1::ConsumeCandidatesRequest>;

struct RandomCase {
  AnyRequest request;
  Outputs expected;
};

// Deterministic requests of 1 to 8 rows and at most `max_columns` scores a row.
RandomCase MakeRandomCase(Random& random, int64_t max_columns);
// The same, of one operation.
v1::TopKRequest MakeRandomTopK(Random& random, int64_t max_columns);
v1::PublishCandidatesRequest MakeRandomPublish(Random& random, int64_t max_columns);

// Calls the method of the request; its outputs, when the status is Ok.
grpc::Status Call(v1::IndexerService::Stub& indexer, const AnyRequest& request, Outputs& outputs);

// "" when both hold the same outputs bit for bit (keys: the same numbers), else what differs first.
std::string Difference(const Outputs& expected, const Outputs& actual);

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_INTEGRATION_RANDOM_REQUESTS_H_
