#include "server/rpc/memory_methods.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/resources/buffer.h"
#include "server/resources/page_table.h"
#include "server/rpc/request_scope.h"
#include "server/rpc/sharing_methods.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/limits.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

void EncodeId(ResourceId id, v1::ResourceId& encoded) {
  encoded.set_id(id.id);
  encoded.set_generation(id.generation);
}

ResourceId DecodeId(const v1::ResourceId& id) {
  return {.id = id.id(), .generation = id.generation()};
}

absl::Status AllocateBuffer(const RpcEnvironment& environment,
                            const v1::AllocateBufferRequest& request,
                            v1::AllocateBufferResponse& response) {
  WINNOW_RETURN_IF_ERROR(FieldInRange(ErrorReason::kValueOutOfRange, "size_bytes",
                                      request.size_bytes(), 1,
                                      environment.ledger->options().max_lease_bytes));
  std::shared_ptr<Buffer> buffer;
  std::vector<QuotaHold> holds;
  if (request.export_kind() != v1::EXPORT_KIND_UNSPECIFIED) {
    WINNOW_ASSIGN_OR_RETURN(ExportableAllocation exportable,
                            AllocateExportable(environment, request));
    buffer = std::move(exportable.buffer);
    holds = std::move(exportable.holds);
  } else {
    WINNOW_ASSIGN_OR_RETURN(holds,
                            environment.ledger->Reserve(request.lease_id(), request.size_bytes()));
    WINNOW_ASSIGN_OR_RETURN(const ServedDevice* device,
                            DeviceOfLease(environment, request.lease_id()));
    WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> memory,
                            device->backend->AllocateBuffer(request.size_bytes()));
    buffer = std::make_shared<AllocatedBuffer>(std::move(memory));
  }
  response.set_size_bytes(buffer->size_bytes());
  WINNOW_ASSIGN_OR_RETURN(
      const ResourceId id,
      environment.ledger->Add(request.lease_id(), std::move(buffer), std::move(holds)));
  EncodeId(id, *response.mutable_buffer());
  return absl::OkStatus();
}

