// PlanTopK, BlockAmax, SortCandidateBlocks and the two chains.

#include <cstdint>
#include <limits>

#include "tests/integration/malformed_requests.h"
#include "tests/testing/requests.h"

namespace winnow::testing {
namespace {

constexpr int32_t kInt32Max = std::numeric_limits<int32_t>::max();

template <typename Request>
void Append(std::vector<MalformedRequest>& all, MalformedTable<Request>& table) {
  for (MalformedRequest& request : table.Take()) all.push_back(std::move(request));
}

void AddBlockAmax(std::vector<MalformedRequest>& all) {
  MalformedTable<v1::BlockAmaxRequest> table("IndexerService/BlockAmax", GoodBlockAmax());
  table.Add("no step", v1::ERROR_REASON_FIELD_MISSING, "step", [](auto& r) { r.clear_step(); });
  for (const int32_t size : {1, 3, -2, 256, kInt32Max}) {
    table.Add("block size " + std::to_string(size), v1::ERROR_REASON_BLOCK_SIZE_INVALID,
              "step.block_size", [size](auto& r) { r.mutable_step()->set_block_size(size); });
  }
  table.Add("a negative skip", v1::ERROR_REASON_VALUE_OUT_OF_RANGE, "step.skip_at_most",
            [](auto& r) { r.mutable_step()->set_skip_at_most(-1); });
  for (const int32_t columns : {-1, (1 << 20) + 1, kInt32Max}) {
    table.Add("key columns " + std::to_string(columns), v1::ERROR_REASON_SHAPE_OUT_OF_RANGE,
              "step.key_column_count",
              [columns](auto& r) { r.mutable_step()->set_key_column_count(columns); });
  }
  table.Add("keys too narrow", v1::ERROR_REASON_KEYS_TOO_NARROW, "step.key_column_count",
            [](auto& r) { r.mutable_step()->set_key_column_count(3); });
  table.Add(
      "keys larger than the limit", v1::ERROR_REASON_MESSAGE_TOO_LARGE, "step.keys",
      [](auto& r) { r.mutable_step()->set_key_column_count(1 << 20); },
      grpc::StatusCode::RESOURCE_EXHAUSTED);
  table.Add("no keys wanted", v1::ERROR_REASON_FIELD_MISSING, "step.keys",
            [](auto& r) { r.mutable_step()->clear_keys(); });
  table.Add("a length past the columns", v1::ERROR_REASON_LENGTH_OUT_OF_RANGE, "step.lengths",
            [](auto& r) {
              *r.mutable_step()->mutable_lengths() = Int32Vector({9, 1});
            });
  table.Add(
      "scores of int32", v1::ERROR_REASON_DTYPE_UNSUPPORTED, "step.scores.data_type",
      [](auto& r) { r.mutable_step()->mutable_scores()->set_data_type(v1::DATA_TYPE_INT32); });
  Append(all, table);
}

void AddSortBlocks(std::vector<MalformedRequest>& all) {
  MalformedTable<v1::SortCandidateBlocksRequest> table("IndexerService/SortCandidateBlocks",
                                                       GoodSortBlocks());
  for (const int32_t id : {10, -2, kInt32Max, std::numeric_limits<int32_t>::min()}) {
    table.Add("block id " + std::to_string(id), v1::ERROR_REASON_BLOCK_ID_OUT_OF_RANGE,
              "step.blocks", [id](auto& r) {
                *r.mutable_step()->mutable_blocks() = Int32Tensor(1, 4, {9, id, -1, 2});
              });
  }
  table.Add("no block columns", v1::ERROR_REASON_SHAPE_OUT_OF_RANGE, "step.blocks.column_count",
            [](auto& r) { *r.mutable_step()->mutable_blocks() = Int32Tensor(1, 0, {}); });
  table.Add("2049 block columns", v1::ERROR_REASON_SHAPE_OUT_OF_RANGE, "step.blocks.column_count",
            [](auto& r) {
              *r.mutable_step()->mutable_blocks() =
                  Int32Tensor(1, 2049, std::vector<int32_t>(2049, -1));
            });
  table.Add(
      "blocks of float32", v1::ERROR_REASON_DTYPE_UNSUPPORTED, "step.blocks.data_type",
      [](auto& r) { r.mutable_step()->mutable_blocks()->set_data_type(v1::DATA_TYPE_FLOAT32); });
  table.Add("no ids wanted", v1::ERROR_REASON_FIELD_MISSING, "step.out_blocks",
            [](auto& r) { r.mutable_step()->clear_out_blocks(); });
  table.Add("block slots without a page table", v1::ERROR_REASON_FIELD_MISSING, "step.page_table",
            [](auto& r) { r.mutable_step()->clear_page_table(); });
  table.Add("pages smaller than blocks", v1::ERROR_REASON_PAGE_SIZE_INVALID,
            "step.page_table.page_size",
            [](auto& r) { r.mutable_step()->mutable_page_table()->set_page_size(4); });
  table.Add("a page table too narrow", v1::ERROR_REASON_PAGE_TABLE_TOO_NARROW,
            "step.page_table.table", [](auto& r) {
              *r.mutable_step()->mutable_page_table()->mutable_table() = Int32Tensor(1, 1, {7});
            });
  table.Add("a length past every row", v1::ERROR_REASON_LENGTH_OUT_OF_RANGE, "step.lengths",
            [](auto& r) { *r.mutable_step()->mutable_lengths() = Int32Vector({(1 << 21) + 1}); });
  Append(all, table);
}

void AddPublish(std::vector<MalformedRequest>& all) {
  MalformedTable<v1::PublishCandidatesRequest> table("IndexerService/PublishCandidates",
                                                     GoodPublish());
  table.Add("k is 2049", v1::ERROR_REASON_K_OUT_OF_RANGE, "k", [](auto& r) { r.set_k(2049); });
  table.Add("k is -1", v1::ERROR_REASON_K_OUT_OF_RANGE, "k", [](auto& r) { r.set_k(-1); });
  table.Add("k_blocks is 2049", v1::ERROR_REASON_K_OUT_OF_RANGE, "k_blocks",
            [](auto& r) { r.set_k_blocks(2049); });
  table.Add("block size 7", v1::ERROR_REASON_BLOCK_SIZE_INVALID, "block_size",
            [](auto& r) { r.set_block_size(7); });
  table.Add("no scores", v1::ERROR_REASON_FIELD_MISSING, "scores",
            [](auto& r) { r.clear_scores(); });
  table.Add("no outputs", v1::ERROR_REASON_FIELD_MISSING, "slots", [](auto& r) {
    r.clear_slots();
    r.clear_blocks();
    r.clear_block_slots();
    r.clear_candidate_lengths();
  });
  table.Add("slots without a page table", v1::ERROR_REASON_FIELD_MISSING, "page_table",
            [](auto& r) { r.clear_page_table(); });
  table.Add("a page table without slots", v1::ERROR_REASON_FIELDS_CONFLICT, "page_table",
            [](auto& r) {
              r.clear_slots();
              r.clear_block_slots();
            });
  table.Add("pages smaller than blocks", v1::ERROR_REASON_PAGE_SIZE_INVALID, "page_table.page_size",
            [](auto& r) { r.mutable_page_table()->set_page_size(4); });
  table.Add("a page table too narrow", v1::ERROR_REASON_PAGE_TABLE_TOO_NARROW, "page_table.table",
            [](auto& r) { *r.mutable_page_table()->mutable_table() = Int32Tensor(1, 1, {3}); });
  table.Add("a length past the columns", v1::ERROR_REASON_LENGTH_OUT_OF_RANGE, "lengths",
            [](auto& r) { *r.mutable_lengths() = Int32Vector({33}); });
  table.Add("an unknown order", v1::ERROR_REASON_ENUM_UNKNOWN, "order",
            [](auto& r) { r.set_order(static_cast<v1::SelectionOrder>(9)); });
  Append(all, table);
}

void AddConsume(std::vector<MalformedRequest>& all) {
  MalformedTable<v1::ConsumeCandidatesRequest> table("IndexerService/ConsumeCandidates",
                                                     GoodConsume());
  table.Add("no block slots", v1::ERROR_REASON_FIELD_MISSING, "block_slots",
            [](auto& r) { r.clear_block_slots(); });
  table.Add("block slots of another number of rows", v1::ERROR_REASON_SHAPE_MISMATCH,
            "block_slots.row_count", [](auto& r) {
              *r.mutable_block_slots() = Int32Tensor(2, 1, {5, 2});
            });
  table.Add("a negative block slot", v1::ERROR_REASON_PAGE_ID_OUT_OF_RANGE, "block_slots",
            [](auto& r) {
              *r.mutable_block_slots() = Int32Tensor(1, 2, {5, -2});
            });
  table.Add("a padded block slot within the length", v1::ERROR_REASON_PAGE_ID_OUT_OF_RANGE,
            "block_slots", [](auto& r) {
              *r.mutable_block_slots() = Int32Tensor(1, 2, {5, kInt32Max});
            });
  table.Add("too few block slots", v1::ERROR_REASON_PAGE_TABLE_TOO_NARROW, "block_slots",
            [](auto& r) { *r.mutable_block_slots() = Int32Tensor(1, 1, {5}); });
  table.Add("a candidate length past the columns", v1::ERROR_REASON_LENGTH_OUT_OF_RANGE,
            "candidate_lengths",
            [](auto& r) { *r.mutable_candidate_lengths() = Int32Vector({17}); });
  table.Add("no candidate lengths", v1::ERROR_REASON_FIELD_MISSING, "candidate_lengths",
            [](auto& r) { r.clear_candidate_lengths(); });
  table.Add("block size 9", v1::ERROR_REASON_BLOCK_SIZE_INVALID, "block_size",
            [](auto& r) { r.set_block_size(9); });
  table.Add("k is -5", v1::ERROR_REASON_K_OUT_OF_RANGE, "k", [](auto& r) { r.set_k(-5); });
  table.Add("no outputs", v1::ERROR_REASON_FIELD_MISSING, "slots",
            [](auto& r) { r.clear_slots(); });
  Append(all, table);
}

}  // namespace

std::vector<MalformedRequest> MalformedPlans() {
  MalformedTable<v1::PlanTopKRequest> table("IndexerService/PlanTopK", GoodPlan());
  table.Add("k is 0", v1::ERROR_REASON_K_OUT_OF_RANGE, "k", [](auto& r) { r.set_k(0); });
  table.Add("k is 4096", v1::ERROR_REASON_K_OUT_OF_RANGE, "k", [](auto& r) { r.set_k(4096); });
  for (const int32_t columns : {0, -1, (1 << 21) + 1}) {
    table.Add("columns " + std::to_string(columns), v1::ERROR_REASON_SHAPE_OUT_OF_RANGE,
              "column_count", [columns](auto& r) { r.set_column_count(columns); });
  }
  table.Add("no type", v1::ERROR_REASON_FIELD_MISSING, "data_type",
            [](auto& r) { r.clear_data_type(); });
  table.Add("an unknown type", v1::ERROR_REASON_ENUM_UNKNOWN, "data_type",
            [](auto& r) { r.set_data_type(static_cast<v1::DataType>(12)); });
  table.Add("int32 scores", v1::ERROR_REASON_DTYPE_UNSUPPORTED, "data_type",
            [](auto& r) { r.set_data_type(v1::DATA_TYPE_INT32); });
  table.Add("no lengths", v1::ERROR_REASON_FIELD_MISSING, "lengths",
            [](auto& r) { r.clear_lengths(); });
  table.Add("a length past the columns", v1::ERROR_REASON_LENGTH_OUT_OF_RANGE, "lengths",
            [](auto& r) {
              *r.mutable_lengths() = Int32Vector({1, 8193});
            });
  table.Add("more lengths than rows may be", v1::ERROR_REASON_SHAPE_OUT_OF_RANGE,
            "lengths.row_count", [](auto& r) { r.mutable_lengths()->set_row_count(65'537); });
  return table.Take();
}

std::vector<MalformedRequest> MalformedBlocks() {
  std::vector<MalformedRequest> all;
  AddBlockAmax(all);
  AddSortBlocks(all);
  return all;
}

std::vector<MalformedRequest> MalformedChains() {
  std::vector<MalformedRequest> all;
  AddPublish(all);
  AddConsume(all);
  return all;
}

}  // namespace winnow::testing
