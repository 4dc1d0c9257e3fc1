// Calls and what they are answered. How the server ends: rpc_server_end_test.cc.

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <set>

#include "server/rpc/message_bytes.h"
#include "server/rpc/request_resources.h"
#include "tests/server/rpc/rpc_server_fixture.h"

namespace winnow::server {
namespace {

TEST_F(RpcServerTest, OutputsOfTheTaskComeBackInTheReply) {
  auto call = StartTopK();
  HoldingScheduler::FinishOk(scheduler_.AwaitTask());
  call->thread.join();
  ASSERT_TRUE(call->status.ok()) << call->status.error_message();
  ASSERT_EQ(call->response.result().outputs_size(), 1);
  const auto& output = call->response.result().outputs(0);
  EXPECT_EQ(output.name(), v1::OUTPUT_NAME_INDICES);
  EXPECT_EQ(output.tensor().row_count(), 2);
  EXPECT_EQ(output.tensor().column_count(), 3);
  EXPECT_EQ(testing::ElementsOf<int32_t>(output.tensor()), std::vector<int32_t>(6, 0x07070707));
  EXPECT_EQ(call->response.result().negative_row_count(), 1);
}

TEST_F(RpcServerTest, TheTaskCarriesTheDeadlineOfTheCall) {
  auto call = StartTopK();
  auto task = scheduler_.AwaitTask();
  const absl::Duration left = task->deadline - environment_.clock->Now();
  EXPECT_GT(left, absl::Seconds(10));
  EXPECT_LT(left, absl::Seconds(31));
  HoldingScheduler::FinishOk(std::move(task));
  call->thread.join();
}

TEST_F(RpcServerTest, CallsOfOneConnectionShareAFlow) {
  auto first = StartTopK();
  auto first_task = scheduler_.AwaitTask();
  auto second = StartTopK();
  auto second_task = scheduler_.AwaitTask();
  EXPECT_EQ(first_task->flow_id, second_task->flow_id);
  HoldingScheduler::FinishOk(std::move(first_task));
  HoldingScheduler::FinishOk(std::move(second_task));
  first->thread.join();
  second->thread.join();
}

TEST_F(RpcServerTest, ConnectionsOnOneUnixSocketAreFlowsOfTheirOwn) {
  std::set<int64_t> flows;
  std::vector<std::unique_ptr<v1::IndexerService::Stub>> connections;
  for (int connection = 0; connection < 4; ++connection) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    connections.push_back(v1::IndexerService::NewStub(
        grpc::CreateCustomChannel(socket_, grpc::InsecureChannelCredentials(), arguments)));
    std::thread call([&] {
      v1::TopKResponse response;
      connections.back()->TopK(Context().get(), testing::GoodTopK(), &response);
    });
    auto task = scheduler_.AwaitTask();
    EXPECT_GE(task->flow_id, kFirstConnectionFlow);
    flows.insert(task->flow_id);
    HoldingScheduler::FinishOk(std::move(task));
    call.join();
  }
  EXPECT_EQ(flows.size(), 4u);
}

TEST_F(RpcServerTest, ALargeRequestHoldsUpNoOtherWhileItIsParsedAndSubmitted) {
  v1::TopKRequest request;
  // Above kMaxQuickBytes with the rest of the message, and just within the inline limit.
  *request.mutable_step()->mutable_scores() =
      testing::FloatTensor(1, 262'142, std::vector<float>(262'142, 1));
  *request.mutable_step()->mutable_lengths() = testing::Int32Vector({262'142});
  request.mutable_step()->set_k(1);
  testing::WantInline(request.mutable_step()->mutable_indices());
  ASSERT_GT(static_cast<int64_t>(request.ByteSizeLong()), kMaxQuickBytes);
  scheduler_.HoldLargeSubmits(true);
  grpc::Status large_status;
  std::thread large([&] {
    v1::TopKResponse response;
    large_status = indexer_->TopK(Context().get(), request, &response);
  });
  scheduler_.AwaitHeldSubmit();
  auto small = StartTopK();
  HoldingScheduler::FinishOk(scheduler_.AwaitTask());
  small->thread.join();
  EXPECT_TRUE(small->status.ok());
  scheduler_.HoldLargeSubmits(false);
  HoldingScheduler::FinishOk(scheduler_.AwaitTask());
  large.join();
  EXPECT_TRUE(large_status.ok()) << large_status.error_message();
}

TEST_F(RpcServerTest, AnErrorOfTheTaskComesBackWithItsDetailAndTheFieldOfTheRequest) {
  auto call = StartTopK();
  HoldingScheduler::Finish(scheduler_.AwaitTask(),
                           MakeError(absl::StatusCode::kInvalidArgument, "lengths[1] is bad",
                                     {.reason = ErrorReason::kLengthOutOfRange,
                                      .field = "lengths",
                                      .value = "9",
                                      .limit = "at most 8",
                                      .row = 1}));
  call->thread.join();
  EXPECT_EQ(call->status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  const auto detail = GetErrorDetail(call->status);
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->reason(), v1::ERROR_REASON_LENGTH_OUT_OF_RANGE);
  EXPECT_EQ(detail->field(), "step.lengths");
  EXPECT_EQ(detail->row(), 1);
}

TEST_F(RpcServerTest, ARefusalOfTheSchedulerIsTheReply) {
  scheduler_.RefuseWith(MakeError(absl::StatusCode::kResourceExhausted, "the queue is full",
                                  {.reason = ErrorReason::kQueueFull, .limit = "at most 4"}));
  auto call = StartTopK();
  call->thread.join();
  EXPECT_EQ(call->status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(call->status), v1::ERROR_REASON_QUEUE_FULL);
  EXPECT_GT(GetErrorDetail(call->status)->retry_after_millis(), 0);
}

TEST_F(RpcServerTest, CancellingACallCancelsItsTask) {
  auto call = StartTopK();
  scheduler_.AwaitTaskCount(1);
  call->context->TryCancel();
  scheduler_.AwaitCancelled(1);
  call->thread.join();
  EXPECT_EQ(call->status.error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(RpcServerTest, BytesThatAreNoRequestAreRefusedWithAReason) {
  grpc::GenericStub stub(Connect(socket_));
  grpc::CompletionQueue queue;
  auto context = Context();
  grpc::Slice garbage(std::string("\x0a\xff\xff\xff\xff\x07 not a message"));
  auto call = stub.PrepareUnaryCall(context.get(), "/winnow.v1.IndexerService/TopK",
                                    grpc::ByteBuffer(&garbage, 1), &queue);
  call->StartCall();
  grpc::ByteBuffer reply;
  grpc::Status status;
  call->Finish(&reply, &status, nullptr);
  void* tag;
  bool ok;
  ASSERT_TRUE(queue.Next(&tag, &ok));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_MESSAGE_MALFORMED);
}

TEST_F(RpcServerTest, AMessageAboveTheInlineLimitIsRefusedWithAReason) {
  v1::TopKRequest request = testing::GoodTopK();
  *request.mutable_step()->mutable_scores() =
      testing::FloatTensor(1, 400'000, std::vector<float>(400'000));
  *request.mutable_step()->mutable_lengths() = testing::Int32Vector({1});
  v1::TopKResponse response;
  const grpc::Status status = indexer_->TopK(Context().get(), request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_MESSAGE_TOO_LARGE);
}

TEST_F(RpcServerTest, AMessageFarAboveTheLimitIsRefusedByTheTransport) {
  v1::TopKRequest request = testing::GoodTopK();
  request.mutable_step()->mutable_scores()->set_inline_data(std::string(8 << 20, '\0'));
  v1::TopKResponse response;
  const grpc::Status status = indexer_->TopK(Context().get(), request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(RpcServerTest, ACompressedMessageIsRefusedAndNotInflated) {
  auto context = Context();
  context->set_compression_algorithm(GRPC_COMPRESS_GZIP);
  v1::TopKRequest request = testing::GoodTopK();
  request.mutable_step()->mutable_scores()->set_inline_data(std::string(500'000, '\0'));
  v1::TopKResponse response;
  const grpc::Status status = indexer_->TopK(context.get(), request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(RpcServerTest, PlanComesAtOnceAndListsPooledRows) {
  v1::PlanTopKResponse response;
  const grpc::Status status = indexer_->PlanTopK(Context().get(), testing::GoodPlan(), &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.effective_threshold(), 1000);
  EXPECT_TRUE(response.written());
  EXPECT_THAT(response.pooled_rows(), ::testing::ElementsAre(1));
  EXPECT_EQ(response.negative_row_count(), 1);
}

TEST_F(RpcServerTest, InfoSaysVersionBackendAndLimits) {
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(admin_->GetServerInfo(Context().get(), {}, &info).ok());
  EXPECT_EQ(info.version(), "1.2.3");
  EXPECT_EQ(info.state(), v1::SERVER_STATE_SERVING);
  EXPECT_EQ(info.backend_reason(), "asked for");
  EXPECT_EQ(info.device().name(), "test processor");
  EXPECT_EQ(info.limits().max_inline_bytes(), 1 << 20);
  EXPECT_EQ(info.limits().max_k(), 2048);
  EXPECT_EQ(info.process_id(), getpid());
}

TEST_F(RpcServerTest, StatsCountCallsByOutcome) {
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(admin_->GetServerInfo(Context().get(), {}, &info).ok());
  v1::ProbeOccupancyResponse probe;
  EXPECT_FALSE(admin_->ProbeOccupancy(Context().get(), {}, &probe).ok());
  v1::GetStatsResponse stats;
  ASSERT_TRUE(admin_->GetStats(Context().get(), {}, &stats).ok());
  int found = 0;
  for (const auto& rpc : stats.rpcs()) {
    if (rpc.method() == "winnow.v1.AdminService/GetServerInfo") {
      EXPECT_EQ(rpc.ok_count(), 1);
      EXPECT_EQ(rpc.error_count(), 0);
      ++found;
    }
    if (rpc.method() == "winnow.v1.AdminService/ProbeOccupancy") {
      EXPECT_EQ(rpc.error_count(), 1);
      ++found;
    }
  }
  EXPECT_EQ(found, 2);
  EXPECT_EQ(stats.fault_count(), 2);
  EXPECT_GT(stats.resident_bytes(), 0);
}

TEST_F(RpcServerTest, NoFittingClusterIsAnError) {
  v1::ProbeOccupancyRequest request;
  request.set_cluster_size(8);
  request.set_blocks_per_multiprocessor(2);
  v1::ProbeOccupancyResponse response;
  ASSERT_TRUE(admin_->ProbeOccupancy(Context().get(), request, &response).ok());
  EXPECT_EQ(response.active_cluster_count(), 16);
  request.set_cluster_size(16);
  const grpc::Status status = admin_->ProbeOccupancy(Context().get(), request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_NO_CLUSTER_FITS);
}

TEST_F(RpcServerTest, APeerOnTheUnixSocketMayDrainAndOneOnTcpMayNot) {
  v1::DrainRequest request;
  request.mutable_timeout_duration()->set_seconds(5);
  v1::DrainResponse response;
  auto over_tcp = v1::AdminService::NewStub(Connect(server_->addresses()[1]));
  const grpc::Status status = over_tcp->Drain(Context().get(), request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_PERMISSION_DENIED);
  EXPECT_TRUE(drain_requests_.empty());
  ASSERT_TRUE(admin_->Drain(Context().get(), request, &response).ok());
  EXPECT_THAT(drain_requests_, ::testing::ElementsAre(absl::Seconds(5)));
}

TEST_F(RpcServerTest, ATakenAddressIsNamedInTheError) {
  RpcEnvironment& environment = environment_;
  const auto second = RpcServer::Start({.listeners = {server_->addresses()[1]}}, environment);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(std::string(second.status().message()),
              ::testing::HasSubstr(server_->addresses()[1]));
  EXPECT_EQ(GetErrorInfo(second.status())->field, "--listen");
}

}  // namespace
}  // namespace winnow::server