absl::Status ListResources(const RpcEnvironment& environment,
                           const v1::ListResourcesRequest& request,
                           v1::ListResourcesResponse& response) {
  WINNOW_ASSIGN_OR_RETURN(const std::vector<ResourceSummary> resources,
                          environment.ledger->Resources(request.lease_id()));
  int64_t used_bytes = 0;
  for (const ResourceSummary& summary : resources) {
    v1::ResourceDescription& description = *response.add_resources();
    EncodeId(summary.id, *description.mutable_resource());
    description.set_kind(static_cast<v1::ResourceKind>(summary.kind));
    description.set_size_bytes(summary.size_bytes);
    description.set_version(summary.version);
    used_bytes += summary.size_bytes;
  }
  response.set_used_bytes(used_bytes);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int32_t>> InitialIds(const RpcEnvironment& environment,
                                                const v1::CreatePageTableRequest& request) {
  if (!request.has_initial()) return std::vector<int32_t>();
  RequestScope scope(environment.limits, RequestKind::kInline, nullptr);
  TensorRef ids;
  WINNOW_RETURN_IF_ERROR(scope.Matrix("initial", &request.initial(), {.scores = false}, ids));
  if (ids.rows != request.row_count() || ids.columns != request.column_count()) {
    const bool rows = ids.rows != request.row_count();
    return InvalidField(
        ErrorReason::kShapeMismatch, rows ? "initial.row_count" : "initial.column_count",
        rows ? ids.rows : ids.columns,
        absl::StrCat(rows ? request.row_count() : request.column_count(), ", the table's"));
  }
  std::vector<int32_t> packed(ids.rows * ids.columns);
  for (int64_t row = 0; row < ids.rows; ++row) {
    std::memcpy(packed.data() + row * ids.columns,
                ids.data + row * ids.row_stride * SizeOf(ids.dtype),
                ids.columns * SizeOf(ids.dtype));
  }
  return packed;
}

absl::StatusOr<ResourceId> AddPageTable(const RpcEnvironment& environment,
                                        const std::string& lease_id,
                                        std::shared_ptr<PageTable> table,
                                        std::vector<QuotaHold> holds) {
  return environment.ledger->Add(lease_id, std::move(table), std::move(holds));
}

absl::Status CreatePageTable(const RpcEnvironment& environment,
                             const v1::CreatePageTableRequest& request,
                             v1::CreatePageTableResponse& response) {
  const PageTableShape shape{.rows = request.row_count(),
                             .columns = request.column_count(),
                             .page_size = request.page_size(),
                             .pool_pages = request.pool_page_count()};
  WINNOW_ASSIGN_OR_RETURN(const int64_t bytes, PageTable::BytesFor(shape));
  WINNOW_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, InitialIds(environment, request));
  WINNOW_ASSIGN_OR_RETURN(std::vector<QuotaHold> holds,
                          environment.ledger->Reserve(request.lease_id(), bytes));
  WINNOW_ASSIGN_OR_RETURN(const ServedDevice* device,
                          DeviceOfLease(environment, request.lease_id()));
  WINNOW_ASSIGN_OR_RETURN(std::shared_ptr<PageTable> table,
                          PageTable::Create(device->backend, shape, ids));
  WINNOW_ASSIGN_OR_RETURN(const ResourceId id, AddPageTable(environment, request.lease_id(),
                                                            std::move(table), std::move(holds)));
  EncodeId(id, *response.mutable_page_table());
  response.set_version(1);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<PageTable>> FindPageTable(const RpcEnvironment& environment,
                                                         const std::string& lease_id,
                                                         const v1::ResourceId& id) {
  WINNOW_ASSIGN_OR_RETURN(
      std::shared_ptr<Resource> resource,
      environment.ledger->Find(lease_id, DecodeId(id), ResourceKind::kPageTable, "page_table"));
  return std::static_pointer_cast<PageTable>(std::move(resource));
}

absl::Status UpdatePageTable(const RpcEnvironment& environment,
                             const v1::UpdatePageTableRequest& request,
                             v1::UpdatePageTableResponse& response) {
  WINNOW_ASSIGN_OR_RETURN(const std::shared_ptr<PageTable> table,
                          FindPageTable(environment, request.lease_id(), request.page_table()));
  PageTableUpdate update{.expected_version = request.expected_version()};
  update.clear_rows.assign(request.clear_rows().begin(), request.clear_rows().end());
  for (const v1::PageTableRange& range : request.ranges()) {
    update.ranges.push_back({.row = range.row(),
                             .column = range.column(),
                             .page_ids = {range.page_ids().begin(), range.page_ids().end()}});
  }
  for (const v1::PageTableAppend& append : request.appends()) {
    update.appends.push_back(
        {.row = append.row(), .page_ids = {append.page_ids().begin(), append.page_ids().end()}});
  }
  WINNOW_ASSIGN_OR_RETURN(const int64_t version, table->Update(update));
  response.set_version(version);
  return absl::OkStatus();
}

absl::Status ForkPageTable(const RpcEnvironment& environment,
                           const v1::ForkPageTableRequest& request,
                           v1::ForkPageTableResponse& response) {
  WINNOW_ASSIGN_OR_RETURN(const std::shared_ptr<PageTable> table,
                          FindPageTable(environment, request.lease_id(), request.page_table()));
  const std::vector<int64_t> rows(request.source_rows().begin(), request.source_rows().end());
  const PageTableShape shape = table->ForkedShape(rows);
  WINNOW_RETURN_IF_ERROR(
      FieldInRange(ErrorReason::kShapeOutOfRange, "source_rows", shape.rows, 1, kMaxRows));
  WINNOW_ASSIGN_OR_RETURN(const int64_t bytes, PageTable::BytesFor(shape));
  WINNOW_ASSIGN_OR_RETURN(std::vector<QuotaHold> holds,
                          environment.ledger->Reserve(request.lease_id(), bytes));
  WINNOW_ASSIGN_OR_RETURN(std::shared_ptr<PageTable> fork, table->Fork(rows));
  WINNOW_ASSIGN_OR_RETURN(const ResourceId id, AddPageTable(environment, request.lease_id(),
                                                            std::move(fork), std::move(holds)));
  EncodeId(id, *response.mutable_page_table());
  response.set_version(1);
  return absl::OkStatus();
}

template <typename Request, typename Response>
using Function = absl::Status (*)(const RpcEnvironment&, const Request&, Response&);

template <typename Request, typename Response>
std::unique_ptr<RpcMethod> Immediate(absl::string_view name, RpcMethod::RequestFunction request,
                                     RpcEnvironment& environment, WorkerThread* worker,
                                     Function<Request, Response> function) {
  return std::make_unique<ImmediateMethod<Request, Response>>(
      absl::StrCat(v1::MemoryService::service_full_name(), "/", name), std::move(request),
      environment,
      [&environment, function](const UnaryCall&, const auto& message, auto& response) {
        WINNOW_RETURN_IF_ERROR(CheckServing(environment));
        return function(environment, message, response);
      },
      worker);
}

}  // namespace

