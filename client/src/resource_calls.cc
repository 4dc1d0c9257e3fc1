#include "client/src/resource_calls.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/request_encoding.h"
#include "client/src/result_decoding.h"
#include "client/src/tensor_encoding.h"
#include "winnow/client/descriptor_passing.h"
#include "winnow/kernels/count_text.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::client {
namespace {

constexpr int64_t kWriteChunkBytes = int64_t{1} << 20;
// For a server that takes connections and does not answer; a lease that ends waits for it.
constexpr absl::Duration kSendPatience = absl::Seconds(2);
// Page ids in one message of a table that is made anew.
constexpr size_t kIdsPerUpdate = size_t{1} << 16;

void ToProto(const ServerResourceId& id, v1::ResourceId& message) {
  message.set_id(id.id);
  message.set_generation(id.generation);
}

template <typename Message>
void EncodeEdit(const PageTableEdit& edit, Message& message) {
  message.set_row(edit.row);
  message.mutable_page_ids()->Add(edit.page_ids.begin(), edit.page_ids.end());
}

}  // namespace

ServerResourceId FromProto(const v1::ResourceId& id) {
  return {.id = id.id(), .generation = id.generation()};
}

ResourceCalls::ResourceCalls(const CallEnvironment& environment, CallSettings settings,
                             std::stop_token stop, LeasePass lease)
    : environment_(environment),
      settings_(std::move(settings)),
      stop_(std::move(stop)),
      lease_(std::move(lease)) {
  settings_.repeat = Repeat::kWhenRefused;
}

absl::Status ResourceCalls::Call(const char* method, const google::protobuf::MessageLite& request,
                                 google::protobuf::MessageLite& response) {
  settings_.method = method;
  return RunCall(environment_, settings_, stop_, request, response);
}

absl::Status ResourceCalls::Explained(const absl::Status& status) const {
  if (status.ok()) return status;
  if (stop_.stop_requested()) return absl::CancelledError("the caller cancelled the call");
  return CallProgress(environment_, settings_).Explain(status);
}

AttemptOptions ResourceCalls::StreamOptions() const {
  return {.timeout = settings_.timeout,
          .stop = stop_,
          .wait_for_ready = settings_.wait_for_ready,
          .metadata = &settings_.metadata};
}

absl::StatusOr<ServerResourceId> ResourceCalls::AllocateBuffer(int64_t size_bytes) {
  v1::AllocateBufferRequest request;
  request.set_lease_id(lease_.lease_id);
  request.set_size_bytes(size_bytes);
  v1::AllocateBufferResponse response;
  WINNOW_RETURN_IF_ERROR(Call("/winnow.v1.MemoryService/AllocateBuffer", request, response));
  return FromProto(response.buffer());
}

absl::Status ResourceCalls::Judged(const absl::Status& refusal) {
  if (!LeaseIsGone(refusal)) return refusal;
  // Only the server that was dialled can say so: the socket may be another one's.
  WINNOW_RETURN_IF_ERROR(List().status());
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   absl::StrCat("the descriptor socket ", lease_.descriptor_socket_path,
                                " belongs to another server: it does not know the lease, which ",
                                environment_.target, " has; memory is not shared through it"),
                   {.reason = ErrorReason::kPermissionDenied,
                    .field = "descriptor_socket_path",
                    .value = lease_.descriptor_socket_path});
}

absl::StatusOr<ServerResourceId> ResourceCalls::ImportBuffer(const ImportedSource& memory) {
  const absl::StatusOr<std::string> token =
      SendDescriptor(lease_.descriptor_socket_path, lease_.lease_id, memory.descriptor.get(),
                     std::min(settings_.timeout, kSendPatience));
  if (!token.ok()) return Judged(token.status());
  v1::ImportBufferRequest request;
  request.set_lease_id(lease_.lease_id);
  request.set_import_token(*token);
  request.set_offset_bytes(memory.offset_bytes);
  request.set_size_bytes(memory.size_bytes);
  request.set_read_only(memory.read_only);
  v1::ImportBufferResponse response;
  WINNOW_RETURN_IF_ERROR(Call("/winnow.v1.MemoryService/ImportBuffer", request, response));
  return FromProto(response.buffer());
}

