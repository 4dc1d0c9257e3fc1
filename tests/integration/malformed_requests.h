// Requests that a server must refuse, each with the reason and the field that it must name.
// One file per message: malformed_{top_k,blocks,chains,execute,admin}.cc.

#ifndef WINNOW_TESTS_INTEGRATION_MALFORMED_REQUESTS_H_
#define WINNOW_TESTS_INTEGRATION_MALFORMED_REQUESTS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "grpcpp/support/status.h"
#include "winnow/v1/error_detail.pb.h"

namespace winnow::testing {

struct MalformedRequest {
  std::string name;    // what is wrong
  std::string method;  // "IndexerService/TopK"
  std::string bytes;   // as sent
  v1::ErrorReason reason = v1::ERROR_REASON_UNSPECIFIED;
  std::string field;
  grpc::StatusCode code = grpc::StatusCode::INVALID_ARGUMENT;
};

// Collects requests that differ from a good one in one thing.
template <typename Request>
class MalformedTable {
 public:
  MalformedTable(std::string method, Request good)
      : method_(std::move(method)), good_(std::move(good)) {}

  void Add(std::string name, v1::ErrorReason reason, std::string field,
           const std::function<void(Request&)>& spoil,
           grpc::StatusCode code = grpc::StatusCode::INVALID_ARGUMENT) {
    Request request = good_;
    spoil(request);
    requests_.push_back(
        {std::move(name), method_, request.SerializeAsString(), reason, std::move(field), code});
  }

  std::vector<MalformedRequest> Take() { return std::move(requests_); }

 private:
  const std::string method_;
  const Request good_;
  std::vector<MalformedRequest> requests_;
};

// The server's inline limit must be kMalformedInlineLimit.
inline constexpr int64_t kMalformedInlineLimit = 1 << 20;

std::vector<MalformedRequest> MalformedTopK();
std::vector<MalformedRequest> MalformedPages();
std::vector<MalformedRequest> MalformedPlans();
std::vector<MalformedRequest> MalformedBlocks();
std::vector<MalformedRequest> MalformedChains();
std::vector<MalformedRequest> MalformedSteps();
std::vector<MalformedRequest> MalformedAdmin();
std::vector<MalformedRequest> MalformedBytes();
// All of the above.
std::vector<MalformedRequest> AllMalformedRequests();

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_INTEGRATION_MALFORMED_REQUESTS_H_
