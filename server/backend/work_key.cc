// Keys and costs of items. The checks are in check_item.cc.

#include "server/backend/work_key.h"

#include <algorithm>
#include <limits>

#include "absl/container/inlined_vector.h"
#include "server/backend/work_shape.h"
#include "server/base/checked_math.h"

namespace winnow::server {
namespace {

void Append(std::string& key, int32_t value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void AppendParams(std::string& key, const TopKStep& step) {
  Append(key, static_cast<int32_t>(step.params.dtype));
  Append(key, step.params.k);
  Append(key, static_cast<int32_t>(step.params.order) * 2 + (step.params.deterministic ? 1 : 0));
}

void AppendParams(std::string& key, const BlockAmaxStep& step) {
  Append(key, static_cast<int32_t>(step.params.dtype));
  Append(key, step.params.block_size);
  Append(key, step.params.skip_at_most);
}

void AppendParams(std::string& key, const SortBlocksStep& step) {
  Append(key, step.params.width);
  Append(key, step.params.block_size);
}

void AppendParams(std::string& key, const PublishStep& step) {
  Append(key, static_cast<int32_t>(step.params.dtype));
  Append(key, step.params.k);
  Append(key, step.params.k_blocks);
  Append(key, step.params.block_size);
  Append(key, static_cast<int32_t>(step.params.order) * 2 + (step.params.deterministic ? 1 : 0));
}

// Where an input comes from matters only for inputs that an earlier step makes.
void AppendReference(std::string& key, const TensorRef& tensor) {
  const bool of_step = tensor.source == TensorRef::Source::kStep;
  if (!of_step) return key.push_back(tensor.present() ? 1 : 0);
  key.push_back(2);
  Append(key, tensor.step);
  key.push_back(static_cast<char>(tensor.output));
}

// The bytes that one item's inputs hold, each range of memory counted once: several steps may read
// the same scores.
class DistinctRanges {
 public:
  bool Add(const std::byte* data) {
    if (std::find(seen_.begin(), seen_.end(), data) != seen_.end()) return false;
    seen_.push_back(data);
    return true;
  }

 private:
  absl::InlinedVector<const std::byte*, 8> seen_;
};

constexpr int64_t kInt64Max = std::numeric_limits<int64_t>::max();

// Costs are asked for before and after checks, so shapes may be anything.
int64_t Bytes(int64_t rows, int64_t columns, DType dtype) {
  return SaturatingMultiply(
      SaturatingMultiply(std::max<int64_t>(rows, 0), std::max<int64_t>(columns, 0)), SizeOf(dtype));
}

int64_t BytesRead(const TensorRef& tensor) {
  return Bytes(tensor.rows, tensor.columns, tensor.dtype);
}

// The gaps between rows are held too.
int64_t BytesHeld(const TensorRef& tensor) {
  const auto elements = CheckedExtent(tensor.rows, tensor.columns, RowStride(tensor));
  return SaturatingMultiply(elements.value_or(kInt64Max), SizeOf(tensor.dtype));
}

}  // namespace

std::string BatchKey(const WorkItem& item) {
  std::string key;
  key.reserve(48 * item.steps.size());
  if (const WorkOrdering& ordering = item.ordering; ordering.wait_word != nullptr) {
    // A launch waits for one word; items that wait for another one must not wait with it.
    Append(key, static_cast<int32_t>(ordering.wait_value));
    key.append(reinterpret_cast<const char*>(&ordering.wait_word), sizeof(ordering.wait_word));
    key.append(absl::FormatDuration(ordering.wait_timeout));
  }
  for (const Step& step : item.steps) {
    key.push_back(static_cast<char>(step.index()));
    std::visit([&](const auto& operation) { AppendParams(key, operation); }, step);
    ForEachInput(step,
                 [&](absl::string_view, const TensorRef& tensor) { AppendReference(key, tensor); });
    ForEachOutput(
        step, [&](OutputName, const OutputRef& output) { key.push_back(output.wanted() ? 1 : 0); });
  }
  return key;
}

WorkCost CostOf(const WorkItem& item) {
  WorkCost cost;
  DistinctRanges ranges;
  for (const Step& step : item.steps) {
    cost.rows = SaturatingAdd(cost.rows, std::max<int64_t>(RowsOf(step), 0));
    ForEachInput(step, [&](absl::string_view, const TensorRef& tensor) {
      if (!tensor.present()) return;
      cost.input_bytes = SaturatingAdd(cost.input_bytes, BytesRead(tensor));
      if (tensor.source == TensorRef::Source::kHost && ranges.Add(tensor.data)) {
        cost.host_bytes = SaturatingAdd(cost.host_bytes, BytesHeld(tensor));
      }
    });
    ForEachOutput(step, [&](OutputName name, const OutputRef& output) {
      if (output.placement != OutputRef::Placement::kInline) return;
      const OutputShape shape = ShapeOf(step, name);
      cost.host_bytes =
          SaturatingAdd(cost.host_bytes, Bytes(shape.rows, shape.columns, shape.dtype));
    });
  }
  return cost;
}

}  // namespace winnow::server
