// Memory of the server that belongs to a lease.

#ifndef WINNOW_CLIENT_BUFFER_H_
#define WINNOW_CLIENT_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "winnow/client/held_resource.h"
#include "winnow/client/tensor.h"
#include "winnow/kernels/dtype.h"

namespace winnow::client {

// Owns a buffer: Lease::AllocateBuffer and ImportBuffer make one. Move-only; the destructor
// releases it (work that uses it completes first). A moved-from or released buffer is not valid():
// calls that name it fail with InvalidArgument.
//
// Thread safety: the const methods may be called from several threads. Writes, reads and operations
// that overlap in time and in bytes are not ordered.
class Buffer {
 public:
  Buffer() = default;
  Buffer(HeldResource resource, int64_t size_bytes)
      : resource_(std::move(resource)), size_bytes_(size_bytes) {}

  bool valid() const { return resource_.valid(); }
  int64_t size_bytes() const { return size_bytes_; }
  ResourceRef ref() const { return resource_.ref(); }

  // A part of the buffer as an input: `offset_bytes` is a multiple of the element's size,
  // `row_stride` in elements, 0 meaning `columns`. It must end inside the buffer:
  // RANGE_OUT_OF_BOUNDS of the call otherwise.
  BufferMatrix AsMatrix(DType dtype, int64_t rows, int64_t columns, int64_t offset_bytes = 0,
                        int64_t row_stride = 0) const {
    return {ref(), dtype, rows, columns, row_stride, offset_bytes};
  }
  // A part of the buffer as an output, of the output's own type and shape.
  BufferOutput AsOutput(int64_t offset_bytes = 0, int64_t row_stride = 0) const {
    return {ref(), offset_bytes, row_stride};
  }

  // Copies `bytes` to the buffer in chunks. A call that fails may have written a first part; the
  // rest of the buffer is as it was. InvalidArgument: RANGE_OUT_OF_BOUNDS.
  absl::Status Write(int64_t offset_bytes, absl::Span<const std::byte> bytes,
                     const CallOptions& options = {}) const;
  template <typename T>
  absl::Status WriteElements(int64_t offset_bytes, absl::Span<const T> elements,
                             const CallOptions& options = {}) const {
    return Write(offset_bytes,
                 absl::MakeSpan(reinterpret_cast<const std::byte*>(elements.data()),
                                elements.size() * sizeof(T)),
                 options);
  }
  // Copies from the buffer to `bytes`, all of them. When it fails their content is unspecified.
  // DataLoss when a byte of them was lost; see Lease.
  absl::Status Read(int64_t offset_bytes, absl::Span<std::byte> bytes,
                    const CallOptions& options = {}) const;
  template <typename T>
  absl::Status ReadElements(int64_t offset_bytes, absl::Span<T> elements,
                            const CallOptions& options = {}) const {
    return Read(
        offset_bytes,
        absl::MakeSpan(reinterpret_cast<std::byte*>(elements.data()), elements.size() * sizeof(T)),
        options);
  }

  // Whether a byte was lost with a server and was not written since.
  bool contents_lost() const;
  // Takes what was lost for the zeros that are there now.
  void AcceptLoss() const;

  // Releases it now, with the status; see LeaseConnection::Release.
  absl::Status Release(const CallOptions& options = {}) { return resource_.Release(options); }

 private:
  HeldResource resource_;
  int64_t size_bytes_ = 0;
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_BUFFER_H_
