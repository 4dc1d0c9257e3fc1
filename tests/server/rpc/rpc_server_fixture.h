// The RPC layer over a real gRPC server on a Unix socket, with a scheduler that the test drives.

#ifndef WINNOW_TESTS_SERVER_RPC_RPC_SERVER_FIXTURE_H_
#define WINNOW_TESTS_SERVER_RPC_RPC_SERVER_FIXTURE_H_

#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/base/clock.h"
#include "server/rpc/rpc_server.h"
#include "server/rpc/status_mapping.h"
#include "tests/server/rpc/fake_services.h"
#include "tests/testing/requests.h"
#include "winnow/v1/admin_service.grpc.pb.h"
#include "winnow/v1/indexer_service.grpc.pb.h"

namespace winnow::server {

class RpcServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/winnow_rpc_test.XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
    socket_ = absl::StrCat("unix:", folder_, "/s");
    environment_.devices = {{.backend = &backend_, .scheduler = &scheduler_}};
    environment_.clock = Clock::Real();
    environment_.metrics = &metrics_;
    environment_.version = "1.2.3";
    environment_.start_time = environment_.clock->Now();
    environment_.limits.max_inline_bytes = 1 << 20;
    environment_.begin_drain = [this](absl::Duration timeout) {
      drain_requests_.push_back(timeout);
    };
    auto server = RpcServer::Start({.listeners = {socket_, "127.0.0.1:0"}}, environment_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    indexer_ = v1::IndexerService::NewStub(Connect(socket_));
    admin_ = v1::AdminService::NewStub(Connect(socket_));
  }

  void TearDown() override {
    scheduler_.Drain(absl::Now());
    server_->SetServing(false);
    server_->AwaitQuiet(absl::Seconds(10), absl::Seconds(10));
    server_->Stop([] {});
    unlink(absl::StrCat(folder_, "/s").c_str());
    rmdir(folder_.c_str());
  }

  static std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
    return grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
  }

  static std::unique_ptr<grpc::ClientContext> Context() {
    auto context = std::make_unique<grpc::ClientContext>();
    context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    context->set_wait_for_ready(true);
    return context;
  }

  // A call on a thread of its own, so that the test can drive the scheduler meanwhile.
  struct Pending {
    std::unique_ptr<grpc::ClientContext> context = Context();
    v1::TopKResponse response;
    grpc::Status status;
    std::thread thread;
  };
  std::unique_ptr<Pending> StartTopK() {
    auto pending = std::make_unique<Pending>();
    pending->thread = std::thread([this, call = pending.get()] {
      call->status = indexer_->TopK(call->context.get(), testing::GoodTopK(), &call->response);
    });
    return pending;
  }

  static v1::ErrorReason ReasonOf(const grpc::Status& status) {
    const auto detail = GetErrorDetail(status);
    return detail.has_value() ? detail->reason() : v1::ERROR_REASON_UNSPECIFIED;
  }

  std::string folder_, socket_;
  HoldingScheduler scheduler_;
  DescribedBackend backend_;
  MetricsRegistry metrics_;
  RpcEnvironment environment_;
  std::vector<absl::Duration> drain_requests_;
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<v1::IndexerService::Stub> indexer_;
  std::unique_ptr<v1::AdminService::Stub> admin_;
};

}  // namespace winnow::server

#endif  // WINNOW_TESTS_SERVER_RPC_RPC_SERVER_FIXTURE_H_
