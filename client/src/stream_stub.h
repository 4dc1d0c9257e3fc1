// Sends the attempts of the hot RPCs over one ExecuteStream; all others go on as they are.

#ifndef WINNOW_CLIENT_SRC_STREAM_STUB_H_
#define WINNOW_CLIENT_SRC_STREAM_STUB_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/src/byte_stream.h"
#include "client/src/clock.h"
#include "client/src/command_stream.h"
#include "client/src/stub.h"

namespace winnow::client {

// TopK, BlockAmax, SortCandidateBlocks and Execute become commands of the stream. It opens with the
// first of them, and anew when it broke or a request names another lease. Errors and replies are
// those of the unary RPCs.
class StreamStub final : public Stub {
 public:
  // `other` and `clock` outlive the stub and its calls.
  StreamStub(Stub* other, ByteStreamOpener opener, Clock* clock);
  // Closes the stream.
  ~StreamStub() override;

  absl::Status Call(const std::string& method, const AttemptOptions& options,
                    const google::protobuf::MessageLite& request,
                    google::protobuf::MessageLite& response) override;
  void AsyncCall(const std::string& method, const AttemptOptions& options,
                 const google::protobuf::MessageLite& request,
                 google::protobuf::MessageLite& response,
                 absl::AnyInvocable<void(absl::Status) &&> done) override;
  std::unique_ptr<MessageStream> OpenStream(const std::string& method,
                                            const AttemptOptions& options) override;
  bool IsConnected() const override { return other_->IsConnected(); }

 private:
  std::shared_ptr<CommandStream> StreamFor(const std::string& lease_id, bool wait_for_ready);

  Stub* const other_;
  const ByteStreamOpener opener_;
  Clock* const clock_;
  absl::Mutex mutex_;
  std::shared_ptr<CommandStream> stream_ ABSL_GUARDED_BY(mutex_);  // shared with its byte stream
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_STREAM_STUB_H_
