// The RPCs that make, change and release the resources of one lease of a server.

#ifndef WINNOW_CLIENT_SRC_RESOURCE_CALLS_H_
#define WINNOW_CLIENT_SRC_RESOURCE_CALLS_H_

#include <cstdint>
#include <stop_token>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "client/src/call.h"
#include "client/src/lease_core.h"
#include "client/src/resource_record.h"
#include "winnow/client/options.h"
#include "winnow/v1/indexer_service.pb.h"
#include "winnow/v1/memory_service.pb.h"

namespace winnow::client {

// Failures that the server answered with are tried again as the retry policy says; those that leave
// open what it did are not: whoever knows the lease decides. Blocking. Thread safety: one thread at
// a time.
class ResourceCalls {
 public:
  // `environment` outlives it; `settings` has timeout, retry and metadata.
  ResourceCalls(const CallEnvironment& environment, CallSettings settings, std::stop_token stop,
                LeasePass lease);

  absl::StatusOr<ServerResourceId> AllocateBuffer(int64_t size_bytes);
  absl::StatusOr<ServerResourceId> ImportBuffer(const ImportedSource& memory);
  absl::Status WriteBuffer(const ServerResourceId& buffer, int64_t offset_bytes,
                           absl::Span<const std::byte> bytes);
  absl::Status ReadBuffer(const ServerResourceId& buffer, int64_t offset_bytes,
                          absl::Span<std::byte> bytes);
  absl::StatusOr<ServerResourceId> CreatePageTable(const PageTableOptions& table);
  // `expected_version` 0: any.
  absl::StatusOr<int64_t> UpdatePageTable(const ServerResourceId& table,
                                          const PageTableUpdate& update, int64_t expected_version);
  absl::StatusOr<ServerResourceId> ForkPageTable(const ServerResourceId& table,
                                                 absl::Span<const int64_t> source_rows);
  // Sets the summary.
  absl::StatusOr<ServerResourceId> CreatePlan(PlanSource& plan);
  absl::Status Release(ResourceKind kind, const ServerResourceId& resource);
  absl::StatusOr<v1::ListResourcesResponse> List();
  // Of a page table. NotFound when the lease has none of that id.
  absl::StatusOr<int64_t> VersionOf(const ServerResourceId& table);

  // Makes the resource of `record` anew, with what the client knows of it.
  absl::StatusOr<ServerResourceId> Make(ResourceRecord& record);

 private:
  absl::Status Call(const char* method, const google::protobuf::MessageLite& request,
                    google::protobuf::MessageLite& response);
  absl::StatusOr<ServerResourceId> MakePageTable(PageTableMirror& table);
  // What it means that the descriptor socket refused a descriptor of the lease.
  absl::Status Judged(const absl::Status& refusal);
  AttemptOptions StreamOptions() const;
  // The outcome of a stream, as RunCall tells it.
  absl::Status Explained(const absl::Status& status) const;

  const CallEnvironment& environment_;
  CallSettings settings_;
  const std::stop_token stop_;
  const LeasePass lease_;
};

ServerResourceId FromProto(const v1::ResourceId& id);

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_RESOURCE_CALLS_H_
