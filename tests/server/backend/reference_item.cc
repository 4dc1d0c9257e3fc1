#include "tests/server/backend/reference_item.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "server/backend/work_shape.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/reference.h"

namespace winnow::server {
namespace {

using StepOutputs = std::map<OutputName, std::string>;

// Inputs and outputs of one step without gaps, in vectors of their own.
class PlainStep {
 public:
  PlainStep(const Step& step, const std::vector<StepOutputs>& earlier, Backend* backend)
      : step_(step), earlier_(earlier), backend_(backend) {
    ForEachOutput(step, [&](OutputName name, const OutputRef& output) {
      if (output.wanted()) outputs_[name].resize(ShapeOf(step, name).bytes(), '\0');
    });
  }

  const int32_t* Ints(const TensorRef& tensor) {
    return reinterpret_cast<const int32_t*>(Bytes(tensor));
  }
  const char* Bytes(const TensorRef& tensor) {
    if (!tensor.present()) return nullptr;
    const int64_t row_bytes = tensor.columns * SizeOf(tensor.dtype);
    // Never empty, so that it has an address.
    auto copy = std::make_unique<std::vector<int64_t>>(tensor.rows * row_bytes / 8 + 1);
    char* to = reinterpret_cast<char*>(copy->data());
    if (tensor.source == TensorRef::Source::kStep) {
      const std::string& from = earlier_[tensor.step].at(tensor.output);
      std::memcpy(to, from.data(), from.size());
    } else {
      for (int64_t row = 0; row < tensor.rows; ++row) {
        const int64_t stride = RowStride(tensor) * SizeOf(tensor.dtype);
        const std::byte* from = tensor.data + row * stride;
        if (tensor.source == TensorRef::Source::kDevice) {
          backend_->CopyToHost(reinterpret_cast<std::byte*>(to) + row * row_bytes, from, row_bytes)
              .IgnoreError();
        } else {
          std::memcpy(to + row * row_bytes, from, row_bytes);
        }
      }
    }
    copies_.push_back(std::move(copy));
    return to;
  }
  char* Out(OutputName name) {
    const auto found = outputs_.find(name);
    return found == outputs_.end() ? nullptr : found->second.data();
  }
  int32_t* OutInts(OutputName name) { return reinterpret_cast<int32_t*>(Out(name)); }

  PageTransform Pages(const PageTableRef& pages) {
    PageTransform transform;
    if (!pages.table.present()) return transform;
    transform.page_table = Ints(pages.table);
    transform.page_table_rows = Ints(pages.rows);
    transform.row_stride = pages.table.columns;
    transform.table_rows = static_cast<int32_t>(pages.table.rows);
    transform.table_columns = static_cast<int32_t>(pages.table.columns);
    transform.page_size = pages.page_size;
    transform.pool_pages = pages.pool_pages;
    return transform;
  }
  template <typename SegmentT>
  void Scores(const TensorRef& scores, const TensorRef& lengths, SegmentT& segment) {
    segment.scores = Bytes(scores);
    segment.rows = static_cast<int32_t>(scores.rows);
    segment.columns = static_cast<int32_t>(std::max<int64_t>(scores.columns, 1));
    segment.row_stride = segment.columns;
    segment.lengths = Ints(lengths);
    segment.report = &report_;
  }

