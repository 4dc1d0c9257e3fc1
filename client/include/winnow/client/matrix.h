// A matrix that a result owns.

#ifndef WINNOW_CLIENT_MATRIX_H_
#define WINNOW_CLIENT_MATRIX_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "winnow/client/tensor.h"
#include "winnow/kernels/dtype.h"

namespace winnow::client {

// Row-major, without gaps between rows. Copies and moves like the string that holds its bytes: a
// move is cheap and empties the source. An output that was not asked for is empty, of dtype
// kUnspecified. Thread safety: as a standard container.
class Matrix {
 public:
  Matrix() = default;
  // InvalidArgument (SHAPE_OUT_OF_RANGE, DATA_SIZE_MISMATCH) unless `bytes` holds exactly rows *
  // columns elements, little-endian.
  static absl::StatusOr<Matrix> Create(DType dtype, int64_t rows, int64_t columns,
                                       std::string bytes);
  // A matrix of int32, mostly for tests that mock a connection. `values` holds rows * columns of
  // them; the process aborts otherwise.
  static Matrix OfInt32(int64_t rows, int64_t columns, absl::Span<const int32_t> values);
  static Matrix OfFloat32(int64_t rows, int64_t columns, absl::Span<const float> values);

  Matrix(const Matrix&) = default;
  Matrix& operator=(const Matrix&) = default;
  Matrix(Matrix&& other) noexcept;
  Matrix& operator=(Matrix&& other) noexcept;

  DType dtype() const { return dtype_; }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  bool empty() const { return bytes_.empty(); }

  // All elements, row by row, valid until the matrix changes. T must be the dtype's: float for
  // kFloat32, int32_t for kInt32, uint16_t (bits) for kBfloat16; the process aborts otherwise. An
  // empty matrix gives an empty span for every T.
  template <typename T>
  absl::Span<const T> elements() const;
  // The elements of one row, 0 <= row < rows(); the process aborts otherwise.
  template <typename T>
  absl::Span<const T> row(int64_t row) const;

  absl::Span<const char> bytes() const { return bytes_; }
  // For passing a result on as an input. Valid until the matrix changes.
  MatrixView view() const;
  operator TensorRef() const { return TensorRef(view()); }  // NOLINT(runtime/explicit)

 private:
  Matrix(DType dtype, int64_t rows, int64_t columns, std::string bytes);

  DType dtype_ = DType::kUnspecified;
  int64_t rows_ = 0;
  int64_t columns_ = 0;
  std::string bytes_;
};

extern template absl::Span<const float> Matrix::elements<float>() const;
extern template absl::Span<const int32_t> Matrix::elements<int32_t>() const;
extern template absl::Span<const uint16_t> Matrix::elements<uint16_t>() const;
extern template absl::Span<const float> Matrix::row<float>(int64_t) const;
extern template absl::Span<const int32_t> Matrix::row<int32_t>(int64_t) const;
extern template absl::Span<const uint16_t> Matrix::row<uint16_t>(int64_t) const;

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_MATRIX_H_
