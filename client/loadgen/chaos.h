// What a run does to the server besides asking it, and which failures that explains.

#ifndef WINNOW_CLIENT_LOADGEN_CHAOS_H_
#define WINNOW_CLIENT_LOADGEN_CHAOS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace winnow::stress {

enum class Chaos {
  kNone,
  kCancel,     // a third of the calls is cancelled, up to 2 ms after it was sent
  kDeadline,   // half of the calls has a deadline of 50 us to 2 ms
  kMalformed,  // half of the requests is invalid and must be refused as such
  kChurn,      // a new connection for every 20 requests
  kLease,      // scores in buffers of a lease, which ends or is ended while requests use it; a
               // second process that does the same is killed now and then
  kSlow,       // a second process sends the same requests and stops reading for up to 2 s
};
absl::StatusOr<Chaos> ParseChaos(absl::string_view name);

// Whether the mode makes such an error come. `malformed`: the request was. A full queue is no
// failure of a server: it says so.
bool Explains(Chaos chaos, bool malformed, const absl::Status& status);

}  // namespace winnow::stress

#endif  // WINNOW_CLIENT_LOADGEN_CHAOS_H_
