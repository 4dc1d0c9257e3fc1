// Page tables: shapes, initial contents, updates, forks.

#include <cstdint>

#include "tests/integration/refusal_table.h"
#include "tests/testing/requests.h"

namespace winnow::testing {
namespace {

using grpc::StatusCode;

constexpr auto kOutOfBounds = v1::ERROR_REASON_RANGE_OUT_OF_BOUNDS;
constexpr auto kBadPage = v1::ERROR_REASON_PAGE_ID_OUT_OF_RANGE;

void AddShapes(RefusalTable<v1::CreatePageTableRequest>& table) {
  for (const int64_t rows : {int64_t{0}, int64_t{-1}, int64_t{65537}, INT64_MAX}) {
    table.Add(
        std::to_string(rows) + " rows",
        {v1::ERROR_REASON_SHAPE_OUT_OF_RANGE, "row_count", std::to_string(rows), "1 to 65536"},
        [rows](RefusalScene&, auto& request) { request.set_row_count(rows); });
  }
  for (const int64_t columns : {int64_t{0}, int64_t{-1}, int64_t{2097153}, INT64_MAX}) {
    table.Add(std::to_string(columns) + " columns",
              {v1::ERROR_REASON_SHAPE_OUT_OF_RANGE, "column_count", std::to_string(columns),
               "1 to 2097152"},
              [columns](RefusalScene&, auto& request) { request.set_column_count(columns); });
  }
  for (const int32_t size : {0, -4, 3, 1 << 21, INT32_MIN}) {
    table.Add("pages of " + std::to_string(size),
              {v1::ERROR_REASON_PAGE_SIZE_INVALID, "page_size", std::to_string(size),
               "powers of two from 1 to 1048576"},
              [size](RefusalScene&, auto& request) { request.set_page_size(size); });
  }
  table.Add(
      "a pool of -1 pages",
      {v1::ERROR_REASON_VALUE_OUT_OF_RANGE, "pool_page_count", "-1", "0 (not declared) or more"},
      [](RefusalScene&, auto& request) { request.set_pool_page_count(-1); });
  table.Add("a table larger than the lease's quota",
            {v1::ERROR_REASON_QUOTA_EXCEEDED, "", "8624 + 1649267441664",
             "1048576, the bytes of the lease", StatusCode::RESOURCE_EXHAUSTED},
            [](RefusalScene&, auto& request) {
              request.set_row_count(65536);
              request.set_column_count(2097152);
              request.clear_initial();
            });
}

void AddInitialElsewhere(RefusalTable<v1::CreatePageTableRequest>& table) {
  table.Add("initial ids in a buffer",
            {v1::ERROR_REASON_FIELDS_CONFLICT, "initial.buffer", "", "inline_data alone"},
            [](RefusalScene& scene, auto& request) {
              *request.mutable_initial() = BufferTensor(v1::DATA_TYPE_INT32, 2, 2, scene.scores);
            });
}

void AddInitial(RefusalTable<v1::CreatePageTableRequest>& table) {
  table.Add("initial ids as float32",
            {v1::ERROR_REASON_DTYPE_UNSUPPORTED, "initial.data_type", "1", "3 (int32)"},
            [](RefusalScene&, auto& request) {
              request.mutable_initial()->set_data_type(v1::DATA_TYPE_FLOAT32);
            });
  table.Add("initial ids of one row more",
            {v1::ERROR_REASON_SHAPE_MISMATCH, "initial.row_count", "3", "2, the table's"},
            [](RefusalScene&, auto& request) {
              *request.mutable_initial() = Int32Tensor(3, 2, {1, 2, 3, 4, 5, 6});
            });
  table.Add("initial ids of one column less",
            {v1::ERROR_REASON_SHAPE_MISMATCH, "initial.column_count", "1", "2, the table's"},
            [](RefusalScene&, auto& request) {
              *request.mutable_initial() = Int32Tensor(2, 1, {1, 2});
            });
  table.Add("initial ids of too few bytes",
            {v1::ERROR_REASON_DATA_SIZE_MISMATCH, "initial.inline_data", "15",
             "16 bytes for the declared shape"},
            [](RefusalScene&, auto& request) {
              request.mutable_initial()->mutable_inline_data()->pop_back();
            });
  table.Add("initial ids from a step",
            {v1::ERROR_REASON_STEP_REFERENCE_INVALID, "initial.step_output.step_index", "0",
             "inline_data here; earlier steps exist in Execute alone"},
            [](RefusalScene&, auto& request) {
              request.mutable_initial()->mutable_step_output()->set_step_index(0);
            });
  for (const int32_t id : {-2, 50, INT32_MAX, INT32_MIN}) {
    table.Add("an initial id of " + std::to_string(id),
              {kBadPage, "initial", std::to_string(id), "-1 to 49"},
              [id](RefusalScene&, auto& request) {
                *request.mutable_initial() = Int32Tensor(2, 2, {1, 2, 3, id});
              });
  }
  table.Add("an id whose slots do not fit int32", {kBadPage, "initial", "2048", "-1 to 2047"},
            [](RefusalScene&, auto& request) {
              request.set_page_size(1 << 20);
              request.clear_pool_page_count();
              *request.mutable_initial() = Int32Tensor(2, 2, {1, 2, 3, 2048});
            });
}

v1::CreatePageTableRequest GoodTable(RefusalScene& scene) {
  v1::CreatePageTableRequest request;
  request.set_lease_id(scene.mine().id());
  request.set_row_count(2);
  request.set_column_count(2);
  request.set_page_size(4);
  request.set_pool_page_count(50);
  *request.mutable_initial() = Int32Tensor(2, 2, {1, 2, 3, -1});
  return request;
}

v1::UpdatePageTableRequest GoodUpdate(RefusalScene& scene) {
  v1::UpdatePageTableRequest request;
  request.set_lease_id(scene.mine().id());
  *request.mutable_page_table() = scene.table;
  auto& range = *request.add_ranges();  // good, so that a bad edit behind it must undo it
  range.add_page_ids(99);
  return request;
}

void AddRows(RefusalTable<v1::UpdatePageTableRequest>& table) {
  for (const int64_t row : {int64_t{-1}, int64_t{2}, INT64_MAX, INT64_MIN}) {
    const std::string text = std::to_string(row);
    table.Add("a range in row " + text, {kOutOfBounds, "ranges[1].row", text, "0 to 1"},
              [row](RefusalScene&, auto& request) { request.add_ranges()->set_row(row); });
    table.Add("an append to row " + text, {kOutOfBounds, "appends[0].row", text, "0 to 1"},
              [row](RefusalScene&, auto& request) { request.add_appends()->set_row(row); });
    table.Add("clearing row " + text, {kOutOfBounds, "clear_rows[0]", text, "0 to 1"},
              [row](RefusalScene&, auto& request) { request.add_clear_rows(row); });
  }
}

void AddEdits(RefusalTable<v1::UpdatePageTableRequest>& table) {
  for (const int64_t column : {int64_t{-1}, int64_t{4}, INT64_MAX, INT64_MIN}) {
    table.Add("an id at column " + std::to_string(column),
              {kOutOfBounds, "ranges[1].column", std::to_string(column),
               "at most 3 for 1 id in a row of 4"},
              [column](RefusalScene&, auto& request) {
                auto& range = *request.add_ranges();
                range.set_column(column);
                range.add_page_ids(1);
              });
  }
  table.Add("an append past the width of the table",
            {kOutOfBounds, "appends[0].page_ids", "2", "at most 1 more id in a row of 4"},
            [](RefusalScene&, auto& request) {
              auto& append = *request.add_appends();
              append.add_page_ids(1);
              append.add_page_ids(2);
            });
  table.Add("two appends that together pass the width",
            {kOutOfBounds, "appends[1].page_ids", "1", "at most 0 more ids in a row of 4"},
            [](RefusalScene&, auto& request) {
              request.add_appends()->add_page_ids(1);
              request.add_appends()->add_page_ids(2);
            });
  for (const int32_t id : {-2, 100, INT32_MAX, INT32_MIN}) {
    const std::string text = std::to_string(id);
    table.Add("an id of " + text + " in a range",
              {kBadPage, "ranges[1].page_ids", text, "-1 to 99"},
              [id](RefusalScene&, auto& request) { request.add_ranges()->add_page_ids(id); });
    table.Add("an id of " + text + " in an append",
              {kBadPage, "appends[0].page_ids", text, "-1 to 99"},
              [id](RefusalScene&, auto& request) { request.add_appends()->add_page_ids(id); });
  }
}

void AddVersions(RefusalTable<v1::UpdatePageTableRequest>& table) {
  for (const int64_t version : {int64_t{2}, int64_t{-1}, INT64_MAX}) {
    table.Add("another version, " + std::to_string(version),
              {v1::ERROR_REASON_RESOURCE_STALE, "expected_version", std::to_string(version), "1",
               StatusCode::FAILED_PRECONDITION},
              [version](RefusalScene&, auto& request) { request.set_expected_version(version); });
  }
  table.Add(
      "a foreign table",
      {v1::ERROR_REASON_RESOURCE_FOREIGN, "page_table", "*", "", StatusCode::PERMISSION_DENIED},
      [](RefusalScene& scene, auto& request) {
        *request.mutable_page_table() = scene.foreign_table;
      });
  table.Add(
      "a released table",
      {v1::ERROR_REASON_RESOURCE_STALE, "page_table", "*", "", StatusCode::FAILED_PRECONDITION},
      [](RefusalScene& scene, auto& request) {
        *request.mutable_page_table() = scene.released_table;
      });
}

void AddForks(std::vector<Refusal>& all) {
  RefusalTable<v1::ForkPageTableRequest> table("MemoryService/ForkPageTable",
                                               [](RefusalScene& scene) {
                                                 v1::ForkPageTableRequest request;
                                                 request.set_lease_id(scene.mine().id());
                                                 *request.mutable_page_table() = scene.table;
                                                 return request;
                                               });
  for (const int64_t row : {int64_t{-1}, int64_t{2}, INT64_MAX, INT64_MIN}) {
    table.Add("from row " + std::to_string(row),
              {kOutOfBounds, "source_rows[1]", std::to_string(row), "0 to 1"},
              [row](RefusalScene&, auto& request) {
                request.add_source_rows(1);
                request.add_source_rows(row);
              });
  }
  table.Add(
      "of a released table",
      {v1::ERROR_REASON_RESOURCE_STALE, "page_table", "*", "", StatusCode::FAILED_PRECONDITION},
      [](RefusalScene& scene, auto& request) {
        *request.mutable_page_table() = scene.released_table;
      });
  table.Add(
      "of a foreign table",
      {v1::ERROR_REASON_RESOURCE_FOREIGN, "page_table", "*", "", StatusCode::PERMISSION_DENIED},
      [](RefusalScene& scene, auto& request) {
        *request.mutable_page_table() = scene.foreign_table;
      });
  table.Add("of a plan", {v1::ERROR_REASON_FIELDS_CONFLICT, "page_table", "*", ""},
            [](RefusalScene& scene, auto& request) { *request.mutable_page_table() = scene.plan; });
  table.Add("of more rows than a table has",
            {v1::ERROR_REASON_SHAPE_OUT_OF_RANGE, "source_rows", "65537", "1 to 65536"},
            [](RefusalScene&, auto& request) {
              for (int row = 0; row < 65537; ++row) request.add_source_rows(row % 2);
            });
  table.MoveTo(all);
}

}  // namespace

std::vector<Refusal> PageTableRefusals() {
  std::vector<Refusal> all;
  RefusalTable<v1::CreatePageTableRequest> creations("MemoryService/CreatePageTable", GoodTable);
  AddShapes(creations);
  AddInitialElsewhere(creations);
  AddInitial(creations);
  creations.MoveTo(all);
  RefusalTable<v1::UpdatePageTableRequest> updates("MemoryService/UpdatePageTable", GoodUpdate);
  AddRows(updates);
  AddEdits(updates);
  AddVersions(updates);
  updates.MoveTo(all);
  AddForks(all);
  return all;
}

}  // namespace winnow::testing
