#include "winnow/client/matrix.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "winnow/kernels/count_text.h"
#include "winnow/kernels/error.h"

namespace winnow::client {
namespace {

// The caller broke a documented precondition; going on would read memory as what it is not.
[[noreturn]] void Abort(const char* what) {
  std::fprintf(stderr, "winnow::client::Matrix: %s\n", what);
  std::abort();
}

template <typename T>
constexpr DType kDTypeOf = DType::kUnspecified;
template <>
constexpr DType kDTypeOf<float> = DType::kFloat32;
template <>
constexpr DType kDTypeOf<int32_t> = DType::kInt32;
template <>
constexpr DType kDTypeOf<uint16_t> = DType::kBfloat16;

template <typename T>
std::string Bytes(absl::Span<const T> values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

}  // namespace

absl::StatusOr<Matrix> Matrix::Create(DType dtype, int64_t rows, int64_t columns,
                                      std::string bytes) {
  int64_t elements = 0;
  int64_t wanted_bytes = 0;
  if (rows < 0 || columns < 0 || __builtin_mul_overflow(rows, columns, &elements) ||
      __builtin_mul_overflow(elements, SizeOf(dtype), &wanted_bytes)) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     absl::StrCat("a matrix of ", rows, " x ", columns, " elements is impossible"),
                     {.reason = ErrorReason::kShapeOutOfRange, .field = "rows"});
  }
  if (SizeOf(dtype) == 0 || wanted_bytes != static_cast<int64_t>(bytes.size())) {
    return MakeError(
        absl::StatusCode::kInvalidArgument,
        absl::StrCat("bytes is ", CountText(static_cast<int64_t>(bytes.size()), "byte"), "; ", rows,
                     " x ", columns, " elements of ", winnow::Name(dtype), " are ", wanted_bytes),
        {.reason = ErrorReason::kDataSizeMismatch,
         .field = "bytes",
         .value = absl::StrCat(bytes.size()),
         .limit = absl::StrCat(wanted_bytes)});
  }
  return Matrix(dtype, rows, columns, std::move(bytes));
}

Matrix Matrix::OfInt32(int64_t rows, int64_t columns, absl::Span<const int32_t> values) {
  auto matrix = Create(DType::kInt32, rows, columns, Bytes(values));
  if (!matrix.ok()) Abort("the number of values is not rows * columns");
  return *std::move(matrix);
}

Matrix Matrix::OfFloat32(int64_t rows, int64_t columns, absl::Span<const float> values) {
  auto matrix = Create(DType::kFloat32, rows, columns, Bytes(values));
  if (!matrix.ok()) Abort("the number of values is not rows * columns");
  return *std::move(matrix);
}

Matrix::Matrix(DType dtype, int64_t rows, int64_t columns, std::string bytes)
    : dtype_(dtype), rows_(rows), columns_(columns), bytes_(std::move(bytes)) {}

Matrix::Matrix(Matrix&& other) noexcept
    : dtype_(std::exchange(other.dtype_, DType::kUnspecified)),
      rows_(std::exchange(other.rows_, 0)),
      columns_(std::exchange(other.columns_, 0)),
      bytes_(std::exchange(other.bytes_, {})) {}

Matrix& Matrix::operator=(Matrix&& other) noexcept {
  if (this == &other) return *this;
  dtype_ = std::exchange(other.dtype_, DType::kUnspecified);
  rows_ = std::exchange(other.rows_, 0);
  columns_ = std::exchange(other.columns_, 0);
  bytes_ = std::exchange(other.bytes_, {});
  return *this;
}

template <typename T>
absl::Span<const T> Matrix::elements() const {
  if (bytes_.empty()) return {};
  if (dtype_ != kDTypeOf<T>) Abort("elements are read as another type than dtype()");
  return {reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T)};
}

template <typename T>
absl::Span<const T> Matrix::row(int64_t row) const {
  if (row < 0 || row >= rows_) Abort("the row is outside 0 to rows() - 1");
  if (columns_ == 0) return {};
  return elements<T>().subspan(row * columns_, columns_);
}

template absl::Span<const float> Matrix::elements<float>() const;
template absl::Span<const int32_t> Matrix::elements<int32_t>() const;
template absl::Span<const uint16_t> Matrix::elements<uint16_t>() const;
template absl::Span<const float> Matrix::row<float>(int64_t) const;
template absl::Span<const int32_t> Matrix::row<int32_t>(int64_t) const;
template absl::Span<const uint16_t> Matrix::row<uint16_t>(int64_t) const;

MatrixView Matrix::view() const { return {dtype_, rows_, columns_, 0, bytes_.data()}; }

}  // namespace winnow::client
