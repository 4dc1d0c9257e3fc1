#include "client/src/stream_stub.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/notification.h"
#include "client/src/rpc.h"
#include "winnow/kernels/error.h"

namespace winnow::client {
namespace {

using google::protobuf::MessageLite;

// A step that borrows its operation from a unary request.
class BorrowedStep {
 public:
  BorrowedStep() = default;
  BorrowedStep(const BorrowedStep&) = delete;
  BorrowedStep& operator=(const BorrowedStep&) = delete;
  ~BorrowedStep() {
    step_.unsafe_arena_release_top_k();
    step_.unsafe_arena_release_block_amax();
    step_.unsafe_arena_release_sort_candidate_blocks();
  }

  const v1::Step* Borrow(const v1::TopKStep& step) {
    step_.unsafe_arena_set_allocated_top_k(const_cast<v1::TopKStep*>(&step));
    return &step_;
  }
  const v1::Step* Borrow(const v1::BlockAmaxStep& step) {
    step_.unsafe_arena_set_allocated_block_amax(const_cast<v1::BlockAmaxStep*>(&step));
    return &step_;
  }
  const v1::Step* Borrow(const v1::SortCandidateBlocksStep& step) {
    step_.unsafe_arena_set_allocated_sort_candidate_blocks(
        const_cast<v1::SortCandidateBlocksStep*>(&step));
    return &step_;
  }

 private:
  v1::Step step_;
};

// A hot RPC's request as a command.
struct Command {
  std::vector<const v1::Step*> steps;
  std::string lease_id;
  // Moves the result to the RPC's response.
  void (*take)(v1::ExecuteResponse& result, MessageLite& response) = nullptr;
  bool unary_step = false;
};

template <typename Response>
void TakeStep(v1::ExecuteResponse& result, MessageLite& response) {
  auto& unary = static_cast<Response&>(response);
  if (result.results_size() > 0) unary.mutable_result()->Swap(result.mutable_results(0));
  unary.mutable_timing()->Swap(result.mutable_timing());
}

void TakeAll(v1::ExecuteResponse& result, MessageLite& response) {
  static_cast<v1::ExecuteResponse&>(response).Swap(&result);
}

template <typename Rpc>
Command StepCommand(const Rpc&, const MessageLite& message, BorrowedStep& step) {
  const auto& request = static_cast<const typename Rpc::RequestMessage&>(message);
  return {.steps = {step.Borrow(request.step())},
          .lease_id = request.lease_id(),
          .take = TakeStep<typename Rpc::ResponseMessage>,
          .unary_step = true};
}

// Nothing for an RPC that is none of the stream's. Valid as long as `message` and `step` are.
std::optional<Command> CommandOf(const std::string& method, const MessageLite& message,
                                 BorrowedStep& step) {
  if (method == kTopK.method) return StepCommand(kTopK, message, step);
  if (method == kBlockAmax.method) return StepCommand(kBlockAmax, message, step);
  if (method == kSortCandidateBlocks.method) {
    return StepCommand(kSortCandidateBlocks, message, step);
  }
  if (method != kExecute.method) return std::nullopt;
  const auto& request = static_cast<const v1::ExecuteRequest&>(message);
  Command command{.lease_id = request.lease_id(), .take = TakeAll};
  for (const v1::Step& each : request.steps()) command.steps.push_back(&each);
  return command;
}

// "steps[0].k" of a command is "step.k" of the unary RPC.
absl::Status AsUnary(const absl::Status& status) {
  static constexpr absl::string_view kCommand = "steps[0].";
  std::optional<ErrorInfo> info = GetErrorInfo(status);
  if (!info.has_value() || !absl::StartsWith(info->field, kCommand)) return status;
  info->field = absl::StrCat("step.", absl::StripPrefix(info->field, kCommand));
  absl::string_view message = status.message();
  const bool names_field = absl::ConsumePrefix(&message, kCommand);
  return MakeError(status.code(), absl::StrCat(names_field ? "step." : "", message),
                   *std::move(info));
}

absl::Status NoMetadata() {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   "metadata is set; a streaming client has none per call, use one that is not",
                   {.reason = ErrorReason::kFieldsConflict, .field = "metadata"});
}

}  // namespace

StreamStub::StreamStub(Stub* other, ByteStreamOpener opener, Clock* clock)
    : other_(other), opener_(std::move(opener)), clock_(clock) {}

StreamStub::~StreamStub() {
  std::shared_ptr<CommandStream> stream;
  {
    absl::MutexLock lock(&mutex_);
    stream = std::move(stream_);
  }
  if (stream != nullptr) stream->Close();
}

std::shared_ptr<CommandStream> StreamStub::StreamFor(const std::string& lease_id,
                                                     bool wait_for_ready) {
  std::shared_ptr<CommandStream> old;
  std::shared_ptr<CommandStream> stream;
  {
    absl::MutexLock lock(&mutex_);
    if (stream_ == nullptr || stream_->over() || stream_->lease_id() != lease_id) {
      old = std::move(stream_);
      stream_ = CommandStream::Open(opener_, lease_id, wait_for_ready, clock_);
    }
    stream = stream_;
  }
  if (old != nullptr) old->Close();
  return stream;
}

absl::Status StreamStub::Call(const std::string& method, const AttemptOptions& options,
                              const MessageLite& request, MessageLite& response) {
  {
    BorrowedStep step;
    if (!CommandOf(method, request, step).has_value()) {
      return other_->Call(method, options, request, response);
    }
  }
  absl::Status outcome;
  absl::Notification over;
  AsyncCall(method, options, request, response, [&](absl::Status status) {
    outcome = std::move(status);
    over.Notify();
  });
  over.WaitForNotification();
  return outcome;
}

void StreamStub::AsyncCall(const std::string& method, const AttemptOptions& options,
                           const MessageLite& request, MessageLite& response,
                           absl::AnyInvocable<void(absl::Status) &&> done) {
  BorrowedStep step;
  const std::optional<Command> command = CommandOf(method, request, step);
  if (!command.has_value()) {
    return other_->AsyncCall(method, options, request, response, std::move(done));
  }
  if (!options.metadata->empty()) return std::move(done)(NoMetadata());
  StreamFor(command->lease_id, options.wait_for_ready)
      ->Submit(command->steps, options.timeout, options.stop,
               [take = command->take, unary_step = command->unary_step, &response,
                done = std::move(done)](absl::Status status, v1::ExecuteResponse* result) mutable {
                 if (result != nullptr) take(*result, response);
                 std::move(done)(unary_step ? AsUnary(status) : std::move(status));
               });
}

std::unique_ptr<MessageStream> StreamStub::OpenStream(const std::string& method,
                                                      const AttemptOptions& options) {
  return other_->OpenStream(method, options);
}

}  // namespace winnow::client
