// Work items that own their inputs, for tests of batching and of the backend.

#ifndef WINNOW_TESTS_TESTING_WORK_ITEMS_H_
#define WINNOW_TESTS_TESTING_WORK_ITEMS_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "server/backend/work.h"

namespace winnow::server {

// Host memory that items refer to. Bytes are kept `misalignment` bytes past an aligned address.
class HostArena {
 public:
  template <typename T>
  TensorRef Add(DType dtype, int64_t rows, int64_t columns, const std::vector<T>& elements,
                int64_t misalignment = 0, int64_t row_stride = 0) {
    auto bytes = std::make_unique<std::byte[]>(elements.size() * sizeof(T) + 16);
    if (!elements.empty()) {
      std::memcpy(bytes.get() + misalignment, elements.data(), elements.size() * sizeof(T));
    }
    TensorRef tensor{.source = TensorRef::Source::kHost,
                     .dtype = dtype,
                     .rows = rows,
                     .columns = columns,
                     .row_stride = row_stride,
                     .data = bytes.get() + misalignment};
    blocks_.push_back(std::move(bytes));
    return tensor;
  }
  TensorRef AddVector(const std::vector<int32_t>& entries, int64_t misalignment = 0) {
    return Add(DType::kInt32, static_cast<int64_t>(entries.size()), 1, entries, misalignment);
  }

 private:
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
};

inline OutputRef Inline() { return {.placement = OutputRef::Placement::kInline}; }
inline OutputRef Keep() { return {.placement = OutputRef::Placement::kKeep}; }
inline OutputRef ToDevice(void* data, int64_t row_stride = 0) {
  return {.placement = OutputRef::Placement::kDevice,
          .data = static_cast<std::byte*>(data),
          .row_stride = row_stride};
}
inline TensorRef FromStep(int32_t step, OutputName output, DType dtype, int64_t rows,
                          int64_t columns) {
  return {.source = TensorRef::Source::kStep,
          .dtype = dtype,
          .rows = rows,
          .columns = columns,
          .step = step,
          .output = output};
}

// Elements of an int32 output.
inline std::vector<int32_t> Int32s(const OutputTensor& tensor) {
  std::vector<int32_t> elements(tensor.data.size() / 4);
  if (!elements.empty()) std::memcpy(elements.data(), tensor.data.data(), tensor.data.size());
  return elements;
}

// TopK over float32 rows of scores i * 37 % 101, full lengths, indices inline.
WorkItem MakeTopKItem(int64_t rows, int64_t columns, int32_t k);

}  // namespace winnow::server

#endif  // WINNOW_TESTS_TESTING_WORK_ITEMS_H_
