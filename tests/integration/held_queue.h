// A server on which a command stays in flight until the test says so.

#ifndef WINNOW_TESTS_INTEGRATION_HELD_QUEUE_H_
#define WINNOW_TESTS_INTEGRATION_HELD_QUEUE_H_

#include <cstdint>
#include <memory>

#include "grpcpp/channel.h"
#include "tests/integration/flood.h"
#include "tests/integration/server_process.h"
#include "tests/integration/slow_work.h"
#include "winnow/v1/admin_service.grpc.pb.h"

namespace winnow::testing {

// A server that runs one request at a time, and many slow ones before it, all of one lease. They
// have deadlines, and in a lease the earliest deadline goes first: bulk work of that lease which
// has none waits for all of them, however late it comes. Interactive work does not wait. LetGo
// ends that within milliseconds. The bound is what the slow ones take together: on a CPU about
// thirteen seconds when nobody else wants it, on a GPU one or two.
class HeldQueue {
 public:
  // Ends the program when it cannot be had.
  HeldQueue();
  ~HeldQueue();
  HeldQueue(const HeldQueue&) = delete;
  HeldQueue& operator=(const HeldQueue&) = delete;

  ServerProcess& server() { return server_; }
  LeaseSession& session() { return work_.session(); }
  // Whose calls are in the server's one event queue after what was sent over it before.
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

  // Bulk work of the lease, soon done when its turn comes.
  const v1::Step& bulk_step() const { return work_.request().steps(1); }

  // Waits until the server has taken `count` requests besides the slow ones, and has seen what was
  // sent over channel() directly after the last of them. False when that did not come, or when
  // the slow ones ran out.
  bool AwaitTaken(int64_t count);
  // Drops the slow ones.
  void LetGo() { slow_.CancelAll(); }

 private:
  // One thread handles all events, in order.
  ServerProcess server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::AdminService::Stub> admin_;
  SlowWork work_;
  Flood slow_;
};

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_INTEGRATION_HELD_QUEUE_H_
