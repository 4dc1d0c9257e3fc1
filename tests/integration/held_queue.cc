#include "tests/integration/held_queue.h"

#include <cstdio>
#include <cstdlib>

#include "absl/time/clock.h"

namespace winnow::testing {
namespace {

constexpr int kSlowRequests = 200;

}  // namespace

HeldQueue::HeldQueue()
    : server_(
          {.flags = {"--queues=1", "--threads=1", "--launch-slots=1", "--max-batch-requests=1"}}),
      channel_(server_.Connect(server_.unix_target())),
      admin_(v1::AdminService::NewStub(channel_)),
      work_(server_.Connect(server_.unix_target()), {}, TimesForBusyMachine(8)),
      slow_(work_.session().indexer(), work_) {
  for (int i = 0; i < kSlowRequests; ++i) slow_.Send();
  if (AwaitTaken(0)) return;
  std::fprintf(stderr, "no queue to wait in\n%s", server_.log().c_str());
  std::abort();
}

HeldQueue::~HeldQueue() { LetGo(); }

bool HeldQueue::AwaitTaken(int64_t count) {
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  v1::GetStatsResponse stats;
  const auto look = [&] { return admin_->GetStats(Patient().get(), {}, &stats).ok(); };
  const auto taken = [&] { return stats.launched_request_count() + stats.queued_request_count(); };
  while (absl::Now() < deadline && look()) {
    if (taken() < kSlowRequests + count) {
      absl::SleepFor(absl::Milliseconds(1));
      continue;
    }
    // A stream's next message is read when the one before it has been dealt with, and so comes
    // between that and a call that begins now.
    return look() && stats.queued_request_count() > count;
  }
  return false;
}

}  // namespace winnow::testing
