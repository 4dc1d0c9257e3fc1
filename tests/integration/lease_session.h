// A client's side of a lease, over the bare stubs: the stream that holds it, and short forms of the
// calls.

#ifndef WINNOW_TESTS_INTEGRATION_LEASE_SESSION_H_
#define WINNOW_TESTS_INTEGRATION_LEASE_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "tests/integration/server_process.h"
#include "winnow/v1/indexer_service.grpc.pb.h"
#include "winnow/v1/lease_service.grpc.pb.h"
#include "winnow/v1/memory_service.grpc.pb.h"

namespace winnow::testing {

class LeaseSession {
 public:
  // Opens a lease; see opened(). A channel of its own, so that ending the process ends the stream.
  LeaseSession(std::shared_ptr<grpc::Channel> channel, v1::OpenLeaseRequest request);
  ~LeaseSession();
  LeaseSession(const LeaseSession&) = delete;
  LeaseSession& operator=(const LeaseSession&) = delete;

  bool opened() const { return opened_.has_opened(); }
  const v1::LeaseOpened& grant() const { return opened_.opened(); }
  const std::string& id() const { return opened_.opened().lease_id(); }

  // The next event; blocks. False at the end of the stream.
  bool NextEvent(v1::OpenLeaseResponse& event) { return stream_->Read(&event); }
  // Gives the stream up as a client that goes away does; the status it ended with.
  grpc::Status Close();
  // Reads to the end of the stream, which the server makes; the status.
  grpc::Status AwaitEnd();

  v1::LeaseService::Stub& leases() { return *lease_; }
  v1::IndexerService::Stub& indexer() { return *indexer_; }
  v1::MemoryService::Stub& memory() { return *memory_; }

  grpc::Status Allocate(int64_t bytes, v1::ResourceId& buffer);
  grpc::Status Write(const v1::ResourceId& buffer, int64_t offset, const std::string& bytes);
  grpc::Status Read(const v1::ResourceId& buffer, std::string& bytes);
  // Hands a descriptor over; the token of ImportBuffer, empty when that failed.
  std::string HandOver(int descriptor) const;
  // Hands over shared memory and imports its first `bytes`.
  grpc::Status Import(int descriptor, int64_t bytes, bool read_only, v1::ResourceId& buffer);

 private:
  std::unique_ptr<v1::LeaseService::Stub> lease_;
  std::unique_ptr<v1::MemoryService::Stub> memory_;
  std::unique_ptr<v1::IndexerService::Stub> indexer_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::OpenLeaseResponse>> stream_;
  v1::OpenLeaseResponse opened_;
  bool closed_ = false;
};

// Waits until the server knows at most `count` leases, bounded: the end of a stream reaches it
// within milliseconds.
v1::ListLeasesResponse LeasesOnceAtMost(int count, const ServerProcess& server);

// CloseLease over a channel that has nothing to do with the lease.
grpc::Status CloseLease(const ServerProcess& server, const std::string& lease_id);

// A tensor in a buffer.
v1::Tensor BufferTensor(v1::DataType data_type, int64_t rows, int64_t columns,
                        const v1::ResourceId& buffer, int64_t offset_bytes = 0);
// An output to a buffer.
v1::OutputTarget BufferTarget(const v1::ResourceId& buffer, int64_t offset_bytes = 0);

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_INTEGRATION_LEASE_SESSION_H_
