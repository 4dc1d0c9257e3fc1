#include "tests/bench/rpc/echo_server.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <deque>
#include <memory>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "server/rpc/server_queue.h"
#include "tests/testing/requests.h"
#include "winnow/v1/indexer_service.grpc.pb.h"

namespace winnow::testing {
namespace {

constexpr int kCredits = 64;  // of a stream; clients that count them may have as much in flight

using AsyncService = v1::IndexerService::AsyncService;

void FillResult(v1::StepResult& result) {
  v1::NamedTensor& output = *result.add_outputs();
  output.set_name(v1::OUTPUT_NAME_INDICES);
  *output.mutable_tensor() = Int32Tensor(2, 3, {7, 6, 5, 4, 3, 2});
  result.mutable_routes()->set_single_block_row_count(2);
}

void FillTiming(v1::Timing& timing) {
  for (auto* duration : {timing.mutable_queue_duration(), timing.mutable_launch_duration(),
                         timing.mutable_device_duration(), timing.mutable_total_duration()}) {
    duration->set_nanos(5000);
  }
  timing.set_batch_request_count(1);
  timing.set_batch_row_count(2);
}

class UnaryEcho final : public server::CompletionTag {
 public:
  UnaryEcho(AsyncService& service, grpc::ServerCompletionQueue& queue)
      : service_(service), queue_(queue) {
    service_.RequestTopK(&context_, &request_, &writer_, &queue_, &queue_, this);
  }

  void OnEvent(bool ok) override {
    if (!ok || replied_) {
      delete this;
      return;
    }
    new UnaryEcho(service_, queue_);
    replied_ = true;
    FillResult(*response_.mutable_result());
    FillTiming(*response_.mutable_timing());
    writer_.Finish(response_, grpc::Status::OK, this);
  }

 private:
  AsyncService& service_;
  grpc::ServerCompletionQueue& queue_;
  grpc::ServerContext context_;
  v1::TopKRequest request_;
  v1::TopKResponse response_;
  grpc::ServerAsyncResponseWriter<v1::TopKResponse> writer_{&context_};
  bool replied_ = false;
};

// Reads on while answers are written, one write at a time, as gRPC demands.
class StreamEcho {
 public:
  StreamEcho(AsyncService& service, grpc::ServerCompletionQueue& queue)
      : service_(service), queue_(queue) {
    service_.RequestExecuteStream(&context_, &stream_, &queue_, &queue_, &arrived_);
  }

 private:
  struct StepTag final : server::CompletionTag {
    using Handler = void (StreamEcho::*)(bool ok);
    StepTag(StreamEcho* stream, Handler handler_of_event)
        : owner(stream), handler(handler_of_event) {}
    void OnEvent(bool ok) override { (owner->*handler)(ok); }
    StreamEcho* const owner;
    const Handler handler;
  };

  void OnArrived(bool ok) {
    if (!ok) return;
    new StreamEcho(service_, queue_);
    stream_.Read(&request_, &read_);
  }

  void OnRead(bool ok) {
    if (!ok) {
      over_ = true;
      return FinishIfIdle();
    }
    v1::ExecuteStreamResponse& answer = answers_.emplace_back();
    answer.set_message_id(request_.message_id());
    answer.set_credit_count(1);
    if (request_.has_open()) {
      answer.mutable_opened();
      answer.set_credit_count(kCredits);
    } else {
      FillResult(*answer.mutable_result()->add_results());
      FillTiming(*answer.mutable_result()->mutable_timing());
    }
    if (!writing_) WriteNext();
    stream_.Read(&request_, &read_);
  }

  void OnWritten(bool ok) {
    answers_.pop_front();
    writing_ = false;
    if (ok && !answers_.empty()) return WriteNext();
    FinishIfIdle();
  }

  void WriteNext() {
    writing_ = true;
    stream_.Write(answers_.front(), &written_);
  }

  void FinishIfIdle() {
    if (over_ && !writing_) stream_.Finish(grpc::Status::OK, &finished_);
  }

  void OnFinished(bool /*ok*/) { delete this; }

  AsyncService& service_;
  grpc::ServerCompletionQueue& queue_;
  grpc::ServerContext context_;
  grpc::ServerAsyncReaderWriter<v1::ExecuteStreamResponse, v1::ExecuteStreamRequest> stream_{
      &context_};
  v1::ExecuteStreamRequest request_;
  std::deque<v1::ExecuteStreamResponse> answers_;
  bool writing_ = false;
  bool over_ = false;
  StepTag arrived_{this, &StreamEcho::OnArrived};
  StepTag read_{this, &StreamEcho::OnRead};
  StepTag written_{this, &StreamEcho::OnWritten};
  StepTag finished_{this, &StreamEcho::OnFinished};
};

void Poll(AsyncService& service, server::ServerQueue& queue, EchoPolling polling) {
  for (int i = 0; i < 2; ++i) new UnaryEcho(service, *queue.queue);
  new StreamEcho(service, *queue.queue);
  if (polling == EchoPolling::kAsWinnow) queue.Poll();
  void* tag = nullptr;
  bool ok = false;
  while (queue.queue->Next(&tag, &ok)) static_cast<server::CompletionTag*>(tag)->OnEvent(ok);
}

}  // namespace

int ServeEcho(const std::vector<std::string>& addresses, EchoPolling polling, int queues) {
  if (polling == EchoPolling::kAsWinnow) {
    // As winnow-server does: it costs 2 us a call otherwise, which are none of Winnow's.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  }
  AsyncService service;
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  for (const std::string& address : addresses) {
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  }
  std::vector<std::unique_ptr<server::ServerQueue>> all;
  for (int i = 0; i < queues; ++i) {
    all.push_back(std::make_unique<server::ServerQueue>());
    all.back()->queue = builder.AddCompletionQueue();
  }
  auto server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  std::vector<std::thread> pollers;
  for (int i = 1; i < queues; ++i) {
    pollers.emplace_back([&service, &queue = *all[i], polling] { Poll(service, queue, polling); });
  }
  Poll(service, *all[0], polling);
  for (std::thread& poller : pollers) poller.join();
  return 0;
}

}  // namespace winnow::testing
