// Answers of the reflection service, from the descriptors that the program was built with.

#ifndef WINNOW_SERVER_RPC_REFLECTION_H_
#define WINNOW_SERVER_RPC_REFLECTION_H_

#include "grpc/reflection/v1alpha/reflection.pb.h"

namespace winnow::server {

// Lists the services of winnow.v1 and those of gRPC that the server has, and gives the files that
// declare a symbol, with all that they import. What it does not know is an error inside the
// response, as the protocol wants.
void AnswerReflection(const grpc::reflection::v1alpha::ServerReflectionRequest& request,
                      grpc::reflection::v1alpha::ServerReflectionResponse& response);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_REFLECTION_H_
