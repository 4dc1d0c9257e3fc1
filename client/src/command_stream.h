// Commands on one ExecuteStream: numbered, pipelined as far as the server's credits go, answered in
// the order of completion.

#ifndef WINNOW_CLIENT_SRC_COMMAND_STREAM_H_
#define WINNOW_CLIENT_SRC_COMMAND_STREAM_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/src/byte_stream.h"
#include "client/src/clock.h"
#include "winnow/v1/indexer_service.pb.h"

namespace winnow::client {

// Serves until the stream breaks or it is closed; whoever needs another opens one. Thread safety:
// safe to call from several threads.
class CommandStream final : public ByteStream::Handler,
                            public std::enable_shared_from_this<CommandStream> {
 public:
  // Called exactly once, with no lock held: with the result, which may be taken apart, or null and
  // why the command failed.
  using Done = absl::AnyInvocable<void(absl::Status, v1::ExecuteResponse*) &&>;

  // `lease_id` is empty for commands that use no resources. `clock` outlives Close.
  static std::shared_ptr<CommandStream> Open(const ByteStreamOpener& opener, std::string lease_id,
                                             bool wait_for_ready, Clock* clock);
  CommandStream(std::string lease_id, Clock* clock);

  const std::string& lease_id() const { return lease_id_; }
  bool over() const;

  // Sends `steps`, which are read before this returns, when the server lets it. The command fails
  // with DeadlineExceeded after `timeout`, give or take kSweepPeriod, and with Cancelled when
  // `stop` is stopped; the server is then told to drop it if it waits still.
  void Submit(const std::vector<const v1::Step*>& steps, absl::Duration timeout,
              std::stop_token stop, Done done);
  // Cancels the stream; commands under way fail with Cancelled. Does not wait.
  void Close();

  static constexpr absl::Duration kSweepPeriod = absl::Milliseconds(100);

 private:
  struct Abandoner {
    std::weak_ptr<CommandStream> stream;
    int64_t id;
    void operator()() const;
  };
  struct Pending {
    Done done;
    absl::Time deadline;
    std::unique_ptr<std::stop_callback<Abandoner>> stop;
  };
  using PendingMap = std::map<int64_t, Pending>;

  void OnStarted() override;
  void OnWritten() override;
  void OnRead(grpc::ByteBuffer message) override;
  void OnFinished(const absl::Status& status) override;

  // Takes the command out and fails it; nothing when it was answered.
  void Abandon(int64_t id, const absl::Status& status);
  void Answer(v1::ExecuteStreamResponse& answer);
  void FailAll(const absl::Status& status);
  // Begins the next write, if there is one and none is under way.
  void Advance();
  std::optional<grpc::ByteBuffer> NextWrite() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Sweep();
  // Under the lock, so that no timer starts once Close has returned; clocks do not call back at
  // once.
  void ArmSweep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string lease_id_;
  Clock* const clock_;
  std::stop_source closing_;

  mutable absl::Mutex mutex_;
  std::shared_ptr<ByteStream> stream_ ABSL_GUARDED_BY(mutex_);
  bool opened_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = true;  // until the stream has started
  bool sweeping_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> over_ ABSL_GUARDED_BY(mutex_);
  int64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t credits_ ABSL_GUARDED_BY(mutex_) = 0;
  PendingMap pending_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::pair<int64_t, grpc::ByteBuffer>> unsent_ ABSL_GUARDED_BY(mutex_);
  std::deque<grpc::ByteBuffer> controls_ ABSL_GUARDED_BY(mutex_);  // need no credit
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_COMMAND_STREAM_H_
