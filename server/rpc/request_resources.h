// What one request uses of its lease: resources are found once, by id, and held until the request
// is done.

#ifndef WINNOW_SERVER_RPC_REQUEST_RESOURCES_H_
#define WINNOW_SERVER_RPC_REQUEST_RESOURCES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/resources/buffer.h"
#include "server/resources/lease_ledger.h"
#include "server/resources/page_table.h"
#include "server/resources/plan.h"
#include "winnow/v1/tensor.pb.h"

namespace winnow::server {

// Connections without a lease are flows of their own; their numbers never meet those of leases.
inline constexpr int64_t kFirstConnectionFlow = int64_t{1} << 62;

// Not thread-safe while it is filled; but for LetGo constant afterwards.
class RequestResources {
 public:
  // LEASE_NOT_FOUND, LEASE_ENDED, or QUOTA_EXCEEDED for the lease's requests in flight. `ledger`
  // outlives it.
  static absl::StatusOr<std::shared_ptr<RequestResources>> Open(LeaseLedger& ledger,
                                                                absl::string_view lease_id);
  ~RequestResources() { LetGo(); }
  RequestResources(const RequestResources&) = delete;
  RequestResources& operator=(const RequestResources&) = delete;

  // Errors name `field`.
  absl::StatusOr<std::shared_ptr<Buffer>> FindBuffer(absl::string_view field,
                                                     const v1::ResourceId& id);
  absl::StatusOr<std::shared_ptr<PageTable>> FindPageTable(absl::string_view field,
                                                           const v1::ResourceId& id);
  absl::StatusOr<std::shared_ptr<Plan>> FindPlan(absl::string_view field, const v1::ResourceId& id);

  // The request will write that region of `buffer`, one that FindBuffer gave. FailedPrecondition
  // (RESOURCE_BUSY) when another request in flight writes into it.
  absl::Status ClaimWrite(absl::string_view field, Buffer& buffer, const StridedRegion& region);
  // Before the request is answered: then its client may have another one write there, has its place
  // among the lease's requests in flight, and finds free what it releases. Ends what Find* and Hold
  // promised; what the lease is called and where it lives can still be asked.
  void LetGo();

  // Keeps `owner` until the request is done.
  void Hold(std::shared_ptr<const void> owner) { held_.push_back(std::move(owner)); }

  // After the work: FailedPrecondition when shared memory that it used went away meanwhile. Says
  // which buffer by its id: the request may name it in several fields.
  absl::Status Intact() const;

  int64_t flow_id() const { return use_.number; }
  int32_t flow_weight() const { return use_.weight; }
  int32_t device_place() const { return use_.device_place; }
  const std::string& lease_id() const { return lease_id_; }

 private:
  RequestResources(LeaseLedger& ledger, absl::string_view lease_id, LeaseUse use)
      : ledger_(ledger), lease_id_(lease_id), use_(std::move(use)) {}

  LeaseLedger& ledger_;
  const std::string lease_id_;
  LeaseUse use_;
  std::vector<std::shared_ptr<const void>> held_;
  struct UsedBuffer {
    std::shared_ptr<Buffer> buffer;
    int64_t id = 0;
  };
  std::vector<UsedBuffer> buffers_;
  std::vector<Buffer*> claimed_;  // of buffers_
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_REQUEST_RESOURCES_H_
