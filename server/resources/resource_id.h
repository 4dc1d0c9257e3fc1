// Names of what a lease owns.

#ifndef WINNOW_SERVER_RESOURCES_RESOURCE_ID_H_
#define WINNOW_SERVER_RESOURCES_RESOURCE_ID_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace winnow::server {

// A slot of the ledger's table and the generation of its tenant. A released slot is reused under
// the next generation; generations start at a random number, so that an id of an earlier server is
// not taken for one of this.
struct ResourceId {
  int64_t id = 0;  // from 1
  int64_t generation = 0;

  friend bool operator==(const ResourceId& a, const ResourceId& b) {
    return a.id == b.id && a.generation == b.generation;
  }
};

enum class ResourceKind { kBuffer = 1, kImportedBuffer = 2, kPageTable = 3, kPlan = 4 };

// "buffer", "page table" or "plan".
absl::string_view Name(ResourceKind kind);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RESOURCES_RESOURCE_ID_H_
