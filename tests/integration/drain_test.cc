// A server that is told to end while calls pour in: every one of them is answered or refused with
// a reason.

#include <gtest/gtest.h>
#include <signal.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "server/rpc/status_mapping.h"
#include "tests/integration/server_process.h"
#include "tests/testing/requests.h"

namespace winnow::testing {
namespace {

constexpr int kConnections = 4;
constexpr int kCalls = 800;

struct Call {
  grpc::ClientContext context;
  v1::TopKResponse response;
  grpc::Status status;
  std::unique_ptr<grpc::ClientAsyncResponseReader<v1::TopKResponse>> reader;
};

// Some milliseconds' worth of bytes in all, so that many calls are on their way at any time.
v1::TopKRequest Wide() {
  constexpr int64_t kColumns = 16 << 10;
  v1::TopKRequest request = GoodTopK();
  *request.mutable_step()->mutable_scores() =
      FloatTensor(2, kColumns, std::vector<float>(2 * kColumns, 1.0f));
  return request;
}

bool NextReply(grpc::CompletionQueue& queue) {
  void* tag = nullptr;
  bool ok = false;
  return queue.Next(&tag, &ok);
}

// Sends all calls without waiting for a reply and the signal after the first reply.
std::vector<std::unique_ptr<Call>> CallsAcrossTheEnd(ServerProcess& server) {
  std::vector<std::unique_ptr<v1::IndexerService::Stub>> stubs;
  for (int i = 0; i < kConnections; ++i) stubs.push_back(server.Indexer());
  const v1::TopKRequest request = Wide();
  grpc::CompletionQueue queue;
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < kCalls; ++i) {
    calls.push_back(std::make_unique<Call>());
    Call& call = *calls.back();
    call.context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    call.reader = stubs[i % kConnections]->AsyncTopK(&call.context, request, &queue);
    call.reader->Finish(&call.response, &call.status, &call);
  }
  NextReply(queue);
  server.Signal(SIGTERM);
  for (int i = 1; i < kCalls; ++i) NextReply(queue);
  return calls;
}

TEST(DrainTest, EveryCallInFlightIsAnsweredOrRefusedWithAReason) {
  int refused = 0;
  for (int round = 0; round < 5; ++round) {
    ServerProcess server;
    ASSERT_TRUE(server.running()) << server.log();
    std::map<std::string, int> unexplained;
    for (const auto& call : CallsAcrossTheEnd(server)) {
      if (call->status.ok()) continue;
      const auto detail = server::GetErrorDetail(call->status);
      if (call->status.error_code() == grpc::StatusCode::UNAVAILABLE && detail.has_value()) {
        ++refused;
        continue;
      }
      ++unexplained[std::to_string(call->status.error_code()) + ": " +
                    call->status.error_message()];
    }
    for (const auto& [status, count] : unexplained) ADD_FAILURE() << count << " times " << status;
    EXPECT_EQ(server.AwaitExit(), 0) << server.log();
  }
  EXPECT_GT(refused, 0) << "the signal came after the calls";
}

}  // namespace
}  // namespace winnow::testing
