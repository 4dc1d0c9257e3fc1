// A file descriptor that is closed once.

#ifndef WINNOW_CLIENT_UNIQUE_DESCRIPTOR_H_
#define WINNOW_CLIENT_UNIQUE_DESCRIPTOR_H_

#include <unistd.h>

#include <utility>

namespace winnow::client {

// Move-only. Thread safety: as a standard container.
class UniqueDescriptor {
 public:
  UniqueDescriptor() = default;
  explicit UniqueDescriptor(int descriptor) : descriptor_(descriptor) {}
  UniqueDescriptor(UniqueDescriptor&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  UniqueDescriptor& operator=(UniqueDescriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~UniqueDescriptor() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  int get() const { return descriptor_; }
  // The caller closes it from now on.
  int Take() { return std::exchange(descriptor_, -1); }
  bool valid() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_UNIQUE_DESCRIPTOR_H_