  absl::Status Run(const TopKStep& step) {
    TopKSegment s;
    Scores(step.scores, step.lengths, s);
    s.row_starts = Ints(step.row_starts);
    s.index_offsets = Ints(step.index_offsets);
    s.pages = Pages(step.pages);
    s.indices = OutInts(OutputName::kIndices);
    s.slots = OutInts(OutputName::kSlots);
    s.values = Out(OutputName::kValues);
    s.indices_row_stride = s.slots_row_stride = s.values_row_stride = step.params.k;
    return reference::TopK(step.params, s);
  }
  absl::Status Run(const BlockAmaxStep& step) {
    BlockAmaxSegment s;
    Scores(step.scores, step.lengths, s);
    s.keys = reinterpret_cast<float*>(Out(OutputName::kKeys));
    s.keys_row_stride = s.keys_columns = step.key_columns;
    s.block_counts = OutInts(OutputName::kBlockCounts);
    return reference::BlockAmax(step.params, s);
  }
  absl::Status Run(const SortBlocksStep& step) {
    SortBlocksSegment s;
    s.blocks = Ints(step.blocks);
    s.rows = static_cast<int32_t>(step.blocks.rows);
    s.lengths = Ints(step.lengths);
    s.pages = Pages(step.pages);
    s.out_blocks = OutInts(OutputName::kBlocks);
    s.block_slots = OutInts(OutputName::kBlockSlots);
    s.candidate_lengths = OutInts(OutputName::kCandidateLengths);
    s.blocks_row_stride = s.out_blocks_row_stride = s.block_slots_row_stride = step.params.width;
    s.report = &report_;
    return reference::SortCandidateBlocks(step.params, s);
  }
  absl::Status Run(const PublishStep& step) {
    PublishSegment s;
    Scores(step.scores, step.lengths, s);
    s.pages = Pages(step.pages);
    s.slots = OutInts(OutputName::kSlots);
    s.indices = OutInts(OutputName::kIndices);
    s.blocks = OutInts(OutputName::kBlocks);
    s.block_slots = OutInts(OutputName::kBlockSlots);
    s.candidate_lengths = OutInts(OutputName::kCandidateLengths);
    s.slots_row_stride = s.indices_row_stride = step.params.k;
    s.blocks_row_stride = s.block_slots_row_stride = step.params.k_blocks;
    return reference::PublishCandidates(step.params, s);
  }
  absl::Status Run() {
    if (RowsOf(step_) == 0) return absl::OkStatus();
    return std::visit([this](const auto& operation) { return Run(operation); }, step_);
  }

  const SegmentReport& report() const { return report_; }
  StepOutputs TakeOutputs() { return std::move(outputs_); }

 private:
  const Step& step_;
  const std::vector<StepOutputs>& earlier_;
  Backend* const backend_;
  std::vector<std::unique_ptr<std::vector<int64_t>>> copies_;
  StepOutputs outputs_;
  SegmentReport report_;
};

}  // namespace

ReferenceResult RunReference(const WorkItem& item, Backend* backend) {
  ReferenceResult result;
  for (size_t i = 0; i < item.steps.size(); ++i) {
    PlainStep step(item.steps[i], result.outputs, backend);
    absl::Status status = step.Run();
    if (status.ok()) status = StatusFromFault(step.report().fault);
    if (!status.ok() && result.status.ok()) {
      result.status = item.steps.size() == 1
                          ? status
                          : WithFieldPrefix(absl::StrCat("steps[", i, "]."), status);
    }
    result.negative_rows.push_back(step.report().negative_rows);
    result.outputs.push_back(step.TakeOutputs());
  }
  return result;
}

std::string Canonical(const WorkItem& item, size_t step, OutputName name, std::string bytes) {
  const auto* top_k = std::get_if<TopKStep>(&item.steps[step]);
  const bool selects_keys = top_k != nullptr && top_k->scores.source == TensorRef::Source::kStep &&
                            top_k->params.dtype == DType::kFloat32 && name == OutputName::kValues;
  if (name != OutputName::kKeys && !selects_keys) return bytes;
  for (size_t i = 0; i + sizeof(float) <= bytes.size(); i += sizeof(float)) {
    float key;
    std::memcpy(&key, bytes.data() + i, sizeof(key));
    if (std::isnan(key)) key = std::numeric_limits<float>::quiet_NaN();
    if (key == 0.0f) key = 0.0f;
    std::memcpy(bytes.data() + i, &key, sizeof(key));
  }
  return bytes;
}

}  // namespace winnow::server
