#include "tests/server/backend/random_items.h"

#include <algorithm>
#include <cstring>

#include "tests/testing/score_generators.h"
#include "tests/testing/work_items.h"

namespace winnow::server {

using winnow::testing::Random;

RandomItemMaker::RandomItemMaker(Random* random, Backend* backend, bool faults)
    : random_(*random), backend_(backend), faults_(faults) {
  kind_ = static_cast<int>(random_.Below(3));
  dtype_ = random_.OneIn(2) ? DType::kFloat32 : DType::kBfloat16;
  k_ = static_cast<int32_t>(random_.Between(1, 20));
  width_ = static_cast<int32_t>(random_.Between(1, 12));
  block_size_ = 1 << random_.Between(1, 4);
  order_ = static_cast<Order>(random_.Below(3));
  wants_indices_ = random_.OneIn(2);
  wants_slots_ = random_.OneIn(2);
  wants_values_ = random_.OneIn(2) || !(wants_indices_ || wants_slots_);
  has_starts_ = random_.OneIn(3);
  has_offsets_ = random_.OneIn(3);
  has_table_rows_ = random_.OneIn(3);
}
RandomItemMaker::~RandomItemMaker() = default;

std::byte* RandomItemMaker::DeviceBytes(int64_t bytes) {
  device_.push_back(*backend_->AllocateBuffer(std::max<int64_t>(bytes, 1)));
  return device_.back()->data();
}

// A matrix somewhere, with gaps between its rows or without.
TensorRef RandomItemMaker::Put(DType dtype, int64_t rows, int64_t columns, const void* elements) {
  const int64_t element = SizeOf(dtype);
  const int64_t stride = columns + (random_.OneIn(2) ? random_.Below(9) : 0);
  const int64_t bytes = rows * stride * element;
  TensorRef tensor{.dtype = dtype, .rows = rows, .columns = columns, .row_stride = stride};
  std::vector<std::byte> image(bytes, std::byte{0xee});
  for (int64_t row = 0; row < rows; ++row) {
    std::memcpy(image.data() + row * stride * element,
                static_cast<const std::byte*>(elements) + row * columns * element,
                columns * element);
  }
  if (backend_ != nullptr && random_.OneIn(3)) {
    tensor.source = TensorRef::Source::kDevice;
    std::byte* place = DeviceBytes(bytes + 64) + element * random_.Below(8);
    if (bytes > 0) backend_->CopyToDevice(place, image.data(), bytes).IgnoreError();
    tensor.data = place;
  } else {
    tensor.source = TensorRef::Source::kHost;
    const int64_t misalignment = random_.OneIn(2) ? 0 : random_.Below(8);
    host_.push_back(std::make_unique<std::byte[]>(bytes + 8));
    if (bytes > 0) std::memcpy(host_.back().get() + misalignment, image.data(), bytes);
    tensor.data = host_.back().get() + misalignment;
  }
  return tensor;
}

TensorRef RandomItemMaker::PutInts(int64_t rows, int64_t columns,
                                   const std::vector<int32_t>& elements) {
  return Put(DType::kInt32, rows, columns, elements.data());
}

TensorRef RandomItemMaker::Scores(int64_t rows, int64_t columns) {
  const auto pattern =
      static_cast<winnow::testing::Pattern>(random_.Below(winnow::testing::kPatternCount));
  const std::vector<float> scores = winnow::testing::MakeScores(pattern, rows * columns, random_);
  if (dtype_ == DType::kFloat32) return Put(dtype_, rows, columns, scores.data());
  std::vector<uint16_t> bits(scores.size());
  std::transform(scores.begin(), scores.end(), bits.begin(), winnow::testing::ToBfloat16);
  return Put(dtype_, rows, columns, bits.data());
}

TensorRef RandomItemMaker::Lengths(int64_t rows, int64_t columns) {
  std::vector<int32_t> lengths(rows);
  for (int32_t& length : lengths) {
    length = static_cast<int32_t>(random_.OneIn(6) ? random_.Between(-4, 0)
                                                   : random_.Between(0, columns));
    if (faults_ && random_.OneIn(20)) length = static_cast<int32_t>(columns + 1);
  }
  return PutInts(rows, 1, lengths);
}

PageTableRef RandomItemMaker::Pages(int64_t rows, int64_t positions) {
  PageTableRef pages;
  pages.page_size = std::max(block_size_, 1 << static_cast<int32_t>(random_.Below(7)));
  pages.pool_pages = random_.OneIn(2) ? 0 : 100;
  const int64_t columns =
      std::max<int64_t>(1, (positions + pages.page_size - 1) / pages.page_size + random_.Below(3));
  const int64_t table_rows = has_table_rows_ ? random_.Between(1, 3) : rows + random_.Below(2);
  std::vector<int32_t> ids(table_rows * columns);
  for (int32_t& id : ids) {
    id = static_cast<int32_t>(random_.Below(100));
    if (faults_ && random_.OneIn(100)) id = random_.OneIn(2) ? -1 : INT32_MAX;
  }
  pages.table = PutInts(table_rows, columns, ids);
  if (has_table_rows_) {
    std::vector<int32_t> chosen(rows);
    for (int32_t& row : chosen) row = static_cast<int32_t>(random_.Below(table_rows));
    pages.rows = PutInts(rows, 1, chosen);
  }
  return pages;
}

OutputRef RandomItemMaker::Output(DType dtype, int64_t rows, int64_t columns) {
  if (backend_ == nullptr || random_.OneIn(2)) return Inline();
  const int64_t stride = random_.OneIn(2) ? 0 : columns + random_.Below(5);
  const int64_t bytes = rows * std::max(stride, columns) * SizeOf(dtype);
  if (random_.OneIn(2)) return ToDevice(DeviceBytes(bytes), stride);
  host_.push_back(std::make_unique<std::byte[]>(bytes + 1));
  return {
      .placement = OutputRef::Placement::kHost, .data = host_.back().get(), .row_stride = stride};
}

WorkItem RandomItemMaker::MakeTopK(int64_t rows) {
  const int64_t columns = random_.Between(1, 200);
  TopKStep step;
  step.params = {.dtype = dtype_, .k = k_, .order = order_, .deterministic = true};
  step.scores = Scores(rows, columns);
  step.lengths = Lengths(rows, has_starts_ ? columns / 2 : columns);
  if (has_starts_) {
    std::vector<int32_t> starts(rows);
    for (int32_t& start : starts) start = static_cast<int32_t>(random_.Below(columns / 2 + 1));
    step.row_starts = PutInts(rows, 1, starts);
  }
  if (has_offsets_) {
    std::vector<int32_t> offsets(rows);
    for (int32_t& offset : offsets) offset = static_cast<int32_t>(random_.Between(-50, 1 << 30));
    step.index_offsets = PutInts(rows, 1, offsets);
  }
  if (wants_indices_) step.indices = Output(DType::kInt32, rows, k_);
  if (wants_values_) step.values = Output(dtype_, rows, k_);
  if (wants_slots_) {
    step.pages = Pages(rows, columns);
    step.slots = Output(DType::kInt32, rows, k_);
  }
  step.has_static_threshold = random_.OneIn(3);
  step.static_threshold = static_cast<int32_t>(random_.Between(-1, 100));
  step.max_length = random_.OneIn(2) ? 0 : static_cast<int32_t>(columns);
  WorkItem item;
  item.steps.emplace_back(step);
  return item;
}

// BlockAmax -> TopK of the keys -> SortCandidateBlocks -> TopK through the block slots.
WorkItem RandomItemMaker::MakeIndexChain(int64_t rows) {
  const int64_t columns = random_.Between(1, 300);
  BlockAmaxStep amax;
  amax.params = {.dtype = dtype_, .block_size = block_size_};
  amax.scores = Scores(rows, columns);
  amax.lengths = Lengths(rows, columns);
  amax.key_columns = static_cast<int32_t>((columns + block_size_ - 1) / block_size_);
  amax.keys = random_.OneIn(2) ? Keep() : Output(DType::kFloat32, rows, amax.key_columns);
  amax.block_counts = Keep();
  TopKStep select;
  select.params = {.k = width_, .order = order_, .deterministic = true};
  select.scores = FromStep(0, OutputName::kKeys, DType::kFloat32, rows, amax.key_columns);
  select.lengths = FromStep(0, OutputName::kBlockCounts, DType::kInt32, rows, 1);
  select.indices = random_.OneIn(2) ? Keep() : Output(DType::kInt32, rows, width_);
  SortBlocksStep sort;
  sort.params = {.width = width_, .block_size = block_size_};
  sort.blocks = FromStep(1, OutputName::kIndices, DType::kInt32, rows, width_);
  sort.lengths = amax.lengths;
  sort.pages = Pages(rows, columns);
  sort.blocks_out = Output(DType::kInt32, rows, width_);
  sort.block_slots = random_.OneIn(2) ? Keep() : Output(DType::kInt32, rows, width_);
  sort.candidate_lengths = Output(DType::kInt32, rows, 1);
  TopKStep consume;
  consume.params = {.dtype = dtype_, .k = k_, .order = order_, .deterministic = true};
  consume.scores = Scores(rows, int64_t{width_} * block_size_);
  consume.lengths = FromStep(2, OutputName::kCandidateLengths, DType::kInt32, rows, 1);
  consume.pages.table = FromStep(2, OutputName::kBlockSlots, DType::kInt32, rows, width_);
  consume.pages.page_size = block_size_;
  consume.slots = Output(DType::kInt32, rows, k_);
  WorkItem item;
  item.steps = {amax, select, sort, consume};
  return item;
}

WorkItem RandomItemMaker::MakePublish(int64_t rows) {
  const int64_t columns = random_.Between(1, 300);
  PublishStep step;
  step.params = {.dtype = dtype_,
                 .k = k_,
                 .k_blocks = width_,
                 .block_size = block_size_,
                 .order = order_,
                 .deterministic = true};
  step.scores = Scores(rows, columns);
  step.lengths = Lengths(rows, columns);
  step.pages = Pages(rows, columns);
  step.slots = Output(DType::kInt32, rows, k_);
  if (wants_indices_) step.indices = Output(DType::kInt32, rows, k_);
  step.blocks = Output(DType::kInt32, rows, width_);
  if (wants_slots_) step.block_slots = Output(DType::kInt32, rows, width_);
  step.candidate_lengths = Output(DType::kInt32, rows, 1);
  WorkItem item;
  item.steps.emplace_back(step);
  return item;
}

WorkItem RandomItemMaker::Make(int64_t rows) {
  if (kind_ == 0) return MakeTopK(rows);
  if (kind_ == 1) return MakeIndexChain(rows);
  return MakePublish(rows);
}

WorkItem RandomItemMaker::Make() { return Make(random_.OneIn(10) ? 0 : random_.Between(1, 9)); }

}  // namespace winnow::server
