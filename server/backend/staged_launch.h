// Where everything that one launch reads and writes lies: what the device uses in place, what is
// copied to it and back, what stays there between steps. Decides, copies on the host side, and
// gives addresses; step_segments.h makes segments of them, launch_executor.h runs it all.
//
// The launch's own memory has four sections, one after another:
//   upload    host inputs that the device cannot read where they are
//   reports   one SegmentReport for each item and step
//   download  outputs that go to the host but cannot be written there, headers of plans
//   scratch   outputs kept for later steps, plans, vectors without gaps
// The first three exist on the host too (pinned), so that one copy each way moves everything.

#ifndef WINNOW_SERVER_BACKEND_STAGED_LAUNCH_H_
#define WINNOW_SERVER_BACKEND_STAGED_LAUNCH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "server/backend/work.h"
#include "server/backend/work_shape.h"
#include "winnow/kernels/segments.h"

namespace winnow::server {

// A matrix of the launch: in place, or at an offset of a section.
struct Place {
  enum class Section : uint8_t { kNone, kInPlace, kUpload, kReports, kDownload, kScratch };
  Section section = Section::kNone;
  std::byte* in_place = nullptr;
  int64_t offset = 0;      // in its section
  int64_t row_stride = 0;  // elements

  bool present() const { return section != Section::kNone; }
};

inline constexpr int kOutputNames = 9;  // values of OutputName

// The places of one step of one item.
struct StepPlaces {
  Place scores;  // or blocks
  Place lengths, row_starts, index_offsets, table, table_rows;
  std::array<Place, kOutputNames> outputs;  // by OutputName
  Place report;
  Place plan;         // made for a static threshold, or the item's own
  Place plan_header;  // a copy of the item's own plan's header, for the host
  bool runs = false;  // false for steps without rows

  Place& OutputAt(OutputName name) { return outputs[static_cast<size_t>(name)]; }
  const Place& OutputAt(OutputName name) const { return outputs[static_cast<size_t>(name)]; }
};

// Thread safety: none. `items` passed CheckItem and outlive it.
class StagedLaunch {
 public:
  // With `host_memory` the device reads and writes host memory, and only what is misaligned moves.
  // Makes room for inline outputs in the items' results.
  StagedLaunch(absl::Span<WorkItem* const> items, bool host_memory);

  int64_t upload_bytes() const { return sizes_[0]; }
  int64_t upload_and_report_bytes() const { return reports_at_ + sizes_[1]; }
  int64_t report_and_download_bytes() const { return sizes_[1] + sizes_[2]; }
  int64_t mirrored_bytes() const { return scratch_at_; }
  int64_t total_bytes() const { return scratch_at_ + sizes_[3]; }
  int64_t reports_at() const { return reports_at_; }

  // The launch's memory on the device, and its mirror (the same address with host_memory). When
  // `mapped`, the device uses the mirror itself and nothing is copied between them; only scratch is
  // in its own memory. May be called again with other addresses.
  void Bind(std::byte* device, std::byte* host, bool mapped = false);

  // Fills the host side: inputs, and reports of zeros.
  void CopyIn();
  // Moves outputs from the host side to where the items want them.
  void CopyOut();

  absl::Span<WorkItem* const> items() const { return items_; }
  const StepPlaces& PlacesOf(size_t item, size_t step) const { return places_[item][step]; }
  std::byte* OnDevice(const Place& place) const {
    return Resolve(place, mapped_ && place.section != Place::Section::kScratch ? host_ : device_);
  }
  // Only for places that the host has too; null for others.
  std::byte* OnHost(const Place& place) const;
  const SegmentReport& ReportOf(size_t item, size_t step) const;

  // Vectors in device memory whose entries have gaps; copied before the first step.
  struct Compaction {
    const std::byte* from = nullptr;
    int64_t from_stride_bytes = 0;
    int64_t rows = 0;
    Place to;
  };
  absl::Span<const Compaction> compactions() const { return compactions_; }
  // Vectors whose entries go to places with gaps; copied after the last step.
  struct Scattering {
    Place from;
    std::byte* to = nullptr;
    int64_t to_stride_bytes = 0;
    int64_t entry_bytes = 0;
    int64_t rows = 0;
  };
  absl::Span<const Scattering> scatterings() const { return scatterings_; }
  // Regions that hold zeros before the first step, because a step may leave part of them untouched.
  struct Clearing {
    Place place;
    int64_t bytes = 0;
  };
  absl::Span<const Clearing> clearings() const { return clearings_; }

 private:
  struct CopyFromHost {
    const std::byte* from = nullptr;
    int64_t from_stride_bytes = 0;
    int64_t row_bytes = 0;
    int64_t rows = 0;
    Place to;
  };

  Place Reserve(Place::Section section, int64_t bytes, int64_t row_stride);
  void PlaceStep(size_t item, size_t step);
  Place PlaceInput(const TensorRef& tensor, size_t item, bool is_vector);
  Place StageFromHost(const TensorRef& tensor);
  Place CompactOnDevice(const TensorRef& tensor);
  Place PlaceOutput(const OutputRef& output, const OutputShape& shape, OutputName name,
                    StepResult& result);
  Place PlaceInMemory(const OutputRef& output, const OutputShape& shape, OutputName name);
  Place PlaceInline(const OutputShape& shape, OutputName name, StepResult& result);
  void PlacePlan(const Step& step, StepPlaces& places);
  std::byte* Resolve(const Place& place, std::byte* base) const;
  void CopyOutStep(size_t item, size_t step);

  const absl::Span<WorkItem* const> items_;
  const bool host_memory_;
  std::vector<std::vector<StepPlaces>> places_;
  std::vector<CopyFromHost> copies_;
  size_t first_copy_of_item_ = 0;  // while places are chosen
  std::vector<Compaction> compactions_;
  std::vector<Scattering> scatterings_;
  std::vector<Clearing> clearings_;
  int64_t sizes_[4] = {};  // of the sections
  int64_t reports_at_ = 0, download_at_ = 0, scratch_at_ = 0;
  std::byte* device_ = nullptr;
  std::byte* host_ = nullptr;
  bool mapped_ = false;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_BACKEND_STAGED_LAUNCH_H_
