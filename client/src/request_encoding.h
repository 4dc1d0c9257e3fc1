// From the public requests to the contract's messages. Each returns what TensorEncoder does. With
// `bindings` a request may name resources of a lease: they are noted there, for the caller to fill
// in the lease and their ids.

#ifndef WINNOW_CLIENT_SRC_REQUEST_ENCODING_H_
#define WINNOW_CLIENT_SRC_REQUEST_ENCODING_H_

#include <google/protobuf/wrappers.pb.h>

#include <string>

#include "absl/status/status.h"
#include "client/src/no_fields.h"
#include "client/src/resource_bindings.h"
#include "winnow/client/execute.h"
#include "winnow/client/requests.h"
#include "winnow/client/server_info.h"
#include "winnow/v1/admin_service.pb.h"
#include "winnow/v1/indexer_service.pb.h"

namespace winnow::client {

absl::Status Encode(const PlanTopKRequest& request, v1::PlanTopKRequest& message);
absl::Status Encode(const TopKRequest& request, v1::TopKRequest& message,
                    ResourceBindings* bindings = nullptr);
absl::Status Encode(const BlockAmaxRequest& request, v1::BlockAmaxRequest& message,
                    ResourceBindings* bindings = nullptr);
absl::Status Encode(const SortCandidateBlocksRequest& request,
                    v1::SortCandidateBlocksRequest& message, ResourceBindings* bindings = nullptr);
absl::Status Encode(const PublishCandidatesRequest& request, v1::PublishCandidatesRequest& message,
                    ResourceBindings* bindings = nullptr);
absl::Status Encode(const ConsumeCandidatesRequest& request, v1::ConsumeCandidatesRequest& message,
                    ResourceBindings* bindings = nullptr);
absl::Status Encode(const ExecuteRequest& request, v1::ExecuteRequest& message,
                    ResourceBindings* bindings = nullptr);

absl::Status Encode(const NoFields& request, v1::GetServerInfoRequest& message);
absl::Status Encode(const NoFields& request, v1::GetStatsRequest& message);
absl::Status Encode(const NoFields& request, v1::ListLeasesRequest& message);
absl::Status Encode(const EndLeaseRequest& request, v1::EndLeaseRequest& message);
void EncodeDuration(absl::Duration duration, google::protobuf::Duration& message);
absl::Status Encode(const ProbeOccupancyRequest& request, v1::ProbeOccupancyRequest& message);
absl::Status Encode(const DrainRequest& request, v1::DrainRequest& message);
// grpc.health.v1.HealthCheckRequest is one string with number 1, as StringValue is: the bytes are
// the same, and the distributions package no health.proto to generate from.
absl::Status Encode(const std::string& service, google::protobuf::StringValue& message);

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_REQUEST_ENCODING_H_
