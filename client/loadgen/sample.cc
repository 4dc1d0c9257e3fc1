#include "client/loadgen/sample.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/npy.h"
#include "winnow/kernels/limits.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::stress {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float Value(Pattern pattern, std::mt19937_64& random) {
  const auto bits = random();
  switch (pattern) {
    case Pattern::kUniform:
      return static_cast<float>(bits >> 40) / static_cast<float>(1 << 23) - 1.0F;
    case Pattern::kTies:
      return static_cast<float>(bits % 16);
    case Pattern::kAllEqual:
      return 1.0F;
    case Pattern::kSpecial:
      break;
  }
  constexpr float kValues[] = {kInfinity, -kInfinity, 0.0F, -0.0F, 1e-40F, -1e38F};
  return bits % 4 != 0 ? static_cast<float>(bits % 1000) : kValues[(bits >> 32) % 6];
}

client::PageTableView Pages(const Sample& sample) {
  return {
      .table = client::Int32Matrix(sample.pages->data(), sample.shape.rows, sample.pages_columns()),
      .page_size = sample.shape.page_size};
}

}  // namespace

client::MatrixView Sample::View() const {
  return {
      .dtype = shape.dtype, .rows = shape.rows, .columns = shape.columns, .data = scores->data()};
}

int32_t Sample::pages_columns() const {
  return pages == nullptr ? 0
                          : static_cast<int32_t>(pages->size() / static_cast<size_t>(shape.rows));
}

client::TopKRequest Sample::TopK(client::TensorRef scores) const {
  client::TopKRequest request{.scores = std::move(scores),
                              .lengths = client::Int32Column(lengths),
                              .k = shape.k,
                              .deterministic = shape.deterministic};
  if (pages != nullptr) {
    request.page_table = Pages(*this);
    request.slots = client::Placement::kInline;
  }
  return request;
}

client::BlockAmaxRequest Sample::BlockAmax(client::TensorRef scores) const {
  return {.scores = std::move(scores),
          .lengths = client::Int32Column(lengths),
          .block_size = shape.block_size};
}

client::PublishCandidatesRequest Sample::Publish(client::TensorRef scores) const {
  return {.scores = std::move(scores),
          .lengths = client::Int32Column(lengths),
          .page_table = Pages(*this),
          .k = shape.k,
          .k_blocks = shape.k_blocks,
          .block_size = shape.block_size,
          .deterministic = true};
}

client::ConsumeCandidatesRequest Sample::Consume(client::TensorRef scores) const {
  return {.scores = std::move(scores),
          .candidate_lengths = client::Int32Column(lengths),
          .block_slots = client::Int32Matrix(pages->data(), shape.rows, shape.k_blocks),
          .k = shape.k,
          .block_size = shape.block_size,
          .deterministic = true,
          .indices = client::Placement::kInline};
}

std::vector<float> Sample::Row(int32_t row) const {
  const size_t length = static_cast<size_t>(std::max(lengths[row], 0));
  const size_t first = static_cast<size_t>(row) * static_cast<size_t>(shape.columns);
  std::vector<float> values(length);
  if (shape.dtype == DType::kFloat32) {
    if (length > 0) memcpy(values.data(), scores->data() + first * sizeof(float), length * 4);
    return values;
  }
  for (size_t i = 0; i < length; ++i) {
    uint16_t half = 0;
    memcpy(&half, scores->data() + (first + i) * 2, 2);
    const uint32_t bits = uint32_t{half} << 16;
    memcpy(&values[i], &bits, 4);
  }
  return values;
}

std::shared_ptr<const Bytes> MakeScores(const Shape& shape, Pattern pattern,
                                        std::mt19937_64& random) {
  const size_t count = static_cast<size_t>(shape.rows) * static_cast<size_t>(shape.columns);
  const size_t size = static_cast<size_t>(SizeOf(shape.dtype));
  auto bytes = std::make_shared<Bytes>(count * size);
  for (size_t i = 0; i < count; ++i) {
    const float value = Value(pattern, random);
    // The upper half of a float32 is a bfloat16; which way it rounds does not matter here.
    memcpy(bytes->data() + i * size, reinterpret_cast<const char*>(&value) + 4 - size, size);
  }
  return bytes;
}

absl::StatusOr<std::shared_ptr<const Bytes>> ReadScores(Shape& shape) {
  WINNOW_ASSIGN_OR_RETURN(const cli::NpyFile file, cli::NpyFile::Open(shape.scores_path));
  const cli::NpyHeader& header = file.header();
  const bool halves = header.type == cli::NpyType::kUint16;
  const int64_t rows = header.shape.size() == 2 ? header.shape[0] : 1;
  const int64_t columns = header.shape.back();
  const bool usable = (halves || header.type == cli::NpyType::kFloat32) && rows > 0 &&
                      columns > 0 && rows <= kMaxRows && columns <= kMaxColumns;
  if (!usable) {
    return absl::InvalidArgumentError(
        absl::StrCat(shape.scores_path,
                     ": a mix takes [rows, columns], or one row, of float32, or of uint16 "
                     "for bfloat16 bits, up to ",
                     kMaxRows, " x ", kMaxColumns));
  }
  shape.rows = static_cast<int32_t>(rows);
  shape.columns = static_cast<int32_t>(columns);
  shape.dtype = halves ? DType::kBfloat16 : DType::kFloat32;
  auto bytes =
      std::make_shared<Bytes>(static_cast<size_t>(file.element_count() * SizeOf(shape.dtype)));
  WINNOW_RETURN_IF_ERROR(file.Read(0, file.element_count(), bytes->data()));
  return std::shared_ptr<const Bytes>(std::move(bytes));
}

std::shared_ptr<const std::vector<int32_t>> MakePages(const Shape& shape, std::mt19937_64& random) {
  const bool consumes = shape.operation == Operation::kConsume;
  if (!consumes && shape.page_size == 0) return nullptr;
  const int64_t columns =
      consumes ? shape.k_blocks : (int64_t{shape.columns} + shape.page_size - 1) / shape.page_size;
  auto pages = std::make_shared<std::vector<int32_t>>(static_cast<size_t>(shape.rows * columns));
  // Distinct ones, in random order: no two tokens share a slot.
  std::iota(pages->begin(), pages->end(), 0);
  for (size_t i = 0; i + 1 < pages->size(); ++i) {
    std::swap((*pages)[i], (*pages)[i + random() % (pages->size() - i)]);
  }
  return pages;
}

std::vector<int32_t> MakeLengths(const Shape& shape, std::mt19937_64& random) {
  std::vector<int32_t> lengths;
  const int32_t kept = shape.operation == Operation::kBlockAmax ? shape.block_size : shape.k;
  for (int32_t row = 0; row < shape.rows; ++row) {
    const bool is_short = random() % 8 == 0;
    const int32_t longest = is_short ? std::min(shape.columns, 2 * kept) : shape.columns;
    const int32_t shortest = is_short ? 0 : shape.columns / 2;
    lengths.push_back(shortest + static_cast<int32_t>(random() % (longest - shortest + 1)));
  }
  return lengths;
}

}  // namespace winnow::stress
