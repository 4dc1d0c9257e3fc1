// Recorded load: which request came when, with its sizes and without its scores. README.md
// documents the format.

#ifndef WINNOW_CLIENT_LOADGEN_TRACE_H_
#define WINNOW_CLIENT_LOADGEN_TRACE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/loadgen/shape.h"

namespace winnow::stress {

struct TraceEntry {
  absl::Duration at;  // from the start of the trace
  Shape shape;
  std::vector<int32_t> lengths;  // one for each row; of consume the candidates of each
};

struct Trace {
  std::string origin;               // where it comes from, in the file's own words
  absl::Duration period;            // after which it may begin again
  std::vector<TraceEntry> entries;  // by time, at least one
};

// InvalidArgument names the line, the key and what is accepted.
absl::StatusOr<Trace> ParseTrace(absl::string_view text);
// InvalidArgument, besides: the file cannot be read, or is larger than 256 MiB.
absl::StatusOr<Trace> ReadTrace(const std::string& path);

}  // namespace winnow::stress

#endif  // WINNOW_CLIENT_LOADGEN_TRACE_H_
