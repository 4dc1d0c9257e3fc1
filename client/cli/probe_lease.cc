#include "client/cli/probe_lease.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/probe_row.h"
#include "grpcpp/create_channel.h"

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

absl::Status SocketError(const std::string& path, const char* doing) {
  return absl::UnavailableError(absl::StrCat(doing, " ", path, ": ", std::strerror(errno)));
}

// One packet with room for one descriptor; -1 when none came.
absl::StatusOr<std::pair<std::string, int>> Receive(int connection, const std::string& path) {
  char bytes[512];
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  iovec part = {.iov_base = bytes, .iov_len = sizeof(bytes)};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t received = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
  if (received <= 0) return SocketError(path, "no answer from");
  int descriptor = -1;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof(int));
  }
  return std::pair(std::string(bytes, static_cast<size_t>(received)), descriptor);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ProbeLease>> ProbeLease::Open(const std::string& target,
                                                             absl::Duration timeout) {
  auto lease = std::unique_ptr<ProbeLease>(new ProbeLease(timeout));
  const auto channel = grpc::CreateChannel(target, grpc::InsecureChannelCredentials());
  lease->leases_ = v1::LeaseService::NewStub(channel);
  lease->memory_ = v1::MemoryService::NewStub(channel);
  lease->indexer_ = v1::IndexerService::NewStub(channel);
  v1::OpenLeaseRequest request;
  request.set_display_name("winnow probe");
  lease->stream_ = lease->leases_->OpenLease(&lease->lease_context_, request);
  v1::OpenLeaseResponse event;
  if (!lease->stream_->Read(&event)) {
    const absl::Status status = FromGrpc(std::exchange(lease->stream_, nullptr)->Finish());
    return status.ok() ? absl::UnavailableError("the lease ended at once") : status;
  }
  lease->opened_ = event.opened();
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

absl::StatusOr<int> ProbeLease::ConnectToDescriptors() const {
  const std::string& path = opened_.descriptor_socket_path();
  if (path.empty()) {
    return absl::UnavailableError("the server has no descriptor socket: it listens on TCP alone");
  }
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return absl::InternalError("path too long");
  std::copy(path.begin(), path.end(), address.sun_path);
  const int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (connection < 0) return SocketError(path, "no socket for");
  const timeval wait = absl::ToTimeval(timeout_);
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
  if (connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    return connection;
  }
  const absl::Status status = SocketError(path, "cannot connect to");
  close(connection);
  return status;
}

absl::StatusOr<std::string> ProbeLease::SendDescriptor(int descriptor) {
  const absl::StatusOr<int> connection = ConnectToDescriptors();
  if (!connection.ok()) return connection.status();
  const std::string& lease_id = opened_.lease_id();
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  iovec part = {.iov_base = const_cast<char*>(lease_id.data()), .iov_len = lease_id.size()};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  const bool sent = sendmsg(*connection, &message, MSG_NOSIGNAL) > 0;
  const auto answer = sent ? Receive(*connection, opened_.descriptor_socket_path())
                           : SocketError(opened_.descriptor_socket_path(), "cannot send to");
  close(*connection);
  if (!answer.ok()) return answer.status();
  if (answer->first.front() == 'T') return answer->first.substr(1);
  return absl::FailedPreconditionError(answer->first.substr(1));
}

absl::StatusOr<int> ProbeLease::FetchDescriptor(const std::string& export_token) {
  const absl::StatusOr<int> connection = ConnectToDescriptors();
  if (!connection.ok()) return connection.status();
  const std::string ask = opened_.lease_id() + export_token;
  const bool sent = send(*connection, ask.data(), ask.size(), MSG_NOSIGNAL) > 0;
  const auto answer = sent ? Receive(*connection, opened_.descriptor_socket_path())
                           : SocketError(opened_.descriptor_socket_path(), "cannot send to");
  close(*connection);
  if (!answer.ok()) return answer.status();
  if (answer->first == "D" && answer->second >= 0) return answer->second;
  return absl::FailedPreconditionError(answer->first.substr(1));
}

}  // namespace winnow::cli
