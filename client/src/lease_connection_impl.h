// The lease behind Client::OpenLease.

#ifndef WINNOW_CLIENT_SRC_LEASE_CONNECTION_IMPL_H_
#define WINNOW_CLIENT_SRC_LEASE_CONNECTION_IMPL_H_

#include <memory>

#include "absl/functional/function_ref.h"
#include "client/src/call.h"
#include "client/src/lease_core.h"
#include "client/src/lease_keeper.h"
#include "client/src/resource_calls.h"
#include "winnow/client/lease_connection.h"

namespace winnow::client {

// Every call that makes, changes or releases a resource is a mutation of the core, so that a
// recovery meets none half done. client/README.md says which of them are repeated when.
class LeaseConnectionImpl final : public LeaseConnection {
 public:
  // The lease is open in `core`, and `keeper` keeps it so. `operations` runs under the lease.
  LeaseConnectionImpl(ClientOptions defaults, LeaseChannel channel, std::shared_ptr<LeaseCore> core,
                      std::shared_ptr<LeaseKeeper> keeper, std::shared_ptr<Connection> operations);
  ~LeaseConnectionImpl() override;

  absl::Status Close(const CallOptions& options) override;
  void End() override;
  std::shared_ptr<Connection> operations() override { return operations_; }
  LeaseQuota quota() const override { return core_->quota(); }
  int32_t device() const override { return core_->device(); }
  absl::Status status() const override { return core_->status(); }

  absl::StatusOr<ResourceRef> AllocateBuffer(int64_t size_bytes,
                                             const CallOptions& options) override;
  absl::StatusOr<ResourceRef> ImportBuffer(const SharedMemoryRange& memory,
                                           const CallOptions& options) override;
  absl::Status WriteBuffer(const ResourceRef& buffer, int64_t offset_bytes,
                           absl::Span<const std::byte> bytes, const CallOptions& options) override;
  absl::Status ReadBuffer(const ResourceRef& buffer, int64_t offset_bytes,
                          absl::Span<std::byte> bytes, const CallOptions& options) override;
  bool ContentsLost(const ResourceRef& buffer) const override;
  void AcceptLoss(const ResourceRef& buffer) override;

  absl::StatusOr<ResourceRef> CreatePageTable(const PageTableOptions& table,
                                              const CallOptions& options) override;
  absl::StatusOr<int64_t> UpdatePageTable(const ResourceRef& table, const PageTableUpdate& update,
                                          const CallOptions& options) override;
  absl::StatusOr<ResourceRef> ForkPageTable(const ResourceRef& table,
                                            absl::Span<const int64_t> source_rows,
                                            const CallOptions& options) override;
  int64_t PageTableVersion(const ResourceRef& table) const override;

  absl::StatusOr<ResourceRef> CreatePlan(const PlanTopKRequest& request,
                                         const CallOptions& options) override;
  PlanTopKResult PlanSummary(const ResourceRef& plan) const override;

  absl::Status Release(const ResourceRef& resource, const CallOptions& options) override;

 private:
  // What became of a mutation whose lease was lost.
  enum class AfterLoss {
    kRepeat,
    kRepeatOnOtherServer,
    kRepeatAlways,  // also when only the reply was lost; it finds out what that one did
  };
  using Attempt = absl::FunctionRef<absl::Status(ResourceCalls&, const LeasePass&)>;

  // Runs `attempt` while the lease is open, and again where the lease was lost under it.
  absl::Status Mutate(const CallOptions& options, AfterLoss after_loss, Attempt attempt);
  // Gives back what the server may hold though nobody here knows it; see lease_sweep.h.
  void SweepIfInDoubt(const CallSettings& settings, const std::stop_token& stop);
  // Makes a new resource.
  absl::StatusOr<ResourceRef> Create(
      ResourceRecord::Source source, const CallOptions& options,
      absl::FunctionRef<absl::StatusOr<ServerResourceId>(ResourceCalls&, ResourceRecord&)> make);
  // Finds out whether an update of the table whose reply was lost was applied. The record's
  // mutation is held.
  absl::Status ResolvePending(ResourceCalls& calls, const ResourceRef& ref,
                              const ResourceRecord& record);
  absl::Status UpdateOnce(ResourceCalls& calls, const ResourceRef& ref,
                          const std::shared_ptr<PageTableMirror::Pending>& pending);

  const ClientOptions defaults_;
  const LeaseChannel channel_;
  const std::shared_ptr<LeaseCore> core_;  // shared with the keeper and the gates of calls
  const std::shared_ptr<LeaseKeeper> keeper_;
  const std::shared_ptr<Connection> operations_;
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_LEASE_CONNECTION_IMPL_H_
