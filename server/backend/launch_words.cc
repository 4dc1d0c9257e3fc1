// The part of the executor that orders a launch with other processes' work: words that the stream
// waits for and sets. The host thread looks whether a wait has ended now and then, because a peer
// that never sets its word must not keep a launch slot.

#include <algorithm>
#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "server/backend/launch_executor.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/memory_sharing.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

// Short beside a round trip and long beside asking for an event.
constexpr auto kLookAgain = std::chrono::microseconds(20);
// About a millisecond: a device sees a word much sooner, and a peer may have moved it on since.
constexpr int kLooksPerSet = 50;

absl::StatusOr<MemorySharing*> WordsOf(Device& device) {
  if (MemorySharing* sharing = device.memory_sharing()) return sharing;
  return MakeError(
      absl::StatusCode::kUnimplemented,
      absl::StrCat("ordering needs a device that shares memory; this one is ", device.info().kind),
      {.reason = ErrorReason::kNotInBuild, .field = "ordering"});
}

// Not Ok when nobody wants the outcome of any of the items any more.
absl::Status EndedEarly(absl::Span<WorkItem* const> items) {
  WaitEnd why = WaitEnd::kNone;
  for (const WorkItem* item : items) {
    const auto& end = item->ordering.wait_end;
    why = end == nullptr ? WaitEnd::kNone : end->load(std::memory_order_relaxed);
    if (why == WaitEnd::kNone) return absl::OkStatus();
  }
  const bool draining = why == WaitEnd::kDraining;
  return MakeError(absl::StatusCode::kUnavailable,
                   draining ? "the server is shutting down and waits for ordering.wait_for no "
                              "longer; go to another one"
                            : "the lease has ended, and nobody waits for ordering.wait_for",
                   {.reason = draining ? ErrorReason::kServerDraining : ErrorReason::kLeaseEnded,
                    .field = "ordering.wait_for"});
}

}  // namespace

absl::Status LaunchExecutor::EnqueueWait(Items items, Run& run) {
  // The same for all items: it is part of their key.
  const WorkOrdering& ordering = items.front()->ordering;
  if (ordering.wait_word == nullptr) return absl::OkStatus();
  WINNOW_ASSIGN_OR_RETURN(MemorySharing * words, WordsOf(*device_));
  run.waits = true;
  return words->AwaitWord(*stream_, ordering.wait_word, ordering.wait_value);
}

absl::Status LaunchExecutor::EnqueueSets(Items items) {
  for (const WorkItem* item : items) {
    if (item->ordering.set_word == nullptr) continue;
    WINNOW_ASSIGN_OR_RETURN(MemorySharing * words, WordsOf(*device_));
    WINNOW_RETURN_IF_ERROR(
        words->SetWord(*stream_, item->ordering.set_word, item->ordering.set_value));
  }
  return absl::OkStatus();
}

absl::Status LaunchExecutor::AwaitStart(Items items, Run& run) {
  const WorkOrdering& ordering = items.front()->ordering;
  const auto deadline =
      std::chrono::steady_clock::now() + absl::ToChronoMicroseconds(ordering.wait_timeout);
  while (true) {
    WINNOW_ASSIGN_OR_RETURN(const bool started, started_->Done());
    if (started) {
      run.waits = false;
      return absl::OkStatus();
    }
    WINNOW_RETURN_IF_ERROR(EndedEarly(items));
    if (std::chrono::steady_clock::now() >= deadline) break;
    std::this_thread::sleep_for(kLookAgain);
  }
  return MakeError(absl::StatusCode::kDeadlineExceeded,
                   absl::StrCat("ordering.wait_for was not reached within ",
                                absl::FormatDuration(ordering.wait_timeout),
                                "; its writer is late or gone, the outputs are undefined"),
                   {.reason = ErrorReason::kDeadlineExpired, .field = "ordering.wait_for"});
}

absl::Status LaunchExecutor::EndWait(const WorkOrdering& ordering, Run& run) {
  run.waits = false;
  WINNOW_ASSIGN_OR_RETURN(MemorySharing * words, WordsOf(*device_));
  // The other stream of this executor: it is idle.
  Stream& other = stream_ == high_stream_.get() ? *normal_stream_ : *high_stream_;
  // A peer may write over what was set before the device has looked at it: then it is set again. A
  // wait that stays would hold the launch slot for good.
  while (true) {
    // Not back: a word that has come that far or further ends the wait by itself, and whoever waits
    // for its later values must find them.
    uint32_t word = 0;
    WINNOW_RETURN_IF_ERROR(device_->Copy(other, &word, ordering.wait_word, sizeof(word)));
    WINNOW_RETURN_IF_ERROR(other.Synchronize());
    if (static_cast<int32_t>(word - ordering.wait_value) < 0) {
      WINNOW_RETURN_IF_ERROR(words->SetWord(other, ordering.wait_word, ordering.wait_value));
      WINNOW_RETURN_IF_ERROR(other.Synchronize());
    }
    for (int look = 0; look < kLooksPerSet; ++look) {
      WINNOW_ASSIGN_OR_RETURN(const bool started, started_->Done());
      if (started) return absl::OkStatus();
      std::this_thread::sleep_for(kLookAgain);
    }
  }
}

}  // namespace winnow::server
