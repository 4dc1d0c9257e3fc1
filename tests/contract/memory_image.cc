#include "tests/contract/memory_image.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "absl/memory/memory.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::contract {
namespace {

constexpr std::byte kSentinel{0xa5};
constexpr int64_t kAlignment = 256;
constexpr int64_t kGuardBytes = 256;

int64_t RoundUp(int64_t value) { return (value + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

int64_t MemoryImage::Reserve(int64_t bytes, int64_t past_alignment) {
  const int64_t offset = RoundUp(size() + kGuardBytes) + past_alignment;
  const int64_t end = RoundUp(offset + bytes + kGuardBytes);
  if (static_cast<size_t>(end) > bytes_.capacity()) bytes_.reserve(2 * static_cast<size_t>(end));
  bytes_.resize(static_cast<size_t>(end), kSentinel);
  return offset;
}

void MemoryImage::Blank(int64_t offset, int64_t bytes) {
  std::memset(bytes_.data() + offset, 0, static_cast<size_t>(bytes));
}

int64_t MemoryImage::FirstDifference(const MemoryImage& other) const {
  const auto [mine, theirs] = std::mismatch(bytes_.begin(), bytes_.end(), other.bytes_.begin());
  return mine == bytes_.end() ? -1 : mine - bytes_.begin();
}

absl::StatusOr<std::unique_ptr<Executor>> Executor::Create(Device& device) {
  auto executor = absl::WrapUnique(new Executor(device));
  WINNOW_ASSIGN_OR_RETURN(executor->stream_, device.CreateStream(StreamPriority::kNormal));
  return executor;
}

absl::Status Executor::Grow(std::unique_ptr<DeviceMemory>& memory, int64_t bytes) {
  if (memory != nullptr && memory->size_bytes() >= bytes) return absl::OkStatus();
  memory.reset();
  WINNOW_ASSIGN_OR_RETURN(memory, device_.Allocate(MemoryKind::kDevice, bytes));
  return absl::OkStatus();
}

absl::Status Executor::Run(MemoryImage& image,
                           absl::FunctionRef<absl::Status(Stream&, std::byte*)> launch) {
  WINNOW_RETURN_IF_ERROR(Grow(memory_, image.size()));
  std::byte* base = memory_->data();
  WINNOW_RETURN_IF_ERROR(device_.Copy(*stream_, base, image.data(), image.size()));
  const absl::Status launched = launch(*stream_, base);
  WINNOW_RETURN_IF_ERROR(device_.Copy(*stream_, image.data(), base, image.size()));
  WINNOW_RETURN_IF_ERROR(stream_->Synchronize());
  return launched;
}

namespace {

const std::vector<uint32_t>& Noise() {
  static const auto* const noise = [] {
    auto* words = new std::vector<uint32_t>(1 << 20);
    std::minstd_rand random(1);
    for (uint32_t& word : *words) word = static_cast<uint32_t>(random()) << 1;
    return words;
  }();
  return *noise;
}

}  // namespace

absl::StatusOr<absl::Span<std::byte>> Executor::Workspace(int64_t bytes) {
  if (bytes < 0) return absl::InternalError("the device asked for a workspace of negative size");
  WINNOW_RETURN_IF_ERROR(Grow(workspace_, bytes + kGuardBytes));
  workspace_bytes_ = bytes;
  // Dirty on purpose: an operation may not count on its workspace's contents. Noise first, which
  // passes for scores, keys and counts; equal words would too often be right by accident.
  WINNOW_RETURN_IF_ERROR(
      device_.Fill(*stream_, workspace_->data(), static_cast<int>(kSentinel), bytes + kGuardBytes));
  WINNOW_RETURN_IF_ERROR(device_.Copy(*stream_, workspace_->data(), Noise().data(),
                                      std::min<int64_t>(bytes, 4 * Noise().size())));
  return absl::MakeSpan(workspace_->data(), static_cast<size_t>(bytes));
}

absl::Status Executor::CheckWorkspaceGuard() {
  if (workspace_ == nullptr) return absl::OkStatus();
  std::byte guard[kGuardBytes];
  WINNOW_RETURN_IF_ERROR(
      device_.Copy(*stream_, guard, workspace_->data() + workspace_bytes_, kGuardBytes));
  WINNOW_RETURN_IF_ERROR(stream_->Synchronize());
  const bool intact = std::all_of(std::begin(guard), std::end(guard),
                                  [](std::byte value) { return value == kSentinel; });
  return intact ? absl::OkStatus() : absl::DataLossError("bytes past the workspace were written");
}

}  // namespace winnow::contract
