#include "client/cli/probe_lease.h"

#include <chrono>
#include <utility>

#include "client/cli/probe_row.h"
#include "grpcpp/create_channel.h"
#include "winnow/client/descriptor_passing.h"

namespace winnow::cli {
namespace {

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

void SetBuffer(const v1::ResourceId& buffer, int64_t offset, v1::BufferRange& range) {
  *range.mutable_buffer() = buffer;
  range.set_offset_bytes(offset);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ProbeLease>> ProbeLease::Open(const std::string& target,
                                                             absl::Duration timeout,
                                                             int32_t device) {
  auto lease = std::unique_ptr<ProbeLease>(new ProbeLease(timeout));
  const auto channel = grpc::CreateChannel(target, grpc::InsecureChannelCredentials());
  lease->leases_ = v1::LeaseService::NewStub(channel);
  lease->memory_ = v1::MemoryService::NewStub(channel);
  lease->indexer_ = v1::IndexerService::NewStub(channel);
  v1::OpenLeaseRequest request;
  request.set_display_name("winnow probe");
  request.set_device(device);
  lease->stream_ = lease->leases_->OpenLease(&lease->lease_context_, request);
  v1::OpenLeaseResponse event;
  if (!lease->stream_->Read(&event)) {
    const absl::Status status = FromGrpc(std::exchange(lease->stream_, nullptr)->Finish());
    return status.ok() ? absl::UnavailableError("the lease ended at once") : status;
  }
  lease->opened_ = event.opened();
  lease->opened_.set_descriptor_socket_path(
      client::DescriptorSocketPath(target, lease->opened_.descriptor_socket_path()));
  return lease;
}

ProbeLease::~ProbeLease() {
  if (stream_ == nullptr) return;
  lease_context_.TryCancel();
  stream_->Finish();
}

std::unique_ptr<grpc::ClientContext> ProbeLease::Context() const {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(timeout_));
  return context;
}

absl::StatusOr<v1::AllocateBufferResponse> ProbeLease::Allocate(v1::ExportKind export_kind) {
  v1::AllocateBufferRequest request;
  request.set_lease_id(opened_.lease_id());
  request.set_size_bytes(kProbeBytes);
  request.set_export_kind(export_kind);
  v1::AllocateBufferResponse response;
  const grpc::Status status = memory_->AllocateBuffer(Context().get(), request, &response);
  if (!status.ok()) return FromGrpc(status);
  return response;
}

absl::StatusOr<v1::ResourceId> ProbeLease::Import(v1::ImportBufferRequest request) {
  request.set_lease_id(opened_.lease_id());
  request.set_size_bytes(kProbeBytes);
  v1::ImportBufferResponse response;
  const grpc::Status status = memory_->ImportBuffer(Context().get(), request, &response);
  if (!status.ok()) return FromGrpc(status);
  return response.buffer();
}

absl::StatusOr<v1::ExportBufferResponse> ProbeLease::Export(const v1::ResourceId& buffer) {
  v1::ExportBufferRequest request;
  request.set_lease_id(opened_.lease_id());
  *request.mutable_buffer() = buffer;
  v1::ExportBufferResponse response;
  const grpc::Status status = memory_->ExportBuffer(Context().get(), request, &response);
  if (!status.ok()) return FromGrpc(status);
  return response;
}

absl::Status ProbeLease::Select(const v1::ResourceId& buffer) {
  v1::TopKRequest request;
  request.set_lease_id(opened_.lease_id());
  v1::TopKStep& step = *request.mutable_step();
  v1::Tensor& scores = *step.mutable_scores();
  scores.set_data_type(v1::DATA_TYPE_FLOAT32);
  scores.set_row_count(1);
  scores.set_column_count(kProbeColumns);
  SetBuffer(buffer, kProbeScoresAt, *scores.mutable_buffer());
  v1::Tensor& lengths = *step.mutable_lengths();
  lengths.set_data_type(v1::DATA_TYPE_INT32);
  lengths.set_row_count(1);
  lengths.set_column_count(1);
  const int32_t length = kProbeColumns;
  lengths.set_inline_data(&length, sizeof(length));
  step.set_k(kProbeK);
  step.set_deterministic(true);
  step.set_order(v1::SELECTION_ORDER_SCORE);
  step.mutable_indices()->set_placement(v1::OUTPUT_PLACEMENT_BUFFER);
  SetBuffer(buffer, kProbeAnswerAt, *step.mutable_indices()->mutable_buffer());
  v1::TopKResponse response;
  return FromGrpc(indexer_->TopK(Context().get(), request, &response));
}

absl::StatusOr<std::string> ProbeLease::SendDescriptor(int descriptor) {
  return client::SendDescriptor(opened_.descriptor_socket_path(), opened_.lease_id(), descriptor,
                                timeout_);
}

absl::StatusOr<client::UniqueDescriptor> ProbeLease::FetchDescriptor(
    const std::string& export_token) {
  return client::FetchDescriptor(opened_.descriptor_socket_path(), opened_.lease_id(), export_token,
                                 timeout_);
}

}  // namespace winnow::cli
