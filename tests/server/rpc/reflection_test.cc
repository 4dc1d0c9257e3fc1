#include "server/rpc/reflection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "google/protobuf/descriptor.pb.h"

namespace winnow::server {
namespace {

using grpc::reflection::v1alpha::ServerReflectionRequest;
using grpc::reflection::v1alpha::ServerReflectionResponse;

ServerReflectionResponse Answer(const ServerReflectionRequest& request) {
  ServerReflectionResponse response;
  AnswerReflection(request, response);
  return response;
}

TEST(ReflectionTest, AllServicesAreListed) {
  ServerReflectionRequest request;
  request.set_list_services("*");
  std::vector<std::string> names;
  const ServerReflectionResponse response = Answer(request);
  for (const auto& service : response.list_services_response().service()) {
    names.push_back(service.name());
  }
  EXPECT_THAT(names, ::testing::IsSupersetOf({"winnow.v1.IndexerService", "winnow.v1.AdminService",
                                              "winnow.v1.LeaseService", "winnow.v1.MemoryService",
                                              "grpc.health.v1.Health"}));
}

TEST(ReflectionTest, ASymbolComesWithItsFileAndAllThatItImports) {
  ServerReflectionRequest request;
  request.set_host("here");
  request.set_file_containing_symbol("winnow.v1.IndexerService.TopK");
  const ServerReflectionResponse response = Answer(request);
  EXPECT_EQ(response.valid_host(), "here");
  std::vector<std::string> files;
  for (const std::string& bytes : response.file_descriptor_response().file_descriptor_proto()) {
    google::protobuf::FileDescriptorProto file;
    ASSERT_TRUE(file.ParseFromString(bytes));
    files.push_back(file.name());
  }
  EXPECT_EQ(files.front(), "winnow/v1/indexer_service.proto");
  EXPECT_THAT(files, ::testing::IsSupersetOf({"winnow/v1/steps.proto", "winnow/v1/tensor.proto",
                                              "google/protobuf/duration.proto"}));
}

TEST(ReflectionTest, AnUnknownSymbolIsAnErrorInTheReply) {
  ServerReflectionRequest request;
  request.set_file_containing_symbol("winnow.v9.Nothing");
  EXPECT_EQ(Answer(request).error_response().error_code(), 5);
  EXPECT_EQ(Answer(ServerReflectionRequest()).error_response().error_code(), 3);
}

}  // namespace
}  // namespace winnow::server
