// What a lease's client remembers of a resource: enough to make it again on another server.

#ifndef WINNOW_CLIENT_SRC_RESOURCE_RECORD_H_
#define WINNOW_CLIENT_SRC_RESOURCE_RECORD_H_

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "client/src/byte_ranges.h"
#include "client/src/page_table_mirror.h"
#include "winnow/client/requests.h"
#include "winnow/client/results.h"
#include "winnow/client/unique_descriptor.h"

namespace winnow::client {

enum class ResourceKind { kBuffer, kPageTable, kPlan };

// As the server names it; see winnow.v1.ResourceId.
struct ServerResourceId {
  int64_t id = 0;
  int64_t generation = 0;

  friend bool operator==(const ServerResourceId&, const ServerResourceId&) = default;
};

struct AllocatedSource {
  int64_t size_bytes = 0;
};
struct ImportedSource {
  UniqueDescriptor descriptor;
  int64_t offset_bytes = 0;
  int64_t size_bytes = 0;
  bool read_only = false;
};
struct PlanSource {
  PlanTopKRequest request;       // without lengths
  std::vector<int32_t> lengths;  // of the request
  PlanTopKResult summary;
};

// Guarded by the mutex of the LeaseCore that holds it, but for what `source` says.
struct ResourceRecord {
  using Source = std::variant<AllocatedSource, ImportedSource, PageTableMirror, PlanSource>;
  explicit ResourceRecord(Source from) : source(std::move(from)) {}

  ResourceKind kind() const;
  // Of a buffer; 0 for other kinds.
  int64_t size_bytes() const;

  // Changed by one mutation of the lease at a time (`mutation` is held), and by the keeper while
  // there is none. The summary of a plan and the versions of a mirror are read by others, too.
  Source source;
  absl::Mutex mutation;

  ServerResourceId id;
  absl::Status broken;  // why it could not be made again
  ByteRanges lost;      // of an allocated buffer
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_RESOURCE_RECORD_H_
