// Selects the three largest scores of two rows on the CPU of this process.

#include <algorithm>
#include <iostream>
#include <vector>

#include "winnow/kernels/device.h"

namespace {

int Fail(const absl::Status& status) {
  std::cerr << status.ToString(absl::StatusToStringMode::kWithNoExtraData) << "\n";
  return 1;
}

}  // namespace

int main() {
  const auto device = winnow::OpenCpuDevice({});
  if (!device.ok()) return Fail(device.status());
  const auto stream = (*device)->CreateStream(winnow::StreamPriority::kNormal);
  if (!stream.ok()) return Fail(stream.status());

  const std::vector<float> scores = {0.5f, 4.0f, 1.0f, 3.0f, 2.0f,   //
                                     9.0f, 7.0f, 8.0f, 0.0f, 0.0f};  // the last two are not used
  const std::vector<int32_t> lengths = {5, 3};
  std::vector<int32_t> indices(2 * 3);
  winnow::SegmentReport report;
  const winnow::TopKParams params = {.k = 3, .order = winnow::Order::kScore};
  const winnow::TopKSegment segment = {.scores = scores.data(),
                                       .row_stride = 5,
                                       .rows = 2,
                                       .columns = 5,
                                       .lengths = lengths.data(),
                                       .indices = indices.data(),
                                       .indices_row_stride = 3,
                                       .report = &report};
  const int64_t bytes = (*device)->TopKWorkspaceBytes(params, {&segment, 1});
  const auto workspace =
      (*device)->Allocate(winnow::MemoryKind::kDevice, std::max<int64_t>(bytes, 1));
  if (!workspace.ok()) return Fail(workspace.status());
  const absl::Span<std::byte> scratch((*workspace)->data(), (*workspace)->size_bytes());
  absl::Status status = (*device)->TopK(**stream, params, {&segment, 1}, scratch);
  if (status.ok()) status = winnow::StatusFromFault(report.fault);
  if (!status.ok()) return Fail(status);

  for (int row = 0; row < 2; ++row) {
    std::cout << "row " << row << ":";
    for (int i = 0; i < 3; ++i) std::cout << " " << indices[row * 3 + i];
    std::cout << "\n";
  }
}
