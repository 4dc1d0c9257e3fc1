#include "server/rpc/lease_streams.h"

#include <string>

#include "server/rpc/lease_stream.h"
#include "server/rpc/response_encoder.h"

namespace winnow::server {

static_assert(static_cast<int>(LeaseEndCause::kNotTold) == v1::LEASE_END_CAUSE_UNSPECIFIED);
static_assert(static_cast<int>(LeaseEndCause::kOperator) == v1::LEASE_END_CAUSE_OPERATOR);
static_assert(static_cast<int>(LeaseEndCause::kClosed) == v1::LEASE_END_CAUSE_CLOSED);
static_assert(static_cast<int>(LeaseEndCause::kDrain) == v1::LEASE_END_CAUSE_DRAIN);

void LeaseStreams::Add(int64_t lease_number, LeaseStream* stream,
                       const v1::OpenLeaseResponse& opened) {
  absl::MutexLock lock(&mu_);
  streams_[lease_number] = stream;
  stream->Send(opened, /*last=*/false);
}

void LeaseStreams::Remove(int64_t lease_number, LeaseStream* stream) {
  absl::MutexLock lock(&mu_);
  const auto found = streams_.find(lease_number);
  if (found != streams_.end() && found->second == stream) streams_.erase(found);
}

// The lock keeps the stream from leaving meanwhile; Send only queues.
void LeaseStreams::SendEnded(int64_t lease_number, LeaseEndCause cause, absl::string_view message) {
  v1::OpenLeaseResponse event;
  event.mutable_ended()->set_cause(static_cast<v1::LeaseEndCause>(cause));
  event.mutable_ended()->set_message(std::string(message));
  absl::MutexLock lock(&mu_);
  const auto found = streams_.find(lease_number);
  if (found != streams_.end()) found->second->Send(event, /*last=*/true);
}

void LeaseStreams::SendDraining(absl::Duration remaining) {
  v1::OpenLeaseResponse event;
  EncodeDuration(remaining, *event.mutable_draining()->mutable_remaining_duration());
  absl::MutexLock lock(&mu_);
  for (const auto& [number, stream] : streams_) stream->Send(event, /*last=*/false);
}

}  // namespace winnow::server
