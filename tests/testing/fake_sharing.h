// Memory sharing without a GPU: handles name blocks of this process, words are looked at once. It
// counts what is open.

#ifndef WINNOW_TESTS_TESTING_FAKE_SHARING_H_
#define WINNOW_TESTS_TESTING_FAKE_SHARING_H_

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "winnow/kernels/device.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/memory_sharing.h"

namespace winnow::testing {

class FakeSharing final : public MemorySharing {
 public:
  // Names a block of zeros by `handle`. Before it is used.
  void Share(const std::string& handle, int64_t bytes) {
    blocks_[handle].resize(static_cast<size_t>(bytes));
  }
  std::byte* block(const std::string& handle) { return blocks_.at(handle).data(); }

  absl::StatusOr<std::unique_ptr<DeviceMemory>> OpenIpcHandle(absl::string_view handle) override {
    const auto found = blocks_.find(std::string(handle));
    if (found == blocks_.end()) {
      return MakeError(absl::StatusCode::kFailedPrecondition, "the handle names nothing",
                       {.reason = ErrorReason::kImportRefused});
    }
    ++opens;
    return std::make_unique<View>(this, found->second.data(),
                                  static_cast<int64_t>(found->second.size()));
  }
  absl::StatusOr<std::unique_ptr<DeviceMemory>> MapDescriptors(absl::Span<const int>, int64_t,
                                                               bool) override {
    return absl::UnimplementedError("no descriptors here");
  }
  absl::StatusOr<std::unique_ptr<DeviceMemory>> RegisterHostMemory(std::byte* host,
                                                                   int64_t bytes) override {
    ++opens;
    return std::make_unique<View>(this, host, bytes);
  }
  absl::StatusOr<std::unique_ptr<ExportedMemory>> AllocateForExport(ExportKind, int64_t) override {
    return absl::UnimplementedError("no exports here");
  }
  absl::Status AwaitWord(Stream&, const std::byte* word, uint32_t value) override {
    ++waits;
    if (endless_waits) return absl::OkStatus();
    if (waits_fail) return absl::InternalError("the wait was not enqueued");
    const auto ahead = static_cast<int32_t>(WordAt(word) - value);
    return ahead >= 0 ? absl::OkStatus() : absl::InternalError("the word is not there yet");
  }
  absl::Status SetWord(Stream&, std::byte* word, uint32_t value) override {
    ++sets;
    if (sets <= sets_undone) return absl::OkStatus();
    std::memcpy(word, &value, sizeof(value));
    return absl::OkStatus();
  }

  static uint32_t WordAt(const std::byte* word) {
    uint32_t value = 0;
    std::memcpy(&value, word, sizeof(value));
    return value;
  }

  std::atomic<int> opens{0}, open_now{0}, waits{0}, sets{0};
  bool endless_waits = false;  // a wait is enqueued, whatever the word is
  bool waits_fail = false;
  int sets_undone = 0;  // as many of the first sets a peer writes over at once

 private:
  class View final : public DeviceMemory {
   public:
    View(FakeSharing* owner, std::byte* data, int64_t bytes)
        : owner_(*owner), data_(data), bytes_(bytes) {
      ++owner_.open_now;
    }
    ~View() override { --owner_.open_now; }
    std::byte* data() const override { return data_; }
    int64_t size_bytes() const override { return bytes_; }

   private:
    FakeSharing& owner_;
    std::byte* const data_;
    const int64_t bytes_;
  };

  std::map<std::string, std::vector<std::byte>> blocks_;
};

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_TESTING_FAKE_SHARING_H_
