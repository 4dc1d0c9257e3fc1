#include "tests/bench/rpc/caller.h"

#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>

#include <chrono>

#include "tests/bench/rpc/measurement.h"
#include "tests/testing/requests.h"
#include "winnow/v1/indexer_service.grpc.pb.h"

namespace winnow::testing {
namespace {

using Clock = std::chrono::steady_clock;

double MicrosSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

std::shared_ptr<grpc::Channel> Connect(const std::string& target) {
  grpc::ChannelArguments arguments;
  // Or channels to one target share a connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  auto channel = grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
  if (!channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(10))) {
    BenchFails("no server on " + target);
  }
  return channel;
}

class UnaryCaller final : public Caller {
 public:
  explicit UnaryCaller(const std::string& target)
      : stub_(v1::IndexerService::NewStub(Connect(target))) {}

  void Latencies(int calls, std::vector<double>& micros) override {
    for (int i = 0; i < calls; ++i) {
      grpc::ClientContext context;
      v1::TopKResponse response;
      const auto begin = Clock::now();
      const grpc::Status status = stub_->TopK(&context, request_, &response);
      micros.push_back(MicrosSince(begin));
      if (!status.ok()) BenchFails(status.error_message());
    }
  }

  double Rate(int calls, int in_flight) override {
    std::vector<Slot> slots(in_flight);
    const auto begin = Clock::now();
    for (Slot& slot : slots) Start(slot);
    void* tag = nullptr;
    bool ok = false;
    for (int done = 0; done < calls; ++done) {
      queue_.Next(&tag, &ok);
      auto& slot = *static_cast<Slot*>(tag);
      if (!slot.status.ok()) BenchFails(slot.status.error_message());
      if (done + in_flight < calls) Start(slot);
    }
    return calls * 1e6 / MicrosSince(begin);
  }

 private:
  struct Slot {
    std::unique_ptr<grpc::ClientContext> context;
    v1::TopKResponse response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::TopKResponse>> reader;
  };

  void Start(Slot& slot) {
    slot.context = std::make_unique<grpc::ClientContext>();
    slot.reader = stub_->AsyncTopK(slot.context.get(), request_, &queue_);
    slot.reader->Finish(&slot.response, &slot.status, &slot);
  }

  const v1::TopKRequest request_ = GoodTopK();
  std::unique_ptr<v1::IndexerService::Stub> stub_;
  grpc::CompletionQueue queue_;
};

// One stream for its whole life. A read is always outstanding, and at most one write.
class StreamCaller final : public Caller {
 public:
  explicit StreamCaller(const std::string& target)
      : stub_(v1::IndexerService::NewStub(Connect(target))) {
    *command_.mutable_execute()->add_steps()->mutable_top_k() = GoodTopK().step();
    stream_ = stub_->AsyncExecuteStream(&context_, &queue_, &started_);
    Await(&started_);
    v1::ExecuteStreamRequest open;
    open.mutable_open();
    stream_->Write(open, &written_);
    stream_->Read(&response_, &read_);
    bool done[2] = {};
    while (!done[0] || !done[1]) done[Next() == &read_] = true;
  }

  ~StreamCaller() override {
    context_.TryCancel();
    stream_.reset();
    queue_.Shutdown();
  }

  void Latencies(int calls, std::vector<double>& micros) override {
    for (int i = 0; i < calls; ++i) {
      const auto begin = Clock::now();
      command_.set_message_id(++last_id_);
      stream_->Write(command_, &written_);
      stream_->Read(&response_, &read_);
      bool done[2] = {};
      while (!done[0] || !done[1]) {
        const bool read = Next() == &read_;
        done[read] = true;
        if (read) micros.push_back(MicrosSince(begin));
      }
      CheckAnswer();
    }
  }

  double Rate(int calls, int in_flight) override {
    const auto begin = Clock::now();
    int sent = 0, answered = 0;
    bool writing = false;
    stream_->Read(&response_, &read_);
    while (answered < calls || writing) {
      if (!writing && sent < calls && sent - answered < in_flight) {
        command_.set_message_id(++last_id_);
        stream_->Write(command_, &written_);
        writing = true;
        ++sent;
      }
      if (Next() == &written_) {
        writing = false;
        continue;
      }
      CheckAnswer();
      if (++answered < calls) stream_->Read(&response_, &read_);
    }
    return calls * 1e6 / MicrosSince(begin);
  }

 private:
  void* Next() {
    void* tag = nullptr;
    bool ok = false;
    if (!queue_.Next(&tag, &ok) || !ok) BenchFails("the stream broke");
    return tag;
  }

  void Await(const void* tag) {
    while (Next() != tag) continue;
  }

  void CheckAnswer() {
    if (!response_.has_result()) BenchFails("a command failed: " + response_.ShortDebugString());
  }

  std::unique_ptr<v1::IndexerService::Stub> stub_;
  grpc::CompletionQueue queue_;
  grpc::ClientContext context_;
  std::unique_ptr<
      grpc::ClientAsyncReaderWriter<v1::ExecuteStreamRequest, v1::ExecuteStreamResponse>>
      stream_;
  v1::ExecuteStreamRequest command_;
  v1::ExecuteStreamResponse response_;
  int64_t last_id_ = 0;
  char started_ = 0, written_ = 0, read_ = 0;  // tags
};

}  // namespace

std::unique_ptr<Caller> MakeCaller(const std::string& style, const std::string& target) {
  if (style == "unary") return std::make_unique<UnaryCaller>(target);
  return std::make_unique<StreamCaller>(target);
}

}  // namespace winnow::testing
