// The client that a run sends with, which chaos replaces now and then, and what it holds with the
// server.

#ifndef WINNOW_CLIENT_LOADGEN_CALLER_H_
#define WINNOW_CLIENT_LOADGEN_CALLER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/loadgen/chaos.h"
#include "client/loadgen/collector.h"
#include "client/loadgen/sample.h"
#include "winnow/client/client.h"
#include "winnow/client/lease.h"

namespace winnow::stress {

using Connect = std::function<absl::StatusOr<client::Client>()>;

// Thread safety: one thread. The collector and what connects outlive it.
class Caller {
 public:
  // `lease` is what Chaos::kLease opens.
  Caller(Chaos chaos, client::LeaseOptions lease, uint64_t seed, const Connect& connect,
         Collector& collector)
      : chaos_(chaos),
        lease_options_(std::move(lease)),
        connect_(connect),
        collector_(collector),
        random_(seed) {}
  ~Caller();

  // Before each request: connects, or replaces what the mode replaces. An error when no server can
  // be reached.
  absl::Status Prepare();
  // What to send with, valid until the next Prepare.
  client::Client client() const { return lease_.has_value() ? lease_->client() : *client_; }
  // The sample's scores as the request should name them: memory of this process, or a buffer of the
  // lease that holds them. An error when the lease has ended meanwhile.
  absl::StatusOr<client::TensorRef> Scores(const Sample& sample);

 private:
  // How the lease of the moment is to end.
  enum class End { kInOrder, kGivenUp, kByOperator };

  absl::Status PrepareLease();
  void LeaveLease();
  // Ends the lease by its number, as an operator does, from a thread of its own: requests go on
  // being sent meanwhile.
  void StartOperator();

  const Chaos chaos_;
  const client::LeaseOptions lease_options_;
  const Connect& connect_;
  Collector& collector_;
  std::mt19937_64 random_;
  std::optional<client::Client> client_;
  std::optional<client::Lease> lease_;
  std::map<const Bytes*, client::Buffer> buffers_;  // of the lease, so they go first
  End end_ = End::kInOrder;
  std::thread operator_;
  int64_t left_ = 0;  // requests until something is replaced
};

}  // namespace winnow::stress

#endif  // WINNOW_CLIENT_LOADGEN_CALLER_H_