absl::Status ResourceCalls::WriteBuffer(const ServerResourceId& buffer, int64_t offset_bytes,
                                        absl::Span<const std::byte> bytes) {
  const auto stream =
      environment_.stub->OpenStream("/winnow.v1.MemoryService/WriteBuffer", StreamOptions());
  v1::WriteBufferRequest chunk;
  chunk.set_lease_id(lease_.lease_id);
  ToProto(buffer, *chunk.mutable_buffer());
  const auto size = static_cast<int64_t>(bytes.size());
  int64_t done = 0;
  do {
    const int64_t count = std::min(kWriteChunkBytes, size - done);
    chunk.set_offset_bytes(offset_bytes + done);
    chunk.set_data(bytes.data() + done, count);
    if (!stream->Write(chunk)) break;
    done += count;
    chunk.clear_lease_id();
    chunk.clear_buffer();
  } while (done < size);
  stream->WritesDone();
  v1::WriteBufferResponse response;
  const bool answered = stream->Read(response);
  WINNOW_RETURN_IF_ERROR(Explained(stream->Finish()));
  if (answered && response.written_bytes() == size) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("the server took ", response.written_bytes(), " of ", CountText(size, "byte")));
}

absl::Status ResourceCalls::ReadBuffer(const ServerResourceId& buffer, int64_t offset_bytes,
                                       absl::Span<std::byte> bytes) {
  v1::ReadBufferRequest request;
  request.set_lease_id(lease_.lease_id);
  ToProto(buffer, *request.mutable_buffer());
  request.set_offset_bytes(offset_bytes);
  request.set_size_bytes(static_cast<int64_t>(bytes.size()));
  const auto stream =
      environment_.stub->OpenStream("/winnow.v1.MemoryService/ReadBuffer", StreamOptions());
  if (stream->Write(request)) stream->WritesDone();
  size_t done = 0;
  bool in_order = true;
  for (v1::ReadBufferResponse chunk; in_order && stream->Read(chunk);) {
    in_order = chunk.offset_bytes() == offset_bytes + static_cast<int64_t>(done) &&
               chunk.data().size() <= bytes.size() - done;
    if (!in_order) break;
    std::memcpy(bytes.data() + done, chunk.data().data(), chunk.data().size());
    done += chunk.data().size();
  }
  if (!in_order) stream->Cancel();
  const absl::Status status = Explained(stream->Finish());
  if (in_order) WINNOW_RETURN_IF_ERROR(status);
  if (in_order && done == bytes.size()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("the server's chunks do not make up the ",
                                          CountText(static_cast<int64_t>(bytes.size()), "byte"),
                                          " asked for"));
}

absl::StatusOr<ServerResourceId> ResourceCalls::CreatePageTable(const PageTableOptions& table) {
  v1::CreatePageTableRequest request;
  request.set_lease_id(lease_.lease_id);
  request.set_row_count(table.rows);
  request.set_column_count(table.columns);
  request.set_page_size(table.page_size);
  request.set_pool_page_count(table.pool_pages);
  TensorEncoder tensors;
  TensorRef initial;
  if (table.initial.rows != 0) initial = table.initial;
  tensors.Add("initial", initial, &request, &v1::CreatePageTableRequest::mutable_initial);
  WINNOW_RETURN_IF_ERROR(tensors.status());
  v1::CreatePageTableResponse response;
  WINNOW_RETURN_IF_ERROR(Call("/winnow.v1.MemoryService/CreatePageTable", request, response));
  return FromProto(response.page_table());
}

absl::StatusOr<int64_t> ResourceCalls::UpdatePageTable(const ServerResourceId& table,
                                                       const PageTableUpdate& update,
                                                       int64_t expected_version) {
  v1::UpdatePageTableRequest request;
  request.set_lease_id(lease_.lease_id);
  ToProto(table, *request.mutable_page_table());
  request.set_expected_version(expected_version);
  request.mutable_clear_rows()->Add(update.clear_rows.begin(), update.clear_rows.end());
  for (const PageTableEdit& edit : update.ranges) {
    v1::PageTableRange& range = *request.add_ranges();
    range.set_column(edit.column);
    EncodeEdit(edit, range);
  }
  for (const PageTableEdit& edit : update.appends) EncodeEdit(edit, *request.add_appends());
  v1::UpdatePageTableResponse response;
  WINNOW_RETURN_IF_ERROR(Call("/winnow.v1.MemoryService/UpdatePageTable", request, response));
  return response.version();
}

