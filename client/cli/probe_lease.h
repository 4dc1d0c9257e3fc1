// A lease for gpu_probe.cc, over a Unix socket: the calls for memory of a GPU, which the client
// library does not have, because it knows no CUDA.

#ifndef WINNOW_CLIENT_CLI_PROBE_LEASE_H_
#define WINNOW_CLIENT_CLI_PROBE_LEASE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "winnow/client/unique_descriptor.h"
#include "winnow/v1/indexer_service.grpc.pb.h"
#include "winnow/v1/lease_service.grpc.pb.h"
#include "winnow/v1/memory_service.grpc.pb.h"

namespace winnow::cli {

// Not thread-safe. The lease ends with it.
class ProbeLease {
 public:
  static absl::StatusOr<std::unique_ptr<ProbeLease>> Open(const std::string& target,
                                                          absl::Duration timeout, int32_t device);
  ~ProbeLease();

  absl::StatusOr<v1::AllocateBufferResponse> Allocate(v1::ExportKind export_kind);
  absl::StatusOr<v1::ResourceId> Import(v1::ImportBufferRequest request);
  absl::StatusOr<v1::ExportBufferResponse> Export(const v1::ResourceId& buffer);
  // Selects from the row of probe_row.h in the buffer; the positions go to the buffer.
  absl::Status Select(const v1::ResourceId& buffer);

  // Sends a descriptor over the descriptor socket; the token to import it with.
  absl::StatusOr<std::string> SendDescriptor(int descriptor);
  // The descriptor that an export token stands for.
  absl::StatusOr<client::UniqueDescriptor> FetchDescriptor(const std::string& export_token);

 private:
  explicit ProbeLease(absl::Duration timeout) : timeout_(timeout) {}
  std::unique_ptr<grpc::ClientContext> Context() const;

  const absl::Duration timeout_;
  std::unique_ptr<v1::LeaseService::Stub> leases_;
  std::unique_ptr<v1::MemoryService::Stub> memory_;
  std::unique_ptr<v1::IndexerService::Stub> indexer_;
  grpc::ClientContext lease_context_;
  std::unique_ptr<grpc::ClientReader<v1::OpenLeaseResponse>> stream_;
  v1::LeaseOpened opened_;
};

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_PROBE_LEASE_H_
