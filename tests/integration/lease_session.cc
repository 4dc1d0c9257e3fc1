#include "tests/integration/lease_session.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "winnow/client/descriptor_passing.h"

namespace winnow::testing {

LeaseSession::LeaseSession(std::shared_ptr<grpc::Channel> channel, v1::OpenLeaseRequest request)
    : lease_(v1::LeaseService::NewStub(channel)),
      memory_(v1::MemoryService::NewStub(channel)),
      indexer_(v1::IndexerService::NewStub(channel)),
      stream_(lease_->OpenLease(&context_, request)) {
  stream_->Read(&opened_);
}

LeaseSession::~LeaseSession() { Close(); }

grpc::Status LeaseSession::Close() {
  if (std::exchange(closed_, true)) return grpc::Status::OK;
  context_.TryCancel();
  return stream_->Finish();
}

grpc::Status LeaseSession::AwaitEnd() {
  v1::OpenLeaseResponse event;
  while (stream_->Read(&event)) continue;
  closed_ = true;
  return stream_->Finish();
}

grpc::Status LeaseSession::Allocate(int64_t bytes, v1::ResourceId& buffer) {
  v1::AllocateBufferRequest request;
  request.set_lease_id(id());
  request.set_size_bytes(bytes);
  v1::AllocateBufferResponse response;
  const grpc::Status status = memory_->AllocateBuffer(Patient().get(), request, &response);
  buffer = response.buffer();
  return status;
}

grpc::Status LeaseSession::Write(const v1::ResourceId& buffer, int64_t offset,
                                 const std::string& bytes) {
  constexpr size_t kChunk = size_t{1} << 20;
  const auto context = Patient();
  v1::WriteBufferResponse response;
  const auto writer = memory_->WriteBuffer(context.get(), &response);
  for (size_t done = 0; done < bytes.size(); done += kChunk) {
    v1::WriteBufferRequest chunk;
    chunk.set_lease_id(id());
    *chunk.mutable_buffer() = buffer;
    chunk.set_offset_bytes(offset + static_cast<int64_t>(done));
    chunk.set_data(bytes.substr(done, kChunk));
    if (!writer->Write(chunk)) break;
  }
  writer->WritesDone();
  return writer->Finish();
}

grpc::Status LeaseSession::Read(const v1::ResourceId& buffer, std::string& bytes) {
  v1::ReadBufferRequest request;
  request.set_lease_id(id());
  *request.mutable_buffer() = buffer;
  const auto context = Patient();
  const auto reader = memory_->ReadBuffer(context.get(), request);
  v1::ReadBufferResponse chunk;
  bytes.clear();
  while (reader->Read(&chunk)) bytes += chunk.data();
  return reader->Finish();
}

std::string LeaseSession::HandOver(int descriptor) const {
  return client::SendDescriptor(grant().descriptor_socket_path(), id(), descriptor,
                                absl::Seconds(10))
      .value_or("");
}

grpc::Status LeaseSession::Import(int descriptor, int64_t bytes, bool read_only,
                                  v1::ResourceId& buffer) {
  v1::ImportBufferRequest request;
  request.set_lease_id(id());
  request.set_import_token(HandOver(descriptor));
  request.set_size_bytes(bytes);
  request.set_read_only(read_only);
  v1::ImportBufferResponse response;
  const grpc::Status status = memory_->ImportBuffer(Patient().get(), request, &response);
  buffer = response.buffer();
  return status;
}

v1::ListLeasesResponse LeasesOnceAtMost(int count, const ServerProcess& server) {
  const auto admin = server.Admin();
  v1::ListLeasesResponse leases;
  for (int turn = 0; turn < 2000; ++turn) {
    const bool told = admin->ListLeases(Patient().get(), {}, &leases).ok();
    if (told && leases.leases_size() <= count) break;
    usleep(5000);
  }
  return leases;
}

grpc::Status CloseLease(const ServerProcess& server, const std::string& lease_id) {
  const auto leases = v1::LeaseService::NewStub(server.Connect(server.unix_target()));
  v1::CloseLeaseRequest request;
  request.set_lease_id(lease_id);
  v1::CloseLeaseResponse response;
  return leases->CloseLease(Patient().get(), request, &response);
}

v1::Tensor BufferTensor(v1::DataType data_type, int64_t rows, int64_t columns,
                        const v1::ResourceId& buffer, int64_t offset_bytes) {
  v1::Tensor tensor;
  tensor.set_data_type(data_type);
  tensor.set_row_count(rows);
  tensor.set_column_count(columns);
  *tensor.mutable_buffer()->mutable_buffer() = buffer;
  tensor.mutable_buffer()->set_offset_bytes(offset_bytes);
  return tensor;
}

v1::OutputTarget BufferTarget(const v1::ResourceId& buffer, int64_t offset_bytes) {
  v1::OutputTarget target;
  target.set_placement(v1::OUTPUT_PLACEMENT_BUFFER);
  *target.mutable_buffer()->mutable_buffer() = buffer;
  target.mutable_buffer()->set_offset_bytes(offset_bytes);
  return target;
}

}  // namespace winnow::testing
