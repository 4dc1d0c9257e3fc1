// A gRPC server in this process that answers as a test tells it to.

#ifndef WINNOW_TESTS_CLIENT_FAKE_SERVER_H_
#define WINNOW_TESTS_CLIENT_FAKE_SERVER_H_

#include <grpcpp/server.h>
#include <grpcpp/server_context.h>

#include <functional>
#include <memory>
#include <string>

#include "winnow/client/options.h"
#include "winnow/v1/admin_service.grpc.pb.h"
#include "winnow/v1/error_detail.pb.h"
#include "winnow/v1/indexer_service.grpc.pb.h"

namespace winnow::client {

// The answers. Set them before the calls that they are for; each may be called from several
// threads.
struct FakeIndexer final : public v1::IndexerService::Service {
  std::function<grpc::Status(grpc::ServerContext&, const v1::TopKRequest&, v1::TopKResponse&)>
      top_k;

  grpc::Status TopK(grpc::ServerContext* context, const v1::TopKRequest* request,
                    v1::TopKResponse* response) override {
    return top_k(*context, *request, *response);
  }
};

struct FakeAdmin final : public v1::AdminService::Service {
  v1::GetServerInfoResponse info;

  grpc::Status GetServerInfo(grpc::ServerContext*, const v1::GetServerInfoRequest*,
                             v1::GetServerInfoResponse* response) override {
    *response = info;
    return grpc::Status::OK;
  }
};

// An echo of the kind that TopK allows: `indices` are the bytes of `scores`, as int32.
grpc::Status EchoScores(grpc::ServerContext& context, const v1::TopKRequest& request,
                        v1::TopKResponse& response);

// What the real server sends with an error.
grpc::Status ErrorStatus(grpc::StatusCode code, const std::string& message, v1::ErrorReason reason,
                         int64_t retry_after_millis = 0);

// Listens on a Unix socket in a folder of its own, with gRPC's own health service. Not started
// until Start, so that a test can have clients that find nobody.
class FakeServer {
 public:
  FakeServer();
  ~FakeServer();

  void Start();
  // Ends with its connections; Start may follow.
  void Stop();

  FakeIndexer& indexer() { return indexer_; }
  FakeAdmin& admin() { return admin_; }
  grpc::Server& server() { return *server_; }
  std::string target() const { return "unix:" + folder_ + "/fake.sock"; }
  // For target(), with a timeout that only a hanging test meets.
  ClientOptions client_options() const;

 private:
  std::string folder_;
  FakeIndexer indexer_;
  FakeAdmin admin_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace winnow::client

#endif  // WINNOW_TESTS_CLIENT_FAKE_SERVER_H_
