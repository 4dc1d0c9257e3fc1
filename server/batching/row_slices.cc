#include "server/batching/row_slices.h"

#include <algorithm>
#include <optional>

#include "server/backend/work_shape.h"
#include "winnow/kernels/error.h"

namespace winnow::server {
namespace {

const PageTableRef* PagesOf(const Step& step) {
  return std::visit(
      [](const auto& operation) -> const PageTableRef* {
        if constexpr (internal::kIs<std::remove_reference_t<decltype(operation)>, BlockAmaxStep>) {
          return nullptr;
        } else {
          return &operation.pages;
        }
      },
      step);
}

bool StepIsSliceable(const Step& step) {
  const auto* top_k = std::get_if<TopKStep>(&step);
  if (top_k != nullptr && top_k->plan != nullptr) return false;
  const PageTableRef* pages = PagesOf(step);
  // Score rows that choose their table row may look into any row of the table.
  return pages == nullptr || !pages->rows.present() ||
         pages->table.source != TensorRef::Source::kStep;
}

// Moves an input to its rows from `first_row` on.
void SliceInput(TensorRef& tensor, int64_t first_row, int64_t rows) {
  if (!tensor.present()) return;
  if (tensor.source != TensorRef::Source::kStep && tensor.data != nullptr) {
    tensor.data += first_row * RowStride(tensor) * SizeOf(tensor.dtype);
  }
  tensor.rows = rows;
}

// Inline outputs go straight into the whole's tensors, which are in the order of OutputName.
void SliceOutputs(Step& step, std::vector<OutputTensor>& tensors, int64_t first_row) {
  auto next_inline = tensors.begin();
  ForEachOutput(step, [&](OutputName name, OutputRef& output) {
    const OutputShape shape = ShapeOf(step, name);
    if (output.placement == OutputRef::Placement::kInline) {
      output.placement = OutputRef::Placement::kHost;
      output.data = reinterpret_cast<std::byte*>((next_inline++)->data.data());
      output.row_stride = 0;
    }
    if (output.data != nullptr) {
      output.data += first_row * RowStride(output, shape) * SizeOf(shape.dtype);
    }
  });
}

int64_t FailedRow(const absl::Status& status) {
  const std::optional<ErrorInfo> info = GetErrorInfo(status);
  return info.has_value() ? info->row : -1;
}

}  // namespace

int64_t SliceableRows(const WorkItem& item) {
  // Its word is set when all of it is done.
  if (item.ordering.any()) return 0;
  if (item.steps.empty()) return 0;
  const int64_t rows = RowsOf(item.steps[0]);
  const bool sliceable =
      rows >= 2 && std::all_of(item.steps.begin(), item.steps.end(), [rows](const Step& step) {
        return RowsOf(step) == rows && StepIsSliceable(step);
      });
  return sliceable ? rows : 0;
}

void PrepareResults(WorkItem& whole) {
  whole.results.resize(whole.steps.size());
  for (size_t i = 0; i < whole.steps.size(); ++i) {
    const Step& step = whole.steps[i];
    ForEachOutput(step, [&](OutputName name, const OutputRef& output) {
      if (output.placement != OutputRef::Placement::kInline) return;
      const OutputShape shape = ShapeOf(step, name);
      whole.results[i].outputs.push_back(
          {.name = name, .dtype = shape.dtype, .rows = shape.rows, .columns = shape.columns});
      whole.results[i].outputs.back().data.resize(shape.bytes());
    });
  }
}

WorkItem SliceRows(WorkItem& whole, int64_t first_row, int64_t rows) {
  WorkItem slice;
  slice.first_row = whole.first_row + first_row;
  slice.steps = whole.steps;
  for (size_t i = 0; i < slice.steps.size(); ++i) {
    Step& step = slice.steps[i];
    SliceOutputs(step, whole.results[i].outputs, first_row);
    const PageTableRef* pages = PagesOf(step);
    const bool table_is_shared = pages != nullptr && pages->rows.present();
    ForEachInput(step, [&](absl::string_view, TensorRef& tensor) {
      if (table_is_shared && &tensor == &pages->table) return;
      SliceInput(tensor, first_row, rows);
    });
  }
  return slice;
}

void MergeSlice(const WorkItem& slice, WorkItem& whole) {
  whole.timing.launch += slice.timing.launch;
  whole.timing.device += slice.timing.device;
  whole.timing.batch_items = std::max(whole.timing.batch_items, slice.timing.batch_items);
  whole.timing.batch_rows = std::max(whole.timing.batch_rows, slice.timing.batch_rows);
  if (!slice.status.ok()) {
    const bool earlier = FailedRow(slice.status) < FailedRow(whole.status);
    if (whole.status.ok() || earlier) whole.status = slice.status;
    return;
  }
  for (size_t i = 0; i < slice.results.size() && i < whole.results.size(); ++i) {
    whole.results[i].negative_rows += slice.results[i].negative_rows;
    for (int32_t route = 0; route < kRouteCount; ++route) {
      whole.results[i].route_rows[route] += slice.results[i].route_rows[route];
    }
  }
}

}  // namespace winnow::server
