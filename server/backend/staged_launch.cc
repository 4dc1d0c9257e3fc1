#include "server/backend/staged_launch.h"

#include <cstring>
#include <string>
#include <type_traits>

#include "server/base/checked_math.h"
#include "winnow/kernels/operations.h"

namespace winnow::server {
namespace {

// Every matrix of the launch starts where vector loads are fast.
constexpr int64_t kMatrixAlignment = 64;

bool IsAligned(const std::byte* data, DType dtype) {
  return reinterpret_cast<uintptr_t>(data) % SizeOf(dtype) == 0;
}

Place InPlace(const std::byte* data, int64_t row_stride) {
  // Inputs are never written: segments take them as const again.
  return {.section = Place::Section::kInPlace,
          .in_place = const_cast<std::byte*>(data),
          .row_stride = row_stride};
}

void CopyRows(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride,
              int64_t row_bytes, int64_t rows) {
  if (to_stride == row_bytes && from_stride == row_bytes) {
    std::memcpy(to, from, rows * row_bytes);
    return;
  }
  for (int64_t row = 0; row < rows; ++row) {
    std::memcpy(to + row * to_stride, from + row * from_stride, row_bytes);
  }
}

}  // namespace

StagedLaunch::StagedLaunch(absl::Span<WorkItem* const> items, bool host_memory)
    : items_(items), host_memory_(host_memory), places_(items.size()) {
  for (size_t item = 0; item < items.size(); ++item) {
    places_[item].resize(items[item]->steps.size());
    items[item]->results.clear();
    items[item]->results.resize(items[item]->steps.size());
    first_copy_of_item_ = copies_.size();
    for (size_t step = 0; step < items[item]->steps.size(); ++step) PlaceStep(item, step);
  }
  reports_at_ = AlignUp(sizes_[0], kMatrixAlignment);
  download_at_ = reports_at_ + AlignUp(sizes_[1], kMatrixAlignment);
  sizes_[1] = download_at_ - reports_at_;
  scratch_at_ = download_at_ + AlignUp(sizes_[2], kMatrixAlignment);
}

Place StagedLaunch::Reserve(Place::Section section, int64_t bytes, int64_t row_stride) {
  int64_t& size = sizes_[static_cast<int>(section) - static_cast<int>(Place::Section::kUpload)];
  // Reports lie side by side; nothing else needs less than a matrix's alignment.
  const int64_t alignment =
      section == Place::Section::kReports ? int64_t{alignof(SegmentReport)} : kMatrixAlignment;
  const int64_t offset = AlignUp(size, alignment);
  size = offset + bytes;
  return {.section = section, .offset = offset, .row_stride = row_stride};
}

void StagedLaunch::PlaceStep(size_t item, size_t step_index) {
  const Step& step = items_[item]->steps[step_index];
  StepPlaces& places = places_[item][step_index];
  StepResult& result = items_[item]->results[step_index];
  // Moving a short string moves its bytes, and the device writes to where they are.
  result.outputs.reserve(kOutputNames);
  ForEachOutput(step, [&](OutputName name, const OutputRef& output) {
    if (!output.wanted()) return;
    places.OutputAt(name) = PlaceOutput(output, ShapeOf(step, name), name, result);
  });
  places.runs = RowsOf(step) > 0;
  if (!places.runs) return;
  ForEachInput(step, [&](absl::string_view field, const TensorRef& tensor) {
    const bool is_matrix = field == "scores" || field == "blocks" || field == "page_table.table";
    const Place place = PlaceInput(tensor, item, !is_matrix);
    if (field == "scores" || field == "blocks") places.scores = place;
    if (field == "lengths") places.lengths = place;
    if (field == "row_starts") places.row_starts = place;
    if (field == "index_offsets") places.index_offsets = place;
    if (field == "page_table.table") places.table = place;
    if (field == "page_table.row_indices") places.table_rows = place;
  });
  places.report = Reserve(Place::Section::kReports, sizeof(SegmentReport), 0);
  PlacePlan(step, places);
}

Place StagedLaunch::PlaceInput(const TensorRef& tensor, size_t item, bool is_vector) {
  switch (tensor.source) {
    case TensorRef::Source::kAbsent:
      return {};
    case TensorRef::Source::kStep:
      return places_[item][tensor.step].OutputAt(tensor.output);
    case TensorRef::Source::kDevice:
      if (is_vector && RowStride(tensor) != 1) return CompactOnDevice(tensor);
      return InPlace(tensor.data, RowStride(tensor));
    case TensorRef::Source::kHost:
      break;
  }
  const bool dense = !is_vector || RowStride(tensor) == 1;
  if (host_memory_ && dense && IsAligned(tensor.data, tensor.dtype)) {
    return InPlace(tensor.data, RowStride(tensor));
  }
  return StageFromHost(tensor);
}

Place StagedLaunch::StageFromHost(const TensorRef& tensor) {
  const int64_t element = SizeOf(tensor.dtype);
  CopyFromHost copy{.from = tensor.data,
                    .from_stride_bytes = RowStride(tensor) * element,
                    .row_bytes = tensor.columns * element,
                    .rows = tensor.rows};
  // Several steps of an item may read the same scores.
  for (size_t i = first_copy_of_item_; i < copies_.size(); ++i) {
    const CopyFromHost& earlier = copies_[i];
    if (earlier.from == copy.from && earlier.from_stride_bytes == copy.from_stride_bytes &&
        earlier.row_bytes == copy.row_bytes && earlier.rows == copy.rows) {
      return earlier.to;
    }
  }
  copy.to = Reserve(Place::Section::kUpload, copy.row_bytes * copy.rows, tensor.columns);
  copies_.push_back(copy);
  return copy.to;
}

Place StagedLaunch::CompactOnDevice(const TensorRef& tensor) {
  const int64_t element = SizeOf(tensor.dtype);
  const Place to = Reserve(Place::Section::kScratch, tensor.rows * element, 1);
  compactions_.push_back({.from = tensor.data,
                          .from_stride_bytes = RowStride(tensor) * element,
                          .rows = tensor.rows,
                          .to = to});
  return to;
}

Place StagedLaunch::PlaceOutput(const OutputRef& output, const OutputShape& shape, OutputName name,
                                StepResult& result) {
  Place place;
  switch (output.placement) {
    case OutputRef::Placement::kAbsent:
      return place;
    case OutputRef::Placement::kInline:
      place = PlaceInline(shape, name, result);
      break;
    case OutputRef::Placement::kDevice:
      return PlaceInMemory(output, shape, name);
    case OutputRef::Placement::kHost:
      if (host_memory_) return PlaceInMemory(output, shape, name);
      place = Reserve(Place::Section::kDownload, shape.bytes(), shape.columns);
      break;
    case OutputRef::Placement::kKeep:
      place = Reserve(Place::Section::kScratch, shape.bytes(), shape.columns);
      break;
  }
  // Keys past a row's blocks and of skipped rows are not written, and what another request left
  // there must not show.
  if (name == OutputName::kKeys && place.section != Place::Section::kInPlace) {
    clearings_.push_back({.place = place, .bytes = shape.bytes()});
  }
  return place;
}

Place StagedLaunch::PlaceInline(const OutputShape& shape, OutputName name, StepResult& result) {
  OutputTensor& tensor = result.outputs.emplace_back();
  tensor.name = name;
  tensor.dtype = shape.dtype;
  tensor.rows = shape.rows;
  tensor.columns = shape.columns;
  if (!host_memory_) return Reserve(Place::Section::kDownload, shape.bytes(), shape.columns);
  tensor.data.resize(shape.bytes());
  return InPlace(reinterpret_cast<std::byte*>(tensor.data.data()), shape.columns);
}

// Where the device writes. It knows no gaps between the entries of a vector, and any output of one
// column may be a later step's vector; keys may not, and those not written must stay as they were.
Place StagedLaunch::PlaceInMemory(const OutputRef& output, const OutputShape& shape,
                                  OutputName name) {
  const int64_t stride = RowStride(output, shape);
  if (shape.columns > 1 || stride == 1 || name == OutputName::kKeys) {
    return InPlace(output.data, stride);
  }
  const Place from = Reserve(Place::Section::kScratch, shape.bytes(), 1);
  scatterings_.push_back({.from = from,
                          .to = output.data,
                          .to_stride_bytes = stride * SizeOf(shape.dtype),
                          .entry_bytes = SizeOf(shape.dtype),
                          .rows = shape.rows});
  return from;
}

void StagedLaunch::PlacePlan(const Step& step, StepPlaces& places) {
  const auto* top_k = std::get_if<TopKStep>(&step);
  if (top_k == nullptr) return;
  if (top_k->plan != nullptr) {
    places.plan = InPlace(top_k->plan, 0);
    places.plan_header = Reserve(Place::Section::kDownload, sizeof(PlanHeader), 0);
  } else if (top_k->has_static_threshold) {
    const auto rows = static_cast<int32_t>(top_k->scores.rows);
    places.plan = Reserve(Place::Section::kScratch, PlanBytes(rows), 0);
  }
}

std::byte* StagedLaunch::Resolve(const Place& place, std::byte* base) const {
  switch (place.section) {
    case Place::Section::kNone:
      return nullptr;
    case Place::Section::kInPlace:
      return place.in_place;
    case Place::Section::kUpload:
      return base + place.offset;
    case Place::Section::kReports:
      return base + reports_at_ + place.offset;
    case Place::Section::kDownload:
      return base + download_at_ + place.offset;
    case Place::Section::kScratch:
      return base + scratch_at_ + place.offset;
  }
  return nullptr;
}

std::byte* StagedLaunch::OnHost(const Place& place) const {
  if (host_memory_) return Resolve(place, host_);
  if (place.section == Place::Section::kInPlace || place.section == Place::Section::kScratch) {
    return nullptr;
  }
  return Resolve(place, host_);
}

const SegmentReport& StagedLaunch::ReportOf(size_t item, size_t step) const {
  return *reinterpret_cast<const SegmentReport*>(OnHost(places_[item][step].report));
}

void StagedLaunch::Bind(std::byte* device, std::byte* host, bool mapped) {
  device_ = device;
  host_ = host;
  mapped_ = mapped;
}

void StagedLaunch::CopyIn() {
  for (const CopyFromHost& copy : copies_) {
    CopyRows(OnHost(copy.to), copy.row_bytes, copy.from, copy.from_stride_bytes, copy.row_bytes,
             copy.rows);
  }
  std::memset(host_ + reports_at_, 0, sizes_[1]);
}

void StagedLaunch::CopyOut() {
  if (host_memory_) return;
  for (size_t item = 0; item < items_.size(); ++item) {
    for (size_t step = 0; step < items_[item]->steps.size(); ++step) {
      if (places_[item][step].runs) CopyOutStep(item, step);
    }
  }
}

void StagedLaunch::CopyOutStep(size_t item, size_t step_index) {
  const Step& step = items_[item]->steps[step_index];
  auto next_inline = items_[item]->results[step_index].outputs.begin();
  ForEachOutput(step, [&](OutputName name, const OutputRef& output) {
    const bool is_inline = output.placement == OutputRef::Placement::kInline;
    if (!is_inline && output.placement != OutputRef::Placement::kHost) return;
    const std::byte* from = OnHost(places_[item][step_index].OutputAt(name));
    const OutputShape shape = ShapeOf(step, name);
    if (is_inline) {
      (next_inline++)->data.assign(reinterpret_cast<const char*>(from), shape.bytes());
      return;
    }
    const int64_t row_bytes = shape.columns * SizeOf(shape.dtype);
    CopyRows(output.data, RowStride(output, shape) * SizeOf(shape.dtype), from, row_bytes,
             row_bytes, shape.rows);
  });
}

}  // namespace winnow::server
