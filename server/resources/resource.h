// What every resource has: its kind, its size and what it holds of its lease's quotas.

#ifndef WINNOW_SERVER_RESOURCES_RESOURCE_H_
#define WINNOW_SERVER_RESOURCES_RESOURCE_H_

#include <cstdint>
#include <vector>

#include "server/resources/quota.h"
#include "server/resources/resource_id.h"

namespace winnow::server {

// Shared between the ledger and the requests that use it: memory and quota come back when the last
// of them lets go, so that a release never takes memory from a running request.
class Resource {
 public:
  virtual ~Resource() = default;

  virtual ResourceKind kind() const = 0;
  // Bytes that count against the quotas.
  virtual int64_t size_bytes() const = 0;
  // Version of a page table, from 1; 0 for other kinds.
  virtual int64_t version() const { return 0; }

  // Called by the ledger before the resource is shared.
  void Hold(std::vector<QuotaHold> holds) { holds_ = std::move(holds); }

 private:
  std::vector<QuotaHold> holds_;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RESOURCES_RESOURCE_H_
