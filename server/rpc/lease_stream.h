// OpenLease: a stream that holds a lease from its first message to its end.

#ifndef WINNOW_SERVER_RPC_LEASE_STREAM_H_
#define WINNOW_SERVER_RPC_LEASE_STREAM_H_

#include <deque>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/support/async_stream.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/resources/lease_ledger.h"
#include "server/rpc/lease_methods.h"
#include "server/rpc/stream_call.h"

namespace winnow::server {

class LeaseStream final : public StreamCall {
 public:
  LeaseStream(RawLeaseService& service, ServerQueue& queue, RpcEnvironment& environment)
      : StreamCall(queue, environment), service_(service) {}

  void AskForCall() override;

  // Queues an event; the last one ends the stream. From any thread.
  void Send(const v1::OpenLeaseResponse& event, bool last);

 private:
  void OnArrived() override;
  void OnOver() override;
  void OnWritten(bool ok);
  void OnFinished(bool /*ok*/) {}

  absl::StatusOr<LeaseGrant> Grant();
  v1::OpenLeaseResponse OpenedEvent() const;
  void Fail(const absl::Status& status);
  // Sends what is queued next, when nothing is being sent.
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  RawLeaseService& service_;
  grpc::ByteBuffer request_;
  grpc::ServerAsyncWriter<grpc::ByteBuffer> writer_{&context_};
  Tag<LeaseStream> written_{this, &LeaseStream::OnWritten};
  Tag<LeaseStream> finished_{this, &LeaseStream::OnFinished};
  std::optional<LeaseGrant> grant_;  // of the queue's thread

  absl::Mutex mu_;
  std::deque<grpc::ByteBuffer> events_ ABSL_GUARDED_BY(mu_);
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool last_queued_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_LEASE_STREAM_H_
