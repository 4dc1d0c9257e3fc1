// Requests of the contract with small, valid contents, for tests that send or decode them.

#ifndef WINNOW_TESTS_TESTING_REQUESTS_H_
#define WINNOW_TESTS_TESTING_REQUESTS_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "winnow/v1/indexer_service.pb.h"

namespace winnow::testing {

template <typename T>
std::string BytesOf(const std::vector<T>& elements) {
  return std::string(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T));
}

template <typename T>
std::vector<T> ElementsOf(const v1::Tensor& tensor) {
  std::vector<T> elements(tensor.inline_data().size() / sizeof(T));
  if (!elements.empty()) {
    std::memcpy(elements.data(), tensor.inline_data().data(), elements.size() * sizeof(T));
  }
  return elements;
}

inline v1::Tensor MakeTensor(v1::DataType data_type, int64_t rows, int64_t columns,
                             std::string bytes) {
  v1::Tensor tensor;
  tensor.set_data_type(data_type);
  tensor.set_row_count(rows);
  tensor.set_column_count(columns);
  tensor.set_inline_data(std::move(bytes));
  return tensor;
}

inline v1::Tensor FloatTensor(int64_t rows, int64_t columns, const std::vector<float>& elements) {
  return MakeTensor(v1::DATA_TYPE_FLOAT32, rows, columns, BytesOf(elements));
}

inline v1::Tensor Int32Tensor(int64_t rows, int64_t columns, const std::vector<int32_t>& elements) {
  return MakeTensor(v1::DATA_TYPE_INT32, rows, columns, BytesOf(elements));
}

inline v1::Tensor Int32Vector(const std::vector<int32_t>& elements) {
  return Int32Tensor(static_cast<int64_t>(elements.size()), 1, elements);
}

inline v1::Tensor StepOutputTensor(v1::DataType data_type, int64_t rows, int64_t columns,
                                   int32_t step_index, v1::OutputName output) {
  v1::Tensor tensor;
  tensor.set_data_type(data_type);
  tensor.set_row_count(rows);
  tensor.set_column_count(columns);
  tensor.mutable_step_output()->set_step_index(step_index);
  tensor.mutable_step_output()->set_output(output);
  return tensor;
}

inline void WantInline(v1::OutputTarget* target) {
  target->set_placement(v1::OUTPUT_PLACEMENT_INLINE);
}

// Two rows of eight scores, all eight and the first five valid, k = 3: positions 7, 6, 5 and 4, 3,
// 2 are selected.
inline v1::TopKRequest GoodTopK() {
  v1::TopKRequest request;
  auto& step = *request.mutable_step();
  *step.mutable_scores() = FloatTensor(2, 8, {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 50, 60, 70});
  *step.mutable_lengths() = Int32Vector({8, 5});
  step.set_k(3);
  step.set_order(v1::SELECTION_ORDER_SCORE);
  WantInline(step.mutable_indices());
  return request;
}

// GoodTopK with slots from pages of four positions: rows of pages {10, 11} and {20, 21}.
inline v1::TopKRequest GoodPagedTopK() {
  v1::TopKRequest request = GoodTopK();
  auto& step = *request.mutable_step();
  WantInline(step.mutable_slots());
  *step.mutable_page_table()->mutable_table() = Int32Tensor(2, 2, {10, 11, 20, 21});
  step.mutable_page_table()->set_page_size(4);
  return request;
}

// Two rows of eight scores in blocks of two: keys {1, 3, 5, inf} and {1, 3, inf, 0}.
inline v1::BlockAmaxRequest GoodBlockAmax() {
  v1::BlockAmaxRequest request;
  auto& step = *request.mutable_step();
  *step.mutable_scores() = FloatTensor(2, 8, {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 50, 60, 70});
  *step.mutable_lengths() = Int32Vector({8, 5});
  step.set_block_size(2);
  WantInline(step.mutable_keys());
  WantInline(step.mutable_block_counts());
  return request;
}

// One row of 80 scores (ten blocks of eight), four block ids; pages of sixteen positions.
inline v1::SortCandidateBlocksRequest GoodSortBlocks() {
  v1::SortCandidateBlocksRequest request;
  auto& step = *request.mutable_step();
  *step.mutable_blocks() = Int32Tensor(1, 4, {9, 2, -1, 2});
  *step.mutable_lengths() = Int32Vector({80});
  *step.mutable_page_table()->mutable_table() = Int32Tensor(1, 5, {7, 6, 5, 4, 3});
  step.mutable_page_table()->set_page_size(16);
  WantInline(step.mutable_out_blocks());
  WantInline(step.mutable_block_slots());
  WantInline(step.mutable_candidate_lengths());
  return request;
}

// One row of 32 scores in four blocks of eight, of which two are kept; pages of sixteen positions.
inline v1::PublishCandidatesRequest GoodPublish() {
  v1::PublishCandidatesRequest request;
  std::vector<float> scores(32);
  for (size_t i = 0; i < scores.size(); ++i) scores[i] = static_cast<float>((i * 7) % 32);
  *request.mutable_scores() = FloatTensor(1, 32, scores);
  *request.mutable_lengths() = Int32Vector({32});
  *request.mutable_page_table()->mutable_table() = Int32Tensor(1, 2, {3, 1});
  request.mutable_page_table()->set_page_size(16);
  request.set_k(4);
  request.set_k_blocks(2);
  request.set_deterministic(true);
  WantInline(request.mutable_slots());
  WantInline(request.mutable_blocks());
  WantInline(request.mutable_block_slots());
  WantInline(request.mutable_candidate_lengths());
  return request;
}

// One row of sixteen scores in candidate order, of blocks at slots 5 and 2.
inline v1::ConsumeCandidatesRequest GoodConsume() {
  v1::ConsumeCandidatesRequest request;
  std::vector<float> scores(16);
  for (size_t i = 0; i < scores.size(); ++i) scores[i] = static_cast<float>(i);
  *request.mutable_scores() = FloatTensor(1, 16, scores);
  *request.mutable_candidate_lengths() = Int32Vector({16});
  *request.mutable_block_slots() = Int32Tensor(1, 2, {5, 2});
  request.set_k(3);
  request.set_deterministic(true);
  WantInline(request.mutable_slots());
  return request;
}

inline v1::PlanTopKRequest GoodPlan() {
  v1::PlanTopKRequest request;
  *request.mutable_lengths() = Int32Vector({100, 5000, -1});
  request.set_column_count(8192);
  request.set_k(64);
  request.set_data_type(v1::DATA_TYPE_FLOAT32);
  request.set_static_threshold(1000);
  request.set_list_pooled_rows(true);
  return request;
}

// Block maxima of two rows, then the top two blocks of each by those.
inline v1::ExecuteRequest GoodExecute() {
  v1::ExecuteRequest request;
  *request.add_steps()->mutable_block_amax() = GoodBlockAmax().step();
  auto& top_k = *request.add_steps()->mutable_top_k();
  *top_k.mutable_scores() = StepOutputTensor(v1::DATA_TYPE_FLOAT32, 2, 4, 0, v1::OUTPUT_NAME_KEYS);
  *top_k.mutable_lengths() =
      StepOutputTensor(v1::DATA_TYPE_INT32, 2, 1, 0, v1::OUTPUT_NAME_BLOCK_COUNTS);
  top_k.set_k(2);
  top_k.set_deterministic(true);
  WantInline(top_k.mutable_indices());
  return request;
}

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_TESTING_REQUESTS_H_
