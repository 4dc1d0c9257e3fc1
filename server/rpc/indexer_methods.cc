#include "server/rpc/indexer_methods.h"

#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/resources/plan.h"
#include "server/rpc/field_names.h"
#include "server/rpc/request_decoder.h"
#include "server/rpc/response_encoder.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

// Puts a plan on the device, as a resource of the lease.
absl::Status KeepPlan(RpcEnvironment& environment, Backend& backend, const std::string& lease_id,
                      const std::vector<int32_t>& plan, v1::ResourceId& encoded) {
  const auto bytes = static_cast<int64_t>(plan.size() * sizeof(int32_t));
  WINNOW_ASSIGN_OR_RETURN(std::vector<QuotaHold> holds,
                          environment.ledger->Reserve(lease_id, bytes));
  WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> memory, backend.AllocateBuffer(bytes));
  WINNOW_RETURN_IF_ERROR(
      backend.CopyToDevice(memory->data(), reinterpret_cast<const std::byte*>(plan.data()), bytes));
  PlanHeader header;
  std::memcpy(static_cast<void*>(&header), plan.data(), sizeof(header));
  WINNOW_ASSIGN_OR_RETURN(
      const ResourceId id,
      environment.ledger->Add(lease_id, std::make_shared<Plan>(std::move(memory), header),
                              std::move(holds)));
  encoded.set_id(id.id);
  encoded.set_generation(id.generation);
  return absl::OkStatus();
}

absl::Status PlanTopK(RpcEnvironment& environment, const v1::PlanTopKRequest& request,
                      v1::PlanTopKResponse& response) {
  WINNOW_RETURN_IF_ERROR(CheckServing(environment));
  WINNOW_ASSIGN_OR_RETURN(const PlanRequest plan, DecodePlan(request, environment.limits));
  // Of int32, because a plan starts with a header of them.
  std::vector<int32_t> bytes(PlanBytes(plan.rows) / sizeof(int32_t));
  auto* data = reinterpret_cast<std::byte*>(bytes.data());
  // Devices of one server are of one kind but not always of one size, and a plan is for one.
  const ServedDevice* device = &environment.devices[0];
  if (!request.lease_id().empty()) {
    WINNOW_ASSIGN_OR_RETURN(device, DeviceOfLease(environment, request.lease_id()));
  }
  if (plan.rows > 0) {
    WINNOW_RETURN_IF_ERROR(device->backend->HostPlan(plan.params, plan.lengths, plan.rows, data));
  }
  EncodePlan(data, plan.list_pooled_rows, response);
  if (request.lease_id().empty()) return absl::OkStatus();
  return KeepPlan(environment, *device->backend, request.lease_id(), bytes,
                  *response.mutable_plan());
}

absl::Status ReleasePlan(RpcEnvironment& environment, const v1::ReleasePlanRequest& request,
                         v1::ReleasePlanResponse&) {
  return environment.ledger->Release(
      request.lease_id(), {.id = request.plan().id(), .generation = request.plan().generation()},
      ResourceKind::kPlan, "plan");
}

template <typename Request, typename Response>
std::unique_ptr<RpcMethod> Queued(absl::string_view name, RpcMethod::RequestFunction request,
                                  RpcEnvironment& environment,
                                  QueuedFunctions<Request, Response> functions) {
  return std::make_unique<QueuedMethod<Request, Response>>(
      absl::StrCat(v1::IndexerService::service_full_name(), "/", name), std::move(request),
      environment, functions);
}

}  // namespace

std::vector<std::unique_ptr<RpcMethod>> MakeIndexerMethods(RawIndexerService& service,
                                                           RpcEnvironment& environment) {
  using Raw = RawIndexerService;
  std::vector<std::unique_ptr<RpcMethod>> methods;
  methods.push_back(std::make_unique<ImmediateMethod<v1::PlanTopKRequest, v1::PlanTopKResponse>>(
      absl::StrCat(v1::IndexerService::service_full_name(), "/PlanTopK"),
      BindRequest(service, &Raw::RequestPlanTopK), environment,
      [&environment](const UnaryCall&, const auto& request, auto& response) {
        return PlanTopK(environment, request, response);
      }));
  methods.push_back(
      std::make_unique<ImmediateMethod<v1::ReleasePlanRequest, v1::ReleasePlanResponse>>(
          absl::StrCat(v1::IndexerService::service_full_name(), "/ReleasePlan"),
          BindRequest(service, &Raw::RequestReleasePlan), environment,
          [&environment](const UnaryCall&, const auto& request, auto& response) {
            return ReleasePlan(environment, request, response);
          }));
  methods.push_back(Queued<v1::TopKRequest, v1::TopKResponse>(
      "TopK", BindRequest(service, &Raw::RequestTopK), environment,
      {DecodeTopK, EncodeTopK, RenameForStep}));
  methods.push_back(Queued<v1::BlockAmaxRequest, v1::BlockAmaxResponse>(
      "BlockAmax", BindRequest(service, &Raw::RequestBlockAmax), environment,
      {DecodeBlockAmax, EncodeBlockAmax, RenameForStep}));
  methods.push_back(Queued<v1::SortCandidateBlocksRequest, v1::SortCandidateBlocksResponse>(
      "SortCandidateBlocks", BindRequest(service, &Raw::RequestSortCandidateBlocks), environment,
      {DecodeSortBlocks, EncodeSortBlocks, RenameForStep}));
  methods.push_back(Queued<v1::PublishCandidatesRequest, v1::PublishCandidatesResponse>(
      "PublishCandidates", BindRequest(service, &Raw::RequestPublishCandidates), environment,
      {DecodePublish, EncodePublish, RenameForPublish}));
  methods.push_back(Queued<v1::ConsumeCandidatesRequest, v1::ConsumeCandidatesResponse>(
      "ConsumeCandidates", BindRequest(service, &Raw::RequestConsumeCandidates), environment,
      {DecodeConsume, EncodeConsume, RenameForConsume}));
  methods.push_back(Queued<v1::ExecuteRequest, v1::ExecuteResponse>(
      "Execute", BindRequest(service, &Raw::RequestExecute), environment,
      {DecodeExecute, EncodeExecute, RenameForExecute}));
  return methods;
}

}  // namespace winnow::server
