// What winnow-stress does: one run or a search, its report, and the judgement of the server.

#ifndef WINNOW_CLIENT_LOADGEN_SESSION_H_
#define WINNOW_CLIENT_LOADGEN_SESSION_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/loadgen/arguments.h"
#include "client/loadgen/report.h"
#include "winnow/client/client.h"

namespace winnow::stress {

class Session {
 public:
  static absl::StatusOr<Session> Create(const Arguments& arguments);

  // Prints to stdout, progress to stderr. Whether every verified result was right, every failure
  // was one that the mode explains, and the server held nothing afterwards. An error when the
  // server cannot be reached or a file not be written.
  absl::StatusOr<bool> Run();

 private:
  Session(const Arguments& arguments, Settings settings)
      : arguments_(arguments), settings_(std::move(settings)) {}

  absl::StatusOr<client::Client> Connect() const;
  absl::Status RunOnce(const RunOptions& options);
  absl::Status RunWithChild();
  bool Holds(const Point& point) const;
  absl::Status Search();
  absl::Status WriteFiles() const;
  absl::StatusOr<bool> Judge(const client::Client& client, int64_t bytes_before) const;

  Arguments arguments_;
  Settings settings_;
  std::vector<Point> points_;
  int64_t child_failures_ = 0;
};

}  // namespace winnow::stress

#endif  // WINNOW_CLIENT_LOADGEN_SESSION_H_
