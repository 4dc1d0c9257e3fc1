#include "client/loadgen/caller.h"

#include <utility>

#include "absl/time/clock.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::stress {
namespace {

constexpr int kRequestsOfAConnection = 20;
constexpr int64_t kRequestsAfterOperator = 8;            // sent while the lease ends
constexpr absl::Duration kPatience = absl::Seconds(60);  // for the last answers

}  // namespace

absl::Status Caller::Prepare() {
  if (chaos_ == Chaos::kLease) return PrepareLease();
  if (client_.has_value() && (chaos_ != Chaos::kChurn || left_-- > 0)) return absl::OkStatus();
  // The end of a client cancels its calls, so the former waits until they are answered.
  if (client_.has_value()) collector_.AwaitBelow(1, absl::Now() + kPatience);
  left_ = kRequestsOfAConnection - 1;
  WINNOW_ASSIGN_OR_RETURN(client_, connect_());
  return absl::OkStatus();
}

Caller::~Caller() {
  if (operator_.joinable()) operator_.join();
}

absl::Status Caller::PrepareLease() {
  if (lease_.has_value() && left_-- > 0 && lease_->status().ok()) {
    if (end_ == End::kByOperator && left_ == kRequestsAfterOperator) StartOperator();
    return absl::OkStatus();
  }
  if (!client_.has_value()) {
    WINNOW_ASSIGN_OR_RETURN(client_, connect_());
  }
  LeaveLease();
  left_ = 2 * kRequestsAfterOperator + static_cast<int64_t>(random_() % 48);
  end_ = static_cast<End>(random_() % 3);
  WINNOW_ASSIGN_OR_RETURN(lease_, client_->OpenLease(lease_options_));
  return absl::OkStatus();
}

void Caller::StartOperator() {
  operator_ = std::thread([client = *client_, name = lease_options_.display_name] {
    const auto leases = client.ListLeases();
    if (!leases.ok()) return;  // a listener that does not administrate
    for (const client::LeaseDescription& lease : *leases) {
      if (lease.display_name != name) continue;
      client.EndLease({.number = lease.number, .message = "chaos"}).IgnoreError();
    }
  });
}

void Caller::LeaveLease() {
  if (operator_.joinable()) operator_.join();
  if (!lease_.has_value()) return;
  if (end_ == End::kInOrder) collector_.AwaitBelow(1, absl::Now() + kPatience);
  buffers_.clear();
  lease_.reset();
}

absl::StatusOr<client::TensorRef> Caller::Scores(const Sample& sample) {
  if (!lease_.has_value()) return client::TensorRef(sample.View());
  const auto [found, is_new] = buffers_.try_emplace(sample.scores.get());
  if (is_new) {
    const auto size = static_cast<int64_t>(sample.scores->size());
    absl::StatusOr<client::Buffer> buffer = lease_->AllocateBuffer(size);
    absl::Status status = buffer.status();
    if (status.ok()) status = buffer->Write(0, *sample.scores);
    if (!status.ok()) {
      buffers_.erase(found);
      left_ = 0;
      return status;
    }
    found->second = *std::move(buffer);
  }
  return client::TensorRef(
      found->second.AsMatrix(sample.shape.dtype, sample.shape.rows, sample.shape.columns));
}

}  // namespace winnow::stress
