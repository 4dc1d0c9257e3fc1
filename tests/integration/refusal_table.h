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
        {method_ + ": " + name, std::move(says),
         [method = method_, good = good_, spoil = std::move(spoil)](RefusalScene& scene) {
           Request request = good(scene);
           spoil(scene, request);
           return OutcomeOf(
               CallWithBytes(scene.channel(), "winnow.v1." + method, request.SerializeAsString()));
         }});
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