absl::StatusOr<ServerResourceId> ResourceCalls::ForkPageTable(
    const ServerResourceId& table, absl::Span<const int64_t> source_rows) {
  v1::ForkPageTableRequest request;
  request.set_lease_id(lease_.lease_id);
  ToProto(table, *request.mutable_page_table());
  request.mutable_source_rows()->Add(source_rows.begin(), source_rows.end());
  v1::ForkPageTableResponse response;
  WINNOW_RETURN_IF_ERROR(Call("/winnow.v1.MemoryService/ForkPageTable", request, response));
  return FromProto(response.page_table());
}

absl::StatusOr<ServerResourceId> ResourceCalls::CreatePlan(PlanSource& plan) {
  PlanTopKRequest planned = plan.request;
  planned.lengths = Int32Column(plan.lengths);
  v1::PlanTopKRequest request;
  WINNOW_RETURN_IF_ERROR(Encode(planned, request));
  request.set_lease_id(lease_.lease_id);
  v1::PlanTopKResponse response;
  WINNOW_RETURN_IF_ERROR(Call("/winnow.v1.IndexerService/PlanTopK", request, response));
  WINNOW_RETURN_IF_ERROR(Decode(response, plan.summary));
  return FromProto(response.plan());
}

absl::Status ResourceCalls::Release(ResourceKind kind, const ServerResourceId& resource) {
  switch (kind) {
    case ResourceKind::kBuffer: {
      v1::ReleaseBufferRequest request;
      request.set_lease_id(lease_.lease_id);
      ToProto(resource, *request.mutable_buffer());
      v1::ReleaseBufferResponse response;
      return Call("/winnow.v1.MemoryService/ReleaseBuffer", request, response);
    }
    case ResourceKind::kPageTable: {
      v1::ReleasePageTableRequest request;
      request.set_lease_id(lease_.lease_id);
      ToProto(resource, *request.mutable_page_table());
      v1::ReleasePageTableResponse response;
      return Call("/winnow.v1.MemoryService/ReleasePageTable", request, response);
    }
    case ResourceKind::kPlan:
      break;
  }
  v1::ReleasePlanRequest request;
  request.set_lease_id(lease_.lease_id);
  ToProto(resource, *request.mutable_plan());
  v1::ReleasePlanResponse response;
  return Call("/winnow.v1.IndexerService/ReleasePlan", request, response);
}

absl::StatusOr<v1::ListResourcesResponse> ResourceCalls::List() {
  v1::ListResourcesRequest request;
  request.set_lease_id(lease_.lease_id);
  v1::ListResourcesResponse response;
  WINNOW_RETURN_IF_ERROR(Call("/winnow.v1.MemoryService/ListResources", request, response));
  return response;
}

absl::StatusOr<int64_t> ResourceCalls::VersionOf(const ServerResourceId& table) {
  WINNOW_ASSIGN_OR_RETURN(const v1::ListResourcesResponse listed, List());
  for (const v1::ResourceDescription& there : listed.resources()) {
    if (FromProto(there.resource()) == table) return there.version();
  }
  return MakeError(absl::StatusCode::kNotFound, "the server has no such page table any more",
                   {.reason = ErrorReason::kResourceNotFound, .field = "page_table"});
}

absl::StatusOr<ServerResourceId> ResourceCalls::Make(ResourceRecord& record) {
  if (auto* allocated = std::get_if<AllocatedSource>(&record.source)) {
    return AllocateBuffer(allocated->size_bytes);
  }
  if (auto* imported = std::get_if<ImportedSource>(&record.source)) return ImportBuffer(*imported);
  if (auto* table = std::get_if<PageTableMirror>(&record.source)) return MakePageTable(*table);
  return CreatePlan(std::get<PlanSource>(record.source));
}

absl::StatusOr<ServerResourceId> ResourceCalls::MakePageTable(PageTableMirror& table) {
  WINNOW_ASSIGN_OR_RETURN(const ServerResourceId id, CreatePageTable(table.options()));
  int64_t version = 1;
  PageTableUpdate update;
  size_t ids = 0;
  for (int64_t row = 0; row < table.rows(); ++row) {
    if (!table.row(row).empty()) {
      update.ranges.push_back({.row = row, .page_ids = table.row(row)});
      ids += table.row(row).size();
    }
    if (ids < kIdsPerUpdate && row + 1 < table.rows()) continue;
    if (update.ranges.empty()) continue;
    WINNOW_ASSIGN_OR_RETURN(version, UpdatePageTable(id, update, version));
    update = {};
    ids = 0;
  }
  table.Rebase(version);
  return id;
}

}  // namespace winnow::client
