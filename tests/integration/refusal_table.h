// Makes refusals of one RPC: each differs from a good request in one thing.

#ifndef WINNOW_TESTS_INTEGRATION_REFUSAL_TABLE_H_
#define WINNOW_TESTS_INTEGRATION_REFUSAL_TABLE_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/integration/generic_call.h"
#include "tests/integration/refusals.h"

namespace winnow::testing {

// What a refusal must say.
struct Says {
  v1::ErrorReason reason = v1::ERROR_REASON_UNSPECIFIED;
  std::string field, value, limit;
  grpc::StatusCode code = grpc::StatusCode::INVALID_ARGUMENT;
  bool found_while_running = false;
};

template <typename Request>
class RefusalTable {
 public:
  using Make = std::function<Request(RefusalScene& scene)>;
  using Spoil = std::function<void(RefusalScene& scene, Request& request)>;

  // `method` is "MemoryService/AllocateBuffer"; `good` makes a request that would succeed.
  RefusalTable(std::string method, Make good)
      : method_(std::move(method)), good_(std::move(good)) {}

  void Add(const std::string& name, Says says, Spoil spoil) {
    refusals_.push_back(
        {.name = method_ + ": " + name,
         .code = says.code,
         .reason = says.reason,
         .field = std::move(says.field),
         .value = std::move(says.value),
         .limit = std::move(says.limit),
         .call =
             [method = method_, good = good_, spoil = std::move(spoil)](RefusalScene& scene) {
               Request request = good(scene);
               spoil(scene, request);
               return OutcomeOf(CallWithBytes(scene.channel(), "winnow.v1." + method,
                                              request.SerializeAsString()));
             },
         .found_while_running = says.found_while_running});
  }

  void MoveTo(std::vector<Refusal>& all) {
    for (Refusal& refusal : refusals_) all.push_back(std::move(refusal));
    refusals_.clear();
  }

 private:
  const std::string method_;
  const Make good_;
  std::vector<Refusal> refusals_;
};

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_INTEGRATION_REFUSAL_TABLE_H_
