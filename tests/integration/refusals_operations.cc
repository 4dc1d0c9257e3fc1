// Operations whose tensors, outputs, tables and plans are resources.

#include <cstdint>

#include "tests/integration/refusal_table.h"
#include "tests/testing/requests.h"

namespace winnow::testing {
namespace {

using grpc::StatusCode;
using Table = RefusalTable<v1::TopKRequest>;

constexpr auto kOutOfBounds = v1::ERROR_REASON_RANGE_OUT_OF_BOUNDS;
constexpr auto kConflict = v1::ERROR_REASON_FIELDS_CONFLICT;
constexpr auto kOverlap = v1::ERROR_REASON_OUTPUTS_OVERLAP;

void AddRanges(Table& table) {
  for (const int64_t offset :
       {int64_t{-4}, int64_t{4036}, int64_t{4096}, INT64_MAX - 3, INT64_MAX - 63, INT64_MIN}) {
    table.Add(
        "scores at " + std::to_string(offset),
        {kOutOfBounds, "step.scores.buffer.offset_bytes", std::to_string(offset),
         "offsets from which 64 bytes end within the buffer's 4096"},
        [offset](RefusalScene&, auto& request) {
          request.mutable_step()->mutable_scores()->mutable_buffer()->set_offset_bytes(offset);
        });
  }
  for (const int64_t offset : {int64_t{-4}, int64_t{236}, INT64_MAX - 3}) {
    table.Add(
        "indices at " + std::to_string(offset),
        {kOutOfBounds, "step.indices.buffer.offset_bytes", std::to_string(offset),
         "offsets from which 24 bytes end within the buffer's 256"},
        [offset](RefusalScene&, auto& request) {
          request.mutable_step()->mutable_indices()->mutable_buffer()->set_offset_bytes(offset);
        });
  }
  for (const int64_t offset : {int64_t{1}, int64_t{66}, INT64_MAX}) {
    table.Add(
        "lengths at " + std::to_string(offset),
        {v1::ERROR_REASON_ALIGNMENT_INVALID, "step.lengths.buffer.offset_bytes",
         std::to_string(offset), "multiples of 4, the element's size"},
        [offset](RefusalScene&, auto& request) {
          request.mutable_step()->mutable_lengths()->mutable_buffer()->set_offset_bytes(offset);
        });
  }
}

void AddStrides(Table& table) {
  for (const int64_t stride : {int64_t{7}, int64_t{-8}, INT64_MIN}) {
    table.Add("scores of stride " + std::to_string(stride),
              {v1::ERROR_REASON_STRIDE_TOO_SMALL, "step.scores.row_stride", std::to_string(stride),
               "0, or at least 8, the columns"},
              [stride](RefusalScene&, auto& request) {
                request.mutable_step()->mutable_scores()->set_row_stride(stride);
              });
  }
  for (const int64_t stride : {INT64_MAX, INT64_MAX / 4, INT64_MAX / 8}) {
    table.Add("scores of stride " + std::to_string(stride),
              {v1::ERROR_REASON_SIZE_OVERFLOW, "step.scores.row_stride", std::to_string(stride),
               "at most 576460752303423487 for 2 rows"},
              [stride](RefusalScene&, auto& request) {
                request.mutable_step()->mutable_scores()->set_row_stride(stride);
              });
  }
  table.Add("scores of the largest stride",
            {kOutOfBounds, "step.scores.buffer.offset_bytes", "0",
             "offsets from which 2305843009213693980 bytes end within the buffer's 4096"},
            [](RefusalScene&, auto& request) {
              request.mutable_step()->mutable_scores()->set_row_stride(576460752303423487);
            });
  table.Add("indices of the largest stride and one",
            {v1::ERROR_REASON_SIZE_OVERFLOW, "step.indices.row_stride", "576460752303423488",
             "at most 576460752303423487 for 2 rows"},
            [](RefusalScene&, auto& request) {
              request.mutable_step()->mutable_indices()->set_row_stride(576460752303423488);
            });
  table.Add("indices narrower than k",
            {v1::ERROR_REASON_STRIDE_TOO_SMALL, "step.indices.row_stride", "2",
             "0, or at least 3, the output's columns"},
            [](RefusalScene&, auto& request) {
              request.mutable_step()->mutable_indices()->set_row_stride(2);
            });
  table.Add("rows past the buffer",
            {kOutOfBounds, "step.scores.buffer.offset_bytes", "0",
             "offsets from which 2097152 bytes end within the buffer's 4096"},
            [](RefusalScene&, auto& request) {
              request.mutable_step()->mutable_scores()->set_row_count(65536);
            });
}

void AddOutputs(Table& table) {
  const auto target = [](const std::string& name, Table& to, Says says, int64_t offset) {
    to.Add(name, std::move(says), [offset](RefusalScene& scene, auto& request) {
      *request.mutable_step()->mutable_indices() = BufferTarget(scene.scores, offset);
    });
  };
  target("indices over the scores", table,
         {kOverlap, "step.indices", "scores", "memory of its own"}, 0);
  target("indices over the scores' last element", table,
         {kOverlap, "step.indices", "scores", "memory of its own"}, 60);
  target("indices over the lengths", table,
         {kOverlap, "step.indices", "lengths", "memory of its own"}, 68);
  table.Add("slots over the indices", {kOverlap, "step.slots", "indices", "memory of its own"},
            [](RefusalScene&, auto& request) {
              request.mutable_step()->mutable_slots()->mutable_buffer()->set_offset_bytes(20);
            });
  table.Add("values over the slots", {kOverlap, "step.values", "slots", "memory of its own"},
            [](RefusalScene& scene, auto& request) {
              *request.mutable_step()->mutable_values() = BufferTarget(scene.results, 84);
            });
  table.Add("indices into read-only memory", {kConflict, "step.indices.buffer.buffer", "", ""},
            [](RefusalScene& scene, auto& request) {
              *request.mutable_step()->mutable_indices() = BufferTarget(scene.read_only);
            });
}

void AddPlacements(Table& table) {
  table.Add("an inline output with a buffer", {kConflict, "step.indices.buffer", "", ""},
            [](RefusalScene&, auto& request) {
              request.mutable_step()->mutable_indices()->set_placement(v1::OUTPUT_PLACEMENT_INLINE);
            });
  table.Add(
      "a kept output",
      {kConflict, "step.indices.placement", "2", "1 (inline) here; only Execute keeps outputs"},
      [](RefusalScene&, auto& request) {
        request.mutable_step()->mutable_indices()->Clear();
        request.mutable_step()->mutable_indices()->set_placement(v1::OUTPUT_PLACEMENT_KEEP);
      });
  table.Add(
      "a buffer output without a buffer",
      {v1::ERROR_REASON_FIELD_MISSING, "step.indices.buffer", "", "placement BUFFER writes there"},
      [](RefusalScene&, auto& request) {
        request.mutable_step()->mutable_indices()->clear_buffer();
      });
  table.Add("a placement that does not exist",
            {v1::ERROR_REASON_ENUM_UNKNOWN, "step.indices.placement", "9", "0 to 3"},
            [](RefusalScene&, auto& request) {
              request.mutable_step()->mutable_indices()->set_placement(
                  static_cast<v1::OutputPlacement>(9));
            });
}

void AddPages(Table& table) {
  table.Add("a page size beside the table", {kConflict, "step.page_table.page_size", "", ""},
            [](RefusalScene&, auto& request) {
              request.mutable_step()->mutable_page_table()->set_page_size(4);
            });
  table.Add("a pool beside the table", {kConflict, "step.page_table.pool_page_count", "", ""},
            [](RefusalScene&, auto& request) {
              request.mutable_step()->mutable_page_table()->set_pool_page_count(4);
            });
  table.Add("more rows than the table",
            {v1::ERROR_REASON_SHAPE_MISMATCH, "step.page_table.resource", "2",
             "tables of at least 3 rows, without row_indices"},
            [](RefusalScene&, auto& request) {
              request.mutable_step()->clear_plan();
              request.mutable_step()->mutable_scores()->set_row_count(3);
              *request.mutable_step()->mutable_lengths() = Int32Vector({8, 8, 8});
            });
  for (const int32_t row : {-1, 2, INT32_MAX, INT32_MIN}) {
    table.Add("table row " + std::to_string(row),
              {v1::ERROR_REASON_PAGE_TABLE_ROW_OUT_OF_RANGE, "step.page_table.row_indices",
               std::to_string(row), "0 to 1", StatusCode::INVALID_ARGUMENT, true},
              [row](RefusalScene&, auto& request) {
                *request.mutable_step()->mutable_page_table()->mutable_row_indices() =
                    Int32Vector({0, row});
              });
  }
}

void AddPagesOfRows(Table& table) {
  table.Add("a selected page that was never assigned",
            {v1::ERROR_REASON_PAGE_ID_OUT_OF_RANGE, "step.page_table.resource", "-1", "0 to 99",
             StatusCode::INVALID_ARGUMENT, true},
            [](RefusalScene&, auto& request) {
              request.mutable_step()->clear_indices();
              request.mutable_step()->clear_plan();
              *request.mutable_step()->mutable_scores() =
                  FloatTensor(2, 16, std::vector<float>(32, 1));
              request.mutable_step()->set_k(16);
              *request.mutable_step()->mutable_lengths() = Int32Vector({8, 16});
            });
  table.Add("a row longer than its pages",
            {v1::ERROR_REASON_PAGE_TABLE_TOO_NARROW, "step.page_table.resource", "5", "at most 4",
             StatusCode::INVALID_ARGUMENT, true},
            [](RefusalScene&, auto& request) {
              request.mutable_step()->clear_plan();
              *request.mutable_step()->mutable_scores() =
                  FloatTensor(2, 20, std::vector<float>(40, 1));
              *request.mutable_step()->mutable_lengths() = Int32Vector({8, 17});
            });
}

void AddPlans(Table& table) {
  const auto stale = [](const std::string& field, const std::string& value,
                        const std::string& limit) {
    return Says{v1::ERROR_REASON_PLAN_STALE,     field, value, limit,
                StatusCode::FAILED_PRECONDITION, true};
  };
  table.Add("a plan for another k", stale("step.plan", "4", "3"),
            [](RefusalScene&, auto& request) { request.mutable_step()->set_k(4); });
  table.Add("a plan for more columns", stale("step.plan", "6", "8"),
            [](RefusalScene&, auto& request) {
              request.mutable_step()->mutable_scores()->set_column_count(6);
              *request.mutable_step()->mutable_lengths() = Int32Vector({6, 5});
            });
  table.Add("a plan for another type", stale("step.plan", "2", "1"),
            [](RefusalScene&, auto& request) {
              request.mutable_step()->mutable_scores()->set_data_type(v1::DATA_TYPE_BFLOAT16);
            });
  table.Add("a plan for more rows", stale("step.plan", "1", "2"), [](RefusalScene&, auto& request) {
    request.mutable_step()->mutable_scores()->set_row_count(1);
    *request.mutable_step()->mutable_lengths() = Int32Vector({8});
  });
  table.Add("a plan for another length of the second row", stale("step.plan", "6", "5"),
            [](RefusalScene&, auto& request) {
              *request.mutable_step()->mutable_lengths() = Int32Vector({8, 6});
            });
  table.Add("a plan and a threshold", {kConflict, "step.static_threshold", "", ""},
            [](RefusalScene&, auto& request) { request.mutable_step()->set_static_threshold(5); });
  table.Add("resources without a lease",
            {v1::ERROR_REASON_FIELD_MISSING, "lease_id", "", "resources belong to a lease"},
            [](RefusalScene&, auto& request) { request.clear_lease_id(); });
}

// Whatever needs it, the missing lease_id is the request's.
void AddMissingLeases(Table& table) {
  const auto add = [&table](const std::string& name,
                            void (*spoil)(v1::TopKStep&, const v1::TopKStep&)) {
    table.Add(name + " without a lease",
              {v1::ERROR_REASON_FIELD_MISSING, "lease_id", "", "resources belong to a lease"},
              [spoil](RefusalScene&, auto& request) {
                const v1::TopKStep stored = request.step();
                request = GoodTopK();
                spoil(*request.mutable_step(), stored);
              });
  };
  add("lengths", [](v1::TopKStep& step, const v1::TopKStep& stored) {
    *step.mutable_lengths() = stored.lengths();
    step.mutable_lengths()->set_row_count(step.scores().row_count());
  });
  add("an output", [](v1::TopKStep& step, const v1::TopKStep& stored) {
    *step.mutable_indices() = stored.indices();
  });
  add("a plan",
      [](v1::TopKStep& step, const v1::TopKStep& stored) { *step.mutable_plan() = stored.plan(); });
  add("a page table", [](v1::TopKStep& step, const v1::TopKStep& stored) {
    step.mutable_slots()->set_placement(v1::OUTPUT_PLACEMENT_INLINE);
    *step.mutable_page_table() = stored.page_table();
  });
}

}  // namespace

std::vector<Refusal> OperationRefusals() {
  std::vector<Refusal> all;
  Table table("IndexerService/TopK",
              [](RefusalScene& scene) { return scene.GoodTopKOnResources(); });
  AddRanges(table);
  AddStrides(table);
  AddOutputs(table);
  AddPlacements(table);
  AddPages(table);
  AddPagesOfRows(table);
  AddPlans(table);
  AddMissingLeases(table);
  table.MoveTo(all);
  return all;
}

}  // namespace winnow::testing
