// Random work items of one batch key: every operation and both chains, inputs in host or device
// memory, aligned or not, with gaps or without, outputs to everywhere.

#ifndef WINNOW_TESTS_SERVER_BACKEND_RANDOM_ITEMS_H_
#define WINNOW_TESTS_SERVER_BACKEND_RANDOM_ITEMS_H_

#include <memory>
#include <vector>

#include "server/backend/backend.h"
#include "server/backend/work.h"
#include "tests/testing/random.h"

namespace winnow::server {

// Items made by one maker share a BatchKey. Memory belongs to the maker. Thread safety: none.
class RandomItemMaker {
 public:
  // With `faults`, lengths and ids in device memory are sometimes wrong. `backend` may be null:
  // then everything is in host memory, and goes inline.
  RandomItemMaker(winnow::testing::Random* random, Backend* backend, bool faults);
  ~RandomItemMaker();

  WorkItem Make();
  WorkItem Make(int64_t rows);

 private:
  struct Shape;
  TensorRef Put(DType dtype, int64_t rows, int64_t columns, const void* elements);
  TensorRef PutInts(int64_t rows, int64_t columns, const std::vector<int32_t>& elements);
  TensorRef Scores(int64_t rows, int64_t columns);
  TensorRef Lengths(int64_t rows, int64_t columns);
  PageTableRef Pages(int64_t rows, int64_t positions);
  OutputRef Output(DType dtype, int64_t rows, int64_t columns);
  std::byte* DeviceBytes(int64_t bytes);

  WorkItem MakeTopK(int64_t rows);
  WorkItem MakeIndexChain(int64_t rows);
  WorkItem MakePublish(int64_t rows);

  winnow::testing::Random& random_;
  Backend* const backend_;
  const bool faults_;
  // What all items have in common.
  int kind_;
  DType dtype_;
  int32_t k_, width_, block_size_;
  Order order_;
  bool wants_indices_, wants_slots_, wants_values_, has_starts_, has_offsets_, has_table_rows_;
  std::vector<std::unique_ptr<std::byte[]>> host_;
  std::vector<std::unique_ptr<DeviceMemory>> device_;
};

}  // namespace winnow::server

#endif  // WINNOW_TESTS_SERVER_BACKEND_RANDOM_ITEMS_H_
