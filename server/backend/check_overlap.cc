// Outputs that go to memory must not share bytes with other outputs or with inputs.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/backend/check_tensor.h"
#include "server/backend/strided_region.h"
#include "server/backend/work_shape.h"

namespace winnow::server {
namespace {

struct Region {
  std::string field;
  // The step whose candidate blocks this is, input or output; -1 for all else.
  int64_t sorts_blocks_of = -1;
  StridedRegion bytes;
};

bool SameMatrix(const StridedRegion& a, const StridedRegion& b) {
  return a.begin == b.begin && a.stride == b.stride && a.width == b.width;
}

struct Regions {
  std::vector<Region> outputs, inputs;
};

Regions Collect(absl::Span<const Step> steps) {
  Regions regions;
  for (size_t i = 0; i < steps.size(); ++i) {
    const std::string prefix = steps.size() == 1 ? "" : absl::StrCat("steps[", i, "].");
    ForEachOutput(steps[i], [&](OutputName name, const OutputRef& output) {
      if (output.placement != OutputRef::Placement::kDevice &&
          output.placement != OutputRef::Placement::kHost) {
        return;
      }
      const OutputShape shape = ShapeOf(steps[i], name);
      if (shape.elements() == 0) return;
      regions.outputs.push_back(
          {.field = absl::StrCat(prefix, FieldOf(steps[i], name)),
           .bytes = MakeStridedRegion(output.data, shape.rows, shape.columns,
                                      RowStride(output, shape), shape.dtype)});
      if (FieldOf(steps[i], name) == "out_blocks") {
        regions.outputs.back().sorts_blocks_of = static_cast<int64_t>(i);
      }
    });
    ForEachInput(steps[i], [&](absl::string_view field, const TensorRef& tensor) {
      if (tensor.source != TensorRef::Source::kDevice &&
          tensor.source != TensorRef::Source::kHost) {
        return;
      }
      if (tensor.rows == 0 || tensor.columns == 0) return;
      regions.inputs.push_back({.field = absl::StrCat(prefix, field),
                                .bytes = MakeStridedRegion(tensor.data, tensor.rows, tensor.columns,
                                                           RowStride(tensor), tensor.dtype)});
      if (field == "blocks") regions.inputs.back().sorts_blocks_of = static_cast<int64_t>(i);
    });
  }
  return regions;
}

absl::Status OverlapError(const Region& output, const Region& other) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   absl::StrCat(output.field, " overlaps ", other.field,
                                "; give every output memory of its own"),
                   {.reason = ErrorReason::kOutputsOverlap,
                    .field = output.field,
                    .value = other.field,
                    .limit = "memory of its own"});
}

bool WritesMemory(absl::Span<const Step> steps) {
  bool writes = false;
  for (const Step& step : steps) {
    ForEachOutput(step, [&](OutputName, const OutputRef& output) {
      writes |= output.placement == OutputRef::Placement::kDevice ||
                output.placement == OutputRef::Placement::kHost;
    });
  }
  return writes;
}

}  // namespace

absl::Status CheckOverlaps(absl::Span<const Step> steps) {
  if (!WritesMemory(steps)) return absl::OkStatus();
  const Regions regions = Collect(steps);
  for (size_t i = 0; i < regions.outputs.size(); ++i) {
    const Region& output = regions.outputs[i];
    for (size_t j = i + 1; j < regions.outputs.size(); ++j) {
      if (Overlap(output.bytes, regions.outputs[j].bytes)) {
        return OverlapError(regions.outputs[j], output);
      }
    }
    for (const Region& input : regions.inputs) {
      // Candidate blocks may be sorted where they lie.
      const bool in_place = output.sorts_blocks_of >= 0 &&
                            output.sorts_blocks_of == input.sorts_blocks_of &&
                            SameMatrix(output.bytes, input.bytes);
      if (!in_place && Overlap(output.bytes, input.bytes)) return OverlapError(output, input);
    }
  }
  return absl::OkStatus();
}

}  // namespace winnow::server
