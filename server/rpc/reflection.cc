#include "server/rpc/reflection.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "grpc/health/v1/health.pb.h"
#include "grpcpp/support/status_code_enum.h"
#include "winnow/v1/admin_service.pb.h"
#include "winnow/v1/indexer_service.pb.h"
#include "winnow/v1/lease_service.pb.h"
#include "winnow/v1/memory_service.pb.h"

namespace winnow::server {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;
using grpc::reflection::v1alpha::FileDescriptorResponse;
using grpc::reflection::v1alpha::ServerReflectionRequest;
using grpc::reflection::v1alpha::ServerReflectionResponse;

// Files whose services this server has. Naming a message of each makes sure that the file is
// linked.
std::vector<const FileDescriptor*> ServiceFiles() {
  return {v1::TopKRequest::descriptor()->file(),
          v1::OpenLeaseRequest::descriptor()->file(),
          v1::AllocateBufferRequest::descriptor()->file(),
          v1::GetServerInfoRequest::descriptor()->file(),
          grpc::health::v1::HealthCheckRequest::descriptor()->file(),
          ServerReflectionRequest::descriptor()->file()};
}

void ListServices(ServerReflectionResponse& response) {
  auto& list = *response.mutable_list_services_response();
  for (const FileDescriptor* file : ServiceFiles()) {
    for (int i = 0; i < file->service_count(); ++i) {
      list.add_service()->set_name(file->service(i)->full_name());
    }
  }
}

// Imports after the file itself, each once.
void AddFile(const FileDescriptor* file, std::set<const FileDescriptor*>& added,
             FileDescriptorResponse& files) {
  if (!added.insert(file).second) return;
  google::protobuf::FileDescriptorProto proto;
  file->CopyTo(&proto);
  files.add_file_descriptor_proto(proto.SerializeAsString());
  for (int i = 0; i < file->dependency_count(); ++i) AddFile(file->dependency(i), added, files);
}

void AnswerWithFile(const FileDescriptor* file, const std::string& asked,
                    ServerReflectionResponse& response) {
  if (file == nullptr) {
    auto& error = *response.mutable_error_response();
    error.set_error_code(grpc::StatusCode::NOT_FOUND);
    error.set_error_message(absl::StrCat("this server does not know ", asked));
    return;
  }
  std::set<const FileDescriptor*> added;
  AddFile(file, added, *response.mutable_file_descriptor_response());
}

}  // namespace

void AnswerReflection(const ServerReflectionRequest& request, ServerReflectionResponse& response) {
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  response.set_valid_host(request.host());
  *response.mutable_original_request() = request;
  switch (request.message_request_case()) {
    case ServerReflectionRequest::kListServices:
      return ListServices(response);
    case ServerReflectionRequest::kFileByFilename:
      return AnswerWithFile(pool.FindFileByName(request.file_by_filename()),
                            request.file_by_filename(), response);
    case ServerReflectionRequest::kFileContainingSymbol:
      return AnswerWithFile(pool.FindFileContainingSymbol(request.file_containing_symbol()),
                            request.file_containing_symbol(), response);
    case ServerReflectionRequest::kAllExtensionNumbersOfType:
    case ServerReflectionRequest::kFileContainingExtension:
      // The contract is proto3 and has no extensions.
      return AnswerWithFile(nullptr, "any extension", response);
    case ServerReflectionRequest::MESSAGE_REQUEST_NOT_SET:
      break;
  }
  response.mutable_error_response()->set_error_code(grpc::StatusCode::INVALID_ARGUMENT);
  response.mutable_error_response()->set_error_message("the request asks for nothing");
}

}  // namespace winnow::server
