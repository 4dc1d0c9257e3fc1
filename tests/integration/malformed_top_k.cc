// TopK: its parameters, tensors, outputs and page table.

#include <cstdint>
#include <limits>

#include "tests/integration/malformed_requests.h"
#include "tests/testing/requests.h"

namespace winnow::testing {
namespace {

using Table = MalformedTable<v1::TopKRequest>;
constexpr int64_t kInt64Max = std::numeric_limits<int64_t>::max();

v1::TopKStep& StepOf(v1::TopKRequest& request) { return *request.mutable_step(); }
v1::Tensor& ScoresOf(v1::TopKRequest& request) { return *StepOf(request).mutable_scores(); }

void AddParameters(Table& table) {
  table.Add("no step", v1::ERROR_REASON_FIELD_MISSING, "step", [](auto& r) { r.clear_step(); });
  for (const int32_t k :
       {0, -1, 2049, std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()}) {
    table.Add("k is " + std::to_string(k), v1::ERROR_REASON_K_OUT_OF_RANGE, "step.k",
              [k](auto& r) { StepOf(r).set_k(k); });
  }
  for (const int order : {4, -1, 1 << 30}) {
    table.Add("order is " + std::to_string(order), v1::ERROR_REASON_ENUM_UNKNOWN, "step.order",
              [order](auto& r) { StepOf(r).set_order(static_cast<v1::SelectionOrder>(order)); });
  }
}

void AddScoreShapes(Table& table) {
  table.Add("no scores", v1::ERROR_REASON_FIELD_MISSING, "step.scores",
            [](auto& r) { StepOf(r).clear_scores(); });
  const auto shape = [&table](int64_t rows, int64_t columns, const char* field) {
    table.Add("scores are " + std::to_string(rows) + " x " + std::to_string(columns),
              v1::ERROR_REASON_SHAPE_OUT_OF_RANGE, field, [rows, columns](auto& r) {
                ScoresOf(r).set_row_count(rows);
                ScoresOf(r).set_column_count(columns);
              });
  };
  shape(-1, 8, "step.scores.row_count");
  shape(65'537, 8, "step.scores.row_count");
  shape(kInt64Max, 8, "step.scores.row_count");
  shape(std::numeric_limits<int64_t>::min(), 8, "step.scores.row_count");
  shape(2, -1, "step.scores.column_count");
  shape(2, 2'097'153, "step.scores.column_count");
  shape(2, kInt64Max, "step.scores.column_count");
  const auto no_data = [&table](const char* name, int64_t rows, int64_t columns) {
    table.Add(name, v1::ERROR_REASON_DATA_SIZE_MISMATCH, "step.scores.inline_data",
              [rows, columns](auto& r) {
                ScoresOf(r).set_row_count(rows);
                ScoresOf(r).set_column_count(columns);
                ScoresOf(r).set_inline_data("");
              });
  };
  no_data("the largest shape without data", 65'536, 2'097'152);
  no_data("one score without data", 1, 1);
}

void AddStrides(Table& table) {
  const auto stride = [&table](int64_t value, v1::ErrorReason reason, int64_t rows = 2) {
    table.Add("row stride " + std::to_string(value) + " of " + std::to_string(rows) + " rows",
              reason, "step.scores.row_stride", [value, rows](auto& r) {
                ScoresOf(r).set_row_stride(value);
                ScoresOf(r).set_row_count(rows);
              });
  };
  stride(7, v1::ERROR_REASON_STRIDE_TOO_SMALL);
  stride(1, v1::ERROR_REASON_STRIDE_TOO_SMALL);
  stride(-1, v1::ERROR_REASON_STRIDE_TOO_SMALL);
  stride(std::numeric_limits<int64_t>::min(), v1::ERROR_REASON_STRIDE_TOO_SMALL);
  stride(kInt64Max, v1::ERROR_REASON_SIZE_OVERFLOW);
  stride(kInt64Max / 2 + 1, v1::ERROR_REASON_SIZE_OVERFLOW);  // rows x stride is 2^63
  stride(kInt64Max / 8 + 1, v1::ERROR_REASON_SIZE_OVERFLOW);  // in bytes it is
  stride(kInt64Max / 65'536 + 1, v1::ERROR_REASON_SIZE_OVERFLOW, 65'536);
  table.Add("row stride that fits 63 bits but not the data", v1::ERROR_REASON_DATA_SIZE_MISMATCH,
            "step.scores.inline_data",
            [](auto& r) { ScoresOf(r).set_row_stride(int64_t{1} << 50); });
}

void AddScoreData(Table& table) {
  const auto size = [&table](const char* name, size_t bytes) {
    table.Add(name, v1::ERROR_REASON_DATA_SIZE_MISMATCH, "step.scores.inline_data",
              [bytes](auto& r) { ScoresOf(r).set_inline_data(std::string(bytes, '\0')); });
  };
  size("scores cut by one byte", 63);
  size("scores cut by one element", 60);
  size("scores with a byte too many", 65);
  size("no bytes of scores", 0);
  table.Add("scores without a source", v1::ERROR_REASON_FIELD_MISSING, "step.scores.inline_data",
            [](auto& r) { ScoresOf(r).clear_inline_data(); });
  table.Add("scores without a type", v1::ERROR_REASON_FIELD_MISSING, "step.scores.data_type",
            [](auto& r) { ScoresOf(r).clear_data_type(); });
  table.Add("scores of an unknown type", v1::ERROR_REASON_ENUM_UNKNOWN, "step.scores.data_type",
            [](auto& r) { ScoresOf(r).set_data_type(static_cast<v1::DataType>(99)); });
  table.Add("scores of a negative type", v1::ERROR_REASON_ENUM_UNKNOWN, "step.scores.data_type",
            [](auto& r) { ScoresOf(r).set_data_type(static_cast<v1::DataType>(-1)); });
  table.Add("scores of int32", v1::ERROR_REASON_DTYPE_UNSUPPORTED, "step.scores.data_type",
            [](auto& r) { ScoresOf(r).set_data_type(v1::DATA_TYPE_INT32); });
  table.Add("float32 bytes declared bfloat16", v1::ERROR_REASON_DATA_SIZE_MISMATCH,
            "step.scores.inline_data",
            [](auto& r) { ScoresOf(r).set_data_type(v1::DATA_TYPE_BFLOAT16); });
  table.Add(
      "more inline bytes than the limit", v1::ERROR_REASON_MESSAGE_TOO_LARGE,
      "step.scores.inline_data",
      [](auto& r) {
        *StepOf(r).mutable_scores() = FloatTensor(2, 140'000, std::vector<float>(280'000));
      },
      grpc::StatusCode::RESOURCE_EXHAUSTED);
  table.Add("an output of a step in a single operation", v1::ERROR_REASON_STEP_REFERENCE_INVALID,
            "step.scores.step_output.step_index", [](auto& r) {
              *StepOf(r).mutable_scores() =
                  StepOutputTensor(v1::DATA_TYPE_FLOAT32, 2, 8, 0, v1::OUTPUT_NAME_KEYS);
            });
}

void AddLengths(Table& table) {
  table.Add("no lengths", v1::ERROR_REASON_FIELD_MISSING, "step.lengths",
            [](auto& r) { StepOf(r).clear_lengths(); });
  table.Add("too few lengths", v1::ERROR_REASON_SHAPE_MISMATCH, "step.lengths.row_count",
            [](auto& r) { *StepOf(r).mutable_lengths() = Int32Vector({8}); });
  table.Add("too many lengths", v1::ERROR_REASON_SHAPE_MISMATCH, "step.lengths.row_count",
            [](auto& r) {
              *StepOf(r).mutable_lengths() = Int32Vector({8, 5, 5});
            });
  table.Add("lengths as a row", v1::ERROR_REASON_SHAPE_OUT_OF_RANGE, "step.lengths.column_count",
            [](auto& r) {
              *StepOf(r).mutable_lengths() = Int32Tensor(1, 2, {8, 5});
            });
  table.Add("lengths with gaps", v1::ERROR_REASON_VALUE_OUT_OF_RANGE, "step.lengths.row_stride",
            [](auto& r) {
              *StepOf(r).mutable_lengths() =
                  MakeTensor(v1::DATA_TYPE_INT32, 2, 1, BytesOf<int32_t>({8, 0, 5, 0}));
              StepOf(r).mutable_lengths()->set_row_stride(2);
            });
  table.Add("lengths of float32", v1::ERROR_REASON_DTYPE_UNSUPPORTED, "step.lengths.data_type",
            [](auto& r) {
              *StepOf(r).mutable_lengths() = FloatTensor(2, 1, {8, 5});
            });
  for (const int32_t length : {9, 1 << 30, std::numeric_limits<int32_t>::max()}) {
    table.Add("a length of " + std::to_string(length), v1::ERROR_REASON_LENGTH_OUT_OF_RANGE,
              "step.lengths", [length](auto& r) {
                *StepOf(r).mutable_lengths() = Int32Vector({8, length});
              });
  }
}

void AddRowVectors(Table& table) {
  const auto starts = [&table](int32_t start, v1::ErrorReason reason, const char* field) {
    table.Add("a row start of " + std::to_string(start), reason, field, [start](auto& r) {
      *StepOf(r).mutable_row_starts() = Int32Vector({0, start});
    });
  };
  starts(-1, v1::ERROR_REASON_ROW_START_OUT_OF_RANGE, "step.row_starts");
  starts(9, v1::ERROR_REASON_ROW_START_OUT_OF_RANGE, "step.row_starts");
  starts(std::numeric_limits<int32_t>::max(), v1::ERROR_REASON_ROW_START_OUT_OF_RANGE,
         "step.row_starts");
  starts(4, v1::ERROR_REASON_LENGTH_OUT_OF_RANGE, "step.lengths");
  table.Add("too few row starts", v1::ERROR_REASON_SHAPE_MISMATCH, "step.row_starts.row_count",
            [](auto& r) { *StepOf(r).mutable_row_starts() = Int32Vector({0}); });
  table.Add("an index past int32", v1::ERROR_REASON_INDEX_OUT_OF_RANGE, "step.index_offsets",
            [](auto& r) {
              *StepOf(r).mutable_index_offsets() =
                  Int32Vector({0, std::numeric_limits<int32_t>::max() - 3});
            });
  table.Add("index offsets without data", v1::ERROR_REASON_FIELD_MISSING,
            "step.index_offsets.inline_data", [](auto& r) {
              *StepOf(r).mutable_index_offsets() = Int32Vector({0, 0});
              StepOf(r).mutable_index_offsets()->clear_inline_data();
            });
}

void AddOutputs(Table& table) {
  table.Add("no output wanted", v1::ERROR_REASON_FIELD_MISSING, "step.indices",
            [](auto& r) { StepOf(r).clear_indices(); });
  table.Add("an output placed nowhere", v1::ERROR_REASON_FIELD_MISSING, "step.indices",
            [](auto& r) {
              StepOf(r).mutable_indices()->set_placement(v1::OUTPUT_PLACEMENT_UNSPECIFIED);
            });
  table.Add("an output placed somewhere unknown", v1::ERROR_REASON_ENUM_UNKNOWN,
            "step.indices.placement", [](auto& r) {
              StepOf(r).mutable_indices()->set_placement(static_cast<v1::OutputPlacement>(77));
            });
  table.Add("an output kept by a single operation", v1::ERROR_REASON_FIELDS_CONFLICT,
            "step.values.placement",
            [](auto& r) { StepOf(r).mutable_values()->set_placement(v1::OUTPUT_PLACEMENT_KEEP); });
  table.Add("slots without a page table", v1::ERROR_REASON_FIELD_MISSING, "step.page_table",
            [](auto& r) { WantInline(StepOf(r).mutable_slots()); });
  table.Add("a page table without slots", v1::ERROR_REASON_FIELDS_CONFLICT, "step.page_table",
            [](auto& r) { *StepOf(r).mutable_page_table() = GoodPagedTopK().step().page_table(); });
  table.Add(
      "outputs larger than the limit", v1::ERROR_REASON_MESSAGE_TOO_LARGE, "step.indices",
      [](auto& r) {
        *StepOf(r).mutable_scores() = FloatTensor(1000, 1, std::vector<float>(1000));
        *StepOf(r).mutable_lengths() = Int32Vector(std::vector<int32_t>(1000, 1));
        StepOf(r).set_k(2048);
      },
      grpc::StatusCode::RESOURCE_EXHAUSTED);
}

v1::PageTable& PagesOf(v1::TopKRequest& request) { return *StepOf(request).mutable_page_table(); }

void AddPageFields(Table& table) {
  for (const int32_t size :
       {3, 0, -1, -4, 12, (1 << 20) + 1, 1 << 21, std::numeric_limits<int32_t>::min()}) {
    table.Add("page size " + std::to_string(size), v1::ERROR_REASON_PAGE_SIZE_INVALID,
              "step.page_table.page_size", [size](auto& r) { PagesOf(r).set_page_size(size); });
  }
  table.Add("a negative pool", v1::ERROR_REASON_VALUE_OUT_OF_RANGE,
            "step.page_table.pool_page_count", [](auto& r) { PagesOf(r).set_pool_page_count(-1); });
  table.Add("no table", v1::ERROR_REASON_FIELD_MISSING, "step.page_table.table",
            [](auto& r) { PagesOf(r).clear_table(); });
  table.Add("a table of float32", v1::ERROR_REASON_DTYPE_UNSUPPORTED,
            "step.page_table.table.data_type", [](auto& r) {
              *PagesOf(r).mutable_table() = FloatTensor(2, 2, {1, 2, 3, 4});
            });
  table.Add("a table with a row too few", v1::ERROR_REASON_SHAPE_MISMATCH,
            "step.page_table.table.row_count", [](auto& r) {
              *PagesOf(r).mutable_table() = Int32Tensor(1, 2, {10, 11});
            });
  table.Add("a table cut short", v1::ERROR_REASON_DATA_SIZE_MISMATCH,
            "step.page_table.table.inline_data",
            [](auto& r) { PagesOf(r).mutable_table()->set_inline_data(std::string(15, '\0')); });
  table.Add("a table stride that overflows", v1::ERROR_REASON_SIZE_OVERFLOW,
            "step.page_table.table.row_stride",
            [](auto& r) { PagesOf(r).mutable_table()->set_row_stride(kInt64Max / 4); });
}

void AddPageContents(Table& table) {
  table.Add("a table too narrow", v1::ERROR_REASON_PAGE_TABLE_TOO_NARROW, "step.page_table.table",
            [](auto& r) {
              *PagesOf(r).mutable_table() = Int32Tensor(2, 1, {10, 20});
            });
  const auto page_id = [&table](int32_t id, int32_t pool, const char* name) {
    table.Add(name, v1::ERROR_REASON_PAGE_ID_OUT_OF_RANGE, "step.page_table.table",
              [id, pool](auto& r) {
                *PagesOf(r).mutable_table() = Int32Tensor(2, 2, {10, 11, 20, id});
                PagesOf(r).set_pool_page_count(pool);
              });
  };
  page_id(-1, 0, "a negative page id");
  page_id(std::numeric_limits<int32_t>::min(), 0, "the least page id");
  page_id(std::numeric_limits<int32_t>::max(), 0, "a page id whose slot is past int32");
  page_id(1 << 29, 0, "the first page id whose slot is past int32");
  page_id(64, 64, "a page id at the end of the pool");
  const auto table_row = [&table](int32_t row) {
    table.Add("table row " + std::to_string(row), v1::ERROR_REASON_PAGE_TABLE_ROW_OUT_OF_RANGE,
              "step.page_table.row_indices", [row](auto& r) {
                *PagesOf(r).mutable_row_indices() = Int32Vector({0, row});
              });
  };
  table_row(-1);
  table_row(2);
  table_row(std::numeric_limits<int32_t>::max());
  table.Add("too many table rows named", v1::ERROR_REASON_SHAPE_MISMATCH,
            "step.page_table.row_indices.row_count", [](auto& r) {
              *PagesOf(r).mutable_row_indices() = Int32Vector({0, 1, 0});
            });
}

}  // namespace

std::vector<MalformedRequest> MalformedTopK() {
  Table table("IndexerService/TopK", GoodTopK());
  AddParameters(table);
  AddScoreShapes(table);
  AddStrides(table);
  AddScoreData(table);
  AddLengths(table);
  AddRowVectors(table);
  AddOutputs(table);
  return table.Take();
}

std::vector<MalformedRequest> MalformedPages() {
  Table table("IndexerService/TopK", GoodPagedTopK());
  AddPageFields(table);
  AddPageContents(table);
  return table.Take();
}

}  // namespace winnow::testing
