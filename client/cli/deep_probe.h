// winnow probe --deep: tries each way of giving a server data, on the spot, and says in words what
// is right or wrong with this host. Next: gpu_probe.h for memory of a GPU.

#ifndef WINNOW_CLIENT_CLI_DEEP_PROBE_H_
#define WINNOW_CLIENT_CLI_DEEP_PROBE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/cli/session.h"

namespace winnow::cli {

enum class Verdict {
  kOk,
  kNotOk,     // the command fails
  kNotTried,  // with the reason
  kNote,      // worth knowing, and no fault
};
// "ok", "not ok", "not tried", "note".
absl::string_view Name(Verdict verdict);

struct Finding {
  std::string what;  // "shared memory"
  Verdict verdict = Verdict::kOk;
  std::string said;  // how it went, or what is wrong and what helps; one line
};

// Said of a way through which a selection came out right.
inline constexpr char kSelects[] = "selects right";

// What was found, in order.
class Findings {
 public:
  void Say(std::string what, Verdict verdict, std::string said) {
    found_.push_back({std::move(what), verdict, std::move(said)});
  }
  // The outcome of something that was tried: `good` when it went well, else why not and `advice`.
  void Tried(std::string what, const absl::Status& status, absl::string_view good,
             absl::string_view advice);
  const std::vector<Finding>& all() const { return found_; }

 private:
  std::vector<Finding> found_;
};

// Looks at the host and tries each way with a real selection whose answer is known. Takes about a
// second and a few MiB of the server's memory, in a lease of its own that ends with it.
Findings ProbeDeeply(const Session& session, const TargetOptions& options);

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_DEEP_PROBE_H_
