#include "tests/integration/random_requests.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "tests/integration/server_process.h"
#include "tests/testing/requests.h"
#include "tests/testing/score_generators.h"

namespace winnow::testing {
namespace {

v1::Tensor RandomScores(Random& random, int64_t rows, int64_t columns) {
  const int64_t row_stride = columns + (random.OneIn(3) ? random.Between(1, 5) : 0);
  const std::vector<Pattern> patterns = AllPatterns();
  std::vector<float> scores;
  for (int64_t row = 0; row < rows; ++row) {
    const Pattern pattern = patterns[random.Below(static_cast<int64_t>(patterns.size()))];
    const std::vector<float> one = MakeScores(pattern, columns, random);
    scores.insert(scores.end(), one.begin(), one.end());
    scores.resize(static_cast<size_t>((row + 1) * row_stride), 1e30f);
  }
  v1::Tensor tensor;
  if (random.OneIn(2)) {
    std::vector<uint16_t> bits(scores.size());
    std::transform(scores.begin(), scores.end(), bits.begin(), ToBfloat16);
    tensor = MakeTensor(v1::DATA_TYPE_BFLOAT16, rows, columns, BytesOf(bits));
  } else {
    tensor = MakeTensor(v1::DATA_TYPE_FLOAT32, rows, columns, BytesOf(scores));
  }
  tensor.set_row_stride(row_stride);
  return tensor;
}

std::vector<int32_t> RandomLengths(Random& random, int64_t rows, int64_t columns) {
  std::vector<int32_t> lengths(rows);
  for (int32_t& length : lengths) {
    length = static_cast<int32_t>(random.OneIn(8)   ? random.Between(-4, 0)
                                  : random.OneIn(3) ? columns
                                                    : random.Between(0, columns));
  }
  return lengths;
}

v1::PageTable RandomPages(Random& random, int64_t rows, int64_t columns, int32_t page_size) {
  const int64_t pages = (columns + page_size - 1) / page_size;
  const bool mapped = random.OneIn(3);
  const int64_t table_rows = mapped ? rows + 2 : rows;
  std::vector<int32_t> ids;
  for (int64_t row = 0; row < table_rows; ++row) {
    const auto distinct = DistinctNumbers(pages, 2 * pages + 1, random);
    ids.insert(ids.end(), distinct.begin(), distinct.end());
  }
  v1::PageTable table;
  *table.mutable_table() = Int32Tensor(table_rows, pages, ids);
  table.set_page_size(page_size);
  if (random.OneIn(2)) table.set_pool_page_count(static_cast<int32_t>(2 * pages + 1));
  if (mapped) {
    std::vector<int32_t> row_indices(rows);
    for (int32_t& index : row_indices) index = static_cast<int32_t>(random.Below(table_rows));
    *table.mutable_row_indices() = Int32Vector(row_indices);
  }
  return table;
}

void WantSome(Random& random, std::initializer_list<v1::OutputTarget*> optional) {
  for (v1::OutputTarget* target : optional) {
    if (random.OneIn(2)) WantInline(target);
  }
}

int32_t RandomK(Random& random) {
  constexpr int32_t kCommon[] = {1, 7, 64, 512, 2048};
  return random.OneIn(2) ? kCommon[random.Below(5)] : static_cast<int32_t>(random.Between(1, 300));
}

v1::BlockAmaxRequest MakeRandomBlockAmax(Random& random, int64_t max_columns) {
  v1::BlockAmaxRequest request;
  auto& step = *request.mutable_step();
  const int64_t rows = random.Between(1, 8);
  const int64_t columns = random.Between(1, max_columns);
  *step.mutable_scores() = RandomScores(random, rows, columns);
  *step.mutable_lengths() = Int32Vector(RandomLengths(random, rows, columns));
  step.set_block_size(2 << random.Below(7));
  if (random.OneIn(3)) step.set_skip_at_most(static_cast<int32_t>(random.Between(1, 40)));
  WantInline(step.mutable_keys());
  WantSome(random, {step.mutable_block_counts()});
  return request;
}

v1::SortCandidateBlocksRequest MakeRandomSort(Random& random, int64_t max_columns) {
  v1::SortCandidateBlocksRequest request;
  auto& step = *request.mutable_step();
  const int64_t rows = random.Between(1, 8);
  const int64_t columns = random.Between(1, max_columns);
  const int64_t width = random.Between(1, 128);
  const int32_t block_size = 8;
  const std::vector<int32_t> lengths = RandomLengths(random, rows, columns);
  std::vector<int32_t> blocks;
  for (const int32_t length : lengths) {
    const int64_t count = (std::max(length, 0) + block_size - 1) / block_size;
    for (int64_t i = 0; i < width; ++i) {
      blocks.push_back(count == 0 || random.OneIn(5) ? -1
                                                     : static_cast<int32_t>(random.Below(count)));
    }
  }
  *step.mutable_blocks() = Int32Tensor(rows, width, blocks);
  *step.mutable_lengths() = Int32Vector(lengths);
  WantInline(step.mutable_out_blocks());
  WantSome(random, {step.mutable_block_slots(), step.mutable_candidate_lengths()});
  if (step.block_slots().placement() == v1::OUTPUT_PLACEMENT_INLINE) {
    *step.mutable_page_table() = RandomPages(random, rows, columns, 8 << random.Below(4));
  }
  return request;
}

v1::ConsumeCandidatesRequest MakeRandomConsume(Random& random, int64_t max_columns) {
  v1::ConsumeCandidatesRequest request;
  const int64_t rows = random.Between(1, 8);
  const int64_t blocks = random.Between(1, std::max<int64_t>(1, max_columns / 8));
  *request.mutable_scores() = RandomScores(random, rows, blocks * 8);
  *request.mutable_candidate_lengths() = Int32Vector(RandomLengths(random, rows, blocks * 8));
  std::vector<int32_t> slots;
  for (int64_t row = 0; row < rows; ++row) {
    const auto distinct = DistinctNumbers(blocks, 4 * blocks, random);
    slots.insert(slots.end(), distinct.begin(), distinct.end());
  }
  *request.mutable_block_slots() = Int32Tensor(rows, blocks, slots);
  request.set_k(RandomK(random));
  request.set_deterministic(true);
  WantInline(request.mutable_slots());
  WantSome(random, {request.mutable_indices(), request.mutable_values()});
  return request;
}

// Calls the method that a request belongs to.
struct Caller {
  using Stub = v1::IndexerService::Stub;
  Stub& indexer;
  Outputs& outputs;