std::vector<std::unique_ptr<RpcMethod>> MakeMemoryMethods(RawMemoryService& service,
                                                          RpcEnvironment& environment,
                                                          WorkerThread& worker) {
  using Raw = RawMemoryService;
  std::vector<std::unique_ptr<RpcMethod>> methods;
  methods.push_back(Immediate<v1::AllocateBufferRequest, v1::AllocateBufferResponse>(
      "AllocateBuffer", BindRequest(service, &Raw::RequestAllocateBuffer), environment, &worker,
      AllocateBuffer));
  methods.push_back(Immediate<v1::ImportBufferRequest, v1::ImportBufferResponse>(
      "ImportBuffer", BindRequest(service, &Raw::RequestImportBuffer), environment, &worker,
      ImportBuffer));
  methods.push_back(Immediate<v1::ExportBufferRequest, v1::ExportBufferResponse>(
      "ExportBuffer", BindRequest(service, &Raw::RequestExportBuffer), environment, &worker,
      ExportBuffer));
  methods.push_back(Immediate<v1::ReleaseBufferRequest, v1::ReleaseBufferResponse>(
      "ReleaseBuffer", BindRequest(service, &Raw::RequestReleaseBuffer), environment, nullptr,
      [](const RpcEnvironment& env, const auto& request, auto&) {
        return env.ledger->Release(request.lease_id(), DecodeId(request.buffer()),
                                   ResourceKind::kBuffer, "buffer");
      }));
  methods.push_back(Immediate<v1::ListResourcesRequest, v1::ListResourcesResponse>(
      "ListResources", BindRequest(service, &Raw::RequestListResources), environment, nullptr,
      ListResources));
  methods.push_back(Immediate<v1::CreatePageTableRequest, v1::CreatePageTableResponse>(
      "CreatePageTable", BindRequest(service, &Raw::RequestCreatePageTable), environment, &worker,
      CreatePageTable));
  methods.push_back(Immediate<v1::UpdatePageTableRequest, v1::UpdatePageTableResponse>(
      "UpdatePageTable", BindRequest(service, &Raw::RequestUpdatePageTable), environment, nullptr,
      UpdatePageTable));
  methods.push_back(Immediate<v1::ForkPageTableRequest, v1::ForkPageTableResponse>(
      "ForkPageTable", BindRequest(service, &Raw::RequestForkPageTable), environment, &worker,
      ForkPageTable));
  methods.push_back(Immediate<v1::ReleasePageTableRequest, v1::ReleasePageTableResponse>(
      "ReleasePageTable", BindRequest(service, &Raw::RequestReleasePageTable), environment, nullptr,
      [](const RpcEnvironment& env, const auto& request, auto&) {
        return env.ledger->Release(request.lease_id(), DecodeId(request.page_table()),
                                   ResourceKind::kPageTable, "page_table");
      }));
  return methods;
}

}  // namespace winnow::server
