// Reminds the operator of listeners that serve in the clear beyond this host (--insecure-listen).

#ifndef WINNOW_SERVER_APP_PLAINTEXT_WARNING_H_
#define WINNOW_SERVER_APP_PLAINTEXT_WARNING_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "server/base/clock.h"

namespace winnow::server {

// Thread safety: for one thread.
class PlaintextWarning {
 public:
  static constexpr absl::Duration kPeriod = absl::Minutes(1);

  // `clock` outlives it.
  explicit PlaintextWarning(const Clock* clock) : clock_(clock) {}

  void Add(std::string address) { addresses_.push_back(std::move(address)); }

  // Logs one line that names all addresses: at the first call, and then once a period however often
  // it is called. Nothing without addresses.
  void WarnIfDue();

 private:
  const Clock* const clock_;
  std::vector<std::string> addresses_;
  absl::Time due_ = absl::InfinitePast();
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_APP_PLAINTEXT_WARNING_H_
