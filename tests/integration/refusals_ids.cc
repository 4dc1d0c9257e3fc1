// Ids that are not the lease's own, of every resource in every place that takes one.

#include <cstdint>

#include "tests/integration/refusal_table.h"
#include "tests/testing/requests.h"

namespace winnow::testing {
namespace {

using grpc::StatusCode;

// The ways in which an id can be wrong. `mutable_id` finds it in the request.
template <typename Request>
void AddWrongIds(RefusalTable<Request>& table, const std::string& field,
                 const std::function<v1::ResourceId*(Request&)>& mutable_id,
                 v1::ResourceId RefusalScene::*released, v1::ResourceId RefusalScene::*foreign,
                 v1::ResourceId RefusalScene::*other_kind) {
  const auto add = [&](const std::string& name, v1::ErrorReason reason, StatusCode code,
                       const std::string& value,
                       const std::function<void(RefusalScene&, v1::ResourceId&)>& spoil) {
    table.Add(field + " " + name, {reason, field, value, "", code},
              [mutable_id, spoil](RefusalScene& scene, Request& request) {
                spoil(scene, *mutable_id(request));
              });
  };
  const auto number = [&](int64_t id) {
    add("is " + std::to_string(id), v1::ERROR_REASON_RESOURCE_NOT_FOUND, StatusCode::NOT_FOUND,
        std::to_string(id), [id](RefusalScene&, v1::ResourceId& wrong) { wrong.set_id(id); });
  };
  for (const int64_t id : {int64_t{0}, int64_t{-1}, int64_t{999}, INT64_MAX, INT64_MIN}) number(id);
  add("has a generation that is to come", v1::ERROR_REASON_RESOURCE_NOT_FOUND,
      StatusCode::NOT_FOUND, "*",
      [](RefusalScene&, v1::ResourceId& wrong) { wrong.set_generation(wrong.generation() + 1); });
  add("has no generation", v1::ERROR_REASON_RESOURCE_NOT_FOUND, StatusCode::NOT_FOUND, "*",
      [](RefusalScene&, v1::ResourceId& wrong) { wrong.set_generation(0); });
  add("was released", v1::ERROR_REASON_RESOURCE_STALE, StatusCode::FAILED_PRECONDITION, "*",
      [released](RefusalScene& scene, v1::ResourceId& wrong) { wrong = scene.*released; });
  add("is another lease's", v1::ERROR_REASON_RESOURCE_FOREIGN, StatusCode::PERMISSION_DENIED, "*",
      [foreign](RefusalScene& scene, v1::ResourceId& wrong) { wrong = scene.*foreign; });
  add("is of another kind", v1::ERROR_REASON_FIELDS_CONFLICT, StatusCode::INVALID_ARGUMENT, "*",
      [other_kind](RefusalScene& scene, v1::ResourceId& wrong) { wrong = scene.*other_kind; });
}

v1::TopKRequest GoodTopK(RefusalScene& scene) { return scene.GoodTopKOnResources(); }

void AddTopKIds(std::vector<Refusal>& all) {
  RefusalTable<v1::TopKRequest> table("IndexerService/TopK", GoodTopK);
  AddWrongIds<v1::TopKRequest>(
      table, "step.scores.buffer.buffer",
      [](v1::TopKRequest& request) {
        return request.mutable_step()->mutable_scores()->mutable_buffer()->mutable_buffer();
      },
      &RefusalScene::released_buffer, &RefusalScene::foreign_buffer, &RefusalScene::table);
  AddWrongIds<v1::TopKRequest>(
      table, "step.indices.buffer.buffer",
      [](v1::TopKRequest& request) {
        return request.mutable_step()->mutable_indices()->mutable_buffer()->mutable_buffer();
      },
      &RefusalScene::released_buffer, &RefusalScene::foreign_buffer, &RefusalScene::plan);
  AddWrongIds<v1::TopKRequest>(
      table, "step.page_table.resource",
      [](v1::TopKRequest& request) {
        return request.mutable_step()->mutable_page_table()->mutable_resource();
      },
      &RefusalScene::released_table, &RefusalScene::foreign_table, &RefusalScene::scores);
  AddWrongIds<v1::TopKRequest>(
      table, "step.plan",
      [](v1::TopKRequest& request) { return request.mutable_step()->mutable_plan(); },
      &RefusalScene::released_plan, &RefusalScene::foreign_plan, &RefusalScene::table);
  table.MoveTo(all);
}

template <typename Request>
void AddReleaseIds(std::vector<Refusal>& all, const std::string& method, const std::string& field,
                   v1::ResourceId* (Request::*mutable_id)(), v1::ResourceId RefusalScene::*good,
                   v1::ResourceId RefusalScene::*released, v1::ResourceId RefusalScene::*foreign,
                   v1::ResourceId RefusalScene::*other_kind) {
  RefusalTable<Request> table(method, [mutable_id, good](RefusalScene& scene) {
    Request request;
    request.set_lease_id(scene.mine().id());
    *(request.*mutable_id)() = scene.*good;
    return request;
  });
  AddWrongIds<Request>(
      table, field, [mutable_id](Request& request) { return (request.*mutable_id)(); }, released,
      foreign, other_kind);
  table.MoveTo(all);
}

}  // namespace

std::vector<Refusal> IdRefusals() {
  std::vector<Refusal> all;
  AddTopKIds(all);
  AddReleaseIds(all, "MemoryService/ReleaseBuffer", "buffer",
                &v1::ReleaseBufferRequest::mutable_buffer, &RefusalScene::scores,
                &RefusalScene::released_buffer, &RefusalScene::foreign_buffer, &RefusalScene::plan);
  AddReleaseIds(all, "MemoryService/ReleasePageTable", "page_table",
                &v1::ReleasePageTableRequest::mutable_page_table, &RefusalScene::table,
                &RefusalScene::released_table, &RefusalScene::foreign_table,
                &RefusalScene::read_only);
  AddReleaseIds(all, "IndexerService/ReleasePlan", "plan", &v1::ReleasePlanRequest::mutable_plan,
                &RefusalScene::plan, &RefusalScene::released_plan, &RefusalScene::foreign_plan,
                &RefusalScene::scores);
  return all;
}

}  // namespace winnow::testing
