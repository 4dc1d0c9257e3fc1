#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "server/resources/shared_memory.h"
#include "server/rpc/status_mapping.h"
#include "tests/integration/refusals.h"
#include "tests/testing/requests.h"

namespace winnow::testing {
namespace {

// The scene is what every case stands on.
void Expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "the scene could not be set: %s\n", what);
  std::abort();
}

std::unique_ptr<LeaseSession> OpenLease(const ServerProcess& server) {
  auto session =
      std::make_unique<LeaseSession>(server.Connect(server.unix_target()), v1::OpenLeaseRequest());
  Expect(session->opened(), "a lease");
  return session;
}

}  // namespace

std::vector<std::string> RefusalFlags() {
  return {"--buffer-pool-bytes=16M", "--max-lease-bytes=1M", "--max-lease-resources=16",
          "--max-resume-grace=60s"};
}

RefusalScene::RefusalScene(const ServerProcess& server)
    : channel_(server.Connect(server.unix_target())),
      mine_(OpenLease(server)),
      other_(OpenLease(server)) {
  const auto ended = OpenLease(server);
  ended_lease_id_ = ended->id();
  ended->Close();
  Expect(other_->Allocate(4096, foreign_buffer).ok(), "a foreign buffer");
  foreign_table = CreateTable(*other_);
  foreign_plan = CreatePlan(*other_);
  MakeMine();
}

void RefusalScene::MakeMine() {
  Expect(mine_->Allocate(4096, scores).ok() && mine_->Allocate(256, results).ok(), "buffers");
  std::string bytes =
      BytesOf<float>({0, 1, 2, 3, 4, 5, 6, 7, 7, 6, 5, 4, 3, 2, 1, 0}) + BytesOf<int32_t>({8, 5});
  while (bytes.size() < 4096) bytes.push_back(static_cast<char>(bytes.size() * 7));
  Expect(mine_->Write(scores, 0, bytes).ok(), "scores");
  table = CreateTable(*mine_);
  plan = CreatePlan(*mine_);
  const server::UniqueFd memory(memfd_create("read_only", MFD_CLOEXEC));
  Expect(ftruncate(memory.get(), 4096) == 0, "shared memory");
  Expect(mine_->Import(memory.get(), 4096, /*read_only=*/true, read_only).ok(), "an import");

  // The last to be made, so that nothing takes their places.
  Expect(mine_->Allocate(64, released_buffer).ok(), "a buffer");
  released_table = CreateTable(*mine_);
  released_plan = CreatePlan(*mine_);
  v1::ReleaseBufferRequest buffer;
  buffer.set_lease_id(mine_->id());
  *buffer.mutable_buffer() = released_buffer;
  v1::ReleaseBufferResponse none;
  Expect(mine_->memory().ReleaseBuffer(Patient().get(), buffer, &none).ok(), "a release");
  v1::ReleasePageTableRequest page_table;
  page_table.set_lease_id(mine_->id());
  *page_table.mutable_page_table() = released_table;
  v1::ReleasePageTableResponse nothing;
  Expect(mine_->memory().ReleasePageTable(Patient().get(), page_table, &nothing).ok(), "a release");
  v1::ReleasePlanRequest plan_request;
  plan_request.set_lease_id(mine_->id());
  *plan_request.mutable_plan() = released_plan;
  v1::ReleasePlanResponse no_more;
  Expect(mine_->indexer().ReleasePlan(Patient().get(), plan_request, &no_more).ok(), "a release");
}

v1::ResourceId RefusalScene::CreateTable(LeaseSession& session) {
  v1::CreatePageTableRequest create;
  create.set_lease_id(session.id());
  create.set_row_count(2);
  create.set_column_count(4);
  create.set_page_size(4);
  create.set_pool_page_count(100);
  *create.mutable_initial() = Int32Tensor(2, 4, {10, 11, 12, -1, 20, 21, -1, -1});
  v1::CreatePageTableResponse response;
  Expect(session.memory().CreatePageTable(Patient().get(), create, &response).ok(), "a table");
  return response.page_table();
}

v1::ResourceId RefusalScene::CreatePlan(LeaseSession& session) {
  v1::PlanTopKRequest request;
  request.set_lease_id(session.id());
  *request.mutable_lengths() = Int32Vector({8, 5});
  request.set_column_count(8);
  request.set_k(3);
  request.set_data_type(v1::DATA_TYPE_FLOAT32);
  v1::PlanTopKResponse response;
  Expect(session.indexer().PlanTopK(Patient().get(), request, &response).ok(), "a plan");
  return response.plan();
}

v1::TopKRequest RefusalScene::GoodTopKOnResources() const {
  v1::TopKRequest request;
  request.set_lease_id(mine_->id());
  v1::TopKStep& step = *request.mutable_step();
  *step.mutable_scores() = BufferTensor(v1::DATA_TYPE_FLOAT32, 2, 8, scores);
  *step.mutable_lengths() = BufferTensor(v1::DATA_TYPE_INT32, 2, 1, scores, 64);
  step.set_k(3);
  step.set_deterministic(true);
  *step.mutable_indices() = BufferTarget(results, 0);
  *step.mutable_slots() = BufferTarget(results, 64);
  *step.mutable_page_table()->mutable_resource() = table;
  *step.mutable_plan() = plan;
  return request;
}

std::string RefusalScene::Fingerprint() {
  std::string all, bytes;
  for (const v1::ResourceId& buffer : {scores, results, read_only}) {
    Expect(mine_->Read(buffer, bytes).ok(), "a reading");
    all += bytes;
  }
  Expect(other_->Read(foreign_buffer, bytes).ok(), "a reading");
  all += bytes;
  for (LeaseSession* session : {mine_.get(), other_.get()}) {
    v1::ListResourcesRequest list;
    list.set_lease_id(session->id());
    v1::ListResourcesResponse listed;
    Expect(session->memory().ListResources(Patient().get(), list, &listed).ok(), "a list");
    all += listed.ShortDebugString();
  }
  return all;
}

Outcome OutcomeOf(const grpc::Status& status) {
  Outcome outcome{.code = status.error_code(), .message = status.error_message()};
  if (const auto detail = server::GetErrorDetail(status)) outcome.detail = *detail;
  return outcome;
}

Outcome OutcomeOfStream(const std::shared_ptr<grpc::Channel>& channel,
                        const std::vector<v1::ExecuteStreamRequest>& messages,
                        const std::function<void()>& once_sent) {
  const auto indexer = v1::IndexerService::NewStub(channel);
  const auto context = Patient();
  const auto stream = indexer->ExecuteStream(context.get());
  for (const v1::ExecuteStreamRequest& message : messages) {
    if (!stream->Write(message)) break;
  }
  stream->WritesDone();
  once_sent();
  Outcome outcome;
  v1::ExecuteStreamResponse answer;
  while (stream->Read(&answer)) {
    if (!answer.has_error()) continue;
    outcome = {.code = static_cast<grpc::StatusCode>(answer.error().code()),
               .message = answer.error().message(),
               .detail = answer.error().detail()};
  }
  const grpc::Status status = stream->Finish();
  return status.ok() ? outcome : OutcomeOf(status);
}

}  // namespace winnow::testing
