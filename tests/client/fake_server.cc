#include "tests/client/fake_server.h"

#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "winnow/v1/rpc_status.pb.h"

namespace winnow::client {

grpc::Status EchoScores(grpc::ServerContext&, const v1::TopKRequest& request,
                        v1::TopKResponse& response) {
  const v1::Tensor& scores = request.step().scores();
  v1::NamedTensor& output = *response.mutable_result()->add_outputs();
  output.set_name(v1::OUTPUT_NAME_INDICES);
  output.mutable_tensor()->set_data_type(v1::DATA_TYPE_INT32);
  output.mutable_tensor()->set_row_count(scores.row_count());
  output.mutable_tensor()->set_column_count(scores.column_count());
  output.mutable_tensor()->set_inline_data(scores.inline_data());
  return grpc::Status::OK;
}

grpc::Status ErrorStatus(grpc::StatusCode code, const std::string& message, v1::ErrorReason reason,
                         int64_t retry_after_millis) {
  v1::ErrorDetail detail;
  detail.set_reason(reason);
  detail.set_row(-1);
  detail.set_retry_after_millis(retry_after_millis);
  v1::RpcStatus status;
  status.set_code(code);
  status.set_message(message);
  status.add_details()->PackFrom(detail);
  return grpc::Status(code, message, status.SerializeAsString());
}

FakeServer::FakeServer() {
  std::string pattern = std::filesystem::temp_directory_path() / "winnow-client-XXXXXX";
  folder_ = mkdtemp(pattern.data());
  indexer_.top_k = EchoScores;
}

FakeServer::~FakeServer() {
  Stop();
  std::filesystem::remove_all(folder_);
}

void FakeServer::Start() {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(target(), grpc::InsecureServerCredentials());
  builder.SetMaxReceiveMessageSize(-1);
  builder.SetMaxSendMessageSize(-1);
  builder.RegisterService(&indexer_);
  builder.RegisterService(&admin_);
  server_ = builder.BuildAndStart();
}

void FakeServer::Stop() {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  server_.reset();
}

ClientOptions FakeServer::client_options() const {
  return {.target = target(), .timeout = absl::Seconds(60)};
}

}  // namespace winnow::client