  grpc::Status operator()(const v1::TopKRequest& r) { return Run(r, &Stub::TopK); }
  grpc::Status operator()(const v1::BlockAmaxRequest& r) { return Run(r, &Stub::BlockAmax); }
  grpc::Status operator()(const v1::SortCandidateBlocksRequest& r) {
    return Run(r, &Stub::SortCandidateBlocks);
  }
  grpc::Status operator()(const v1::PublishCandidatesRequest& r) {
    return Run(r, &Stub::PublishCandidates);
  }
  grpc::Status operator()(const v1::ConsumeCandidatesRequest& r) {
    return Run(r, &Stub::ConsumeCandidates);
  }

  template <typename Request, typename Response>
  grpc::Status Run(const Request& request,
                   grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*)) {
    Response response;
    const grpc::Status status = (indexer.*method)(Patient().get(), request, &response);
    const auto& received = response.result().outputs();
    if (status.ok()) outputs = Outputs(received.begin(), received.end());
    return status;
  }
};

// Whether two float32 tensors hold the same numbers. Of a block with zeros of either sign, or with
// NaN alone, either may be the maximum.
bool SameNumbers(const v1::Tensor& want, const v1::Tensor& have) {
  const std::vector<float> a = ElementsOf<float>(want);
  const std::vector<float> b = ElementsOf<float>(have);
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

}  // namespace

v1::TopKRequest MakeRandomTopK(Random& random, int64_t max_columns) {
  v1::TopKRequest request;
  auto& step = *request.mutable_step();
  const int64_t rows = random.Between(1, 8);
  const int64_t columns = random.Between(1, max_columns);
  *step.mutable_scores() = RandomScores(random, rows, columns);
  std::vector<int32_t> lengths = RandomLengths(random, rows, columns);
  if (random.OneIn(3)) {
    std::vector<int32_t> starts(rows);
    for (int64_t row = 0; row < rows; ++row) {
      starts[row] = static_cast<int32_t>(random.Between(0, columns - std::max(lengths[row], 0)));
    }
    *step.mutable_row_starts() = Int32Vector(starts);
    if (random.OneIn(2)) *step.mutable_index_offsets() = Int32Vector(starts);
  }
  *step.mutable_lengths() = Int32Vector(lengths);
  step.set_k(RandomK(random));
  step.set_order(static_cast<v1::SelectionOrder>(random.Below(4)));
  step.set_deterministic(true);
  if (random.OneIn(4)) step.set_static_threshold(static_cast<int32_t>(random.Between(-1, columns)));
  WantInline(step.mutable_indices());
  WantSome(random, {step.mutable_slots(), step.mutable_values()});
  if (step.slots().placement() == v1::OUTPUT_PLACEMENT_INLINE) {
    *step.mutable_page_table() = RandomPages(random, rows, columns, 1 << random.Below(9));
  }
  return request;
}

v1::PublishCandidatesRequest MakeRandomPublish(Random& random, int64_t max_columns) {
  v1::PublishCandidatesRequest request;
  const int64_t rows = random.Between(1, 8);
  const int64_t columns = random.Between(1, max_columns);
  *request.mutable_scores() = RandomScores(random, rows, columns);
  *request.mutable_lengths() = Int32Vector(RandomLengths(random, rows, columns));
  *request.mutable_page_table() = RandomPages(random, rows, columns, 8 << random.Below(4));
  request.set_k(RandomK(random));
  request.set_k_blocks(RandomK(random));
  request.set_order(static_cast<v1::SelectionOrder>(random.Below(4)));
  request.set_deterministic(true);
  WantInline(request.mutable_slots());
  WantInline(request.mutable_blocks());
  WantInline(request.mutable_block_slots());
  WantInline(request.mutable_candidate_lengths());
  WantSome(random, {request.mutable_indices()});
  return request;
}

RandomCase MakeRandomCase(Random& random, int64_t max_columns) {
  const auto with_reference = [](auto request, const auto& message) {
    absl::StatusOr<Outputs> expected = ReferenceOf(message);
    if (!expected.ok()) std::abort();  // the generators make valid requests only
    return RandomCase{std::move(request), *std::move(expected)};
  };
  switch (random.Below(6)) {
    case 0: {
      const auto request = MakeRandomBlockAmax(random, max_columns);
      return with_reference(request, request.step());
    }
    case 1: {
      const auto request = MakeRandomSort(random, max_columns);
      return with_reference(request, request.step());
    }
    case 2: {
      const auto request = MakeRandomPublish(random, max_columns);
      return with_reference(request, request);
    }
    case 3: {
      const auto request = MakeRandomConsume(random, max_columns);
      return with_reference(request, request);
    }
    default: {
      const auto request = MakeRandomTopK(random, max_columns);
      return with_reference(request, request.step());
    }
  }
}

grpc::Status Call(v1::IndexerService::Stub& indexer, const AnyRequest& request, Outputs& outputs) {
  return std::visit(Caller{indexer, outputs}, request);
}

std::string Difference(const Outputs& expected, const Outputs& actual) {
  if (expected.size() != actual.size()) {
    return absl::StrCat(actual.size(), " outputs instead of ", expected.size());
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    const std::string name = v1::OutputName_Name(expected[i].name());
    if (actual[i].name() != expected[i].name()) return absl::StrCat("not ", name, " in place ", i);
    const v1::Tensor& want = expected[i].tensor();
    const v1::Tensor& have = actual[i].tensor();
    if (want.SerializeAsString() == have.SerializeAsString()) continue;
    if (expected[i].name() == v1::OUTPUT_NAME_KEYS && SameNumbers(want, have)) continue;
    const auto [at, other] = std::mismatch(want.inline_data().begin(), want.inline_data().end(),
                                           have.inline_data().begin(), have.inline_data().end());
    return absl::StrCat(name, " [", have.row_count(), ", ", have.column_count(), "] instead of [",
                        want.row_count(), ", ", want.column_count(), "], first differing byte ",
                        at - want.inline_data().begin());
  }
  return "";
}

}  // namespace winnow::testing
