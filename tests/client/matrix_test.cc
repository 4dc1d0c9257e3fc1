#include "winnow/client/matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>

#include "tests/testing/status_matchers.h"

namespace winnow::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::winnow::testing::FailsWith;

TEST(MatrixTest, RowsAreSlicesOfTheElements) {
  const Matrix matrix = Matrix::OfInt32(2, 3, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(matrix.elements<int32_t>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(matrix.row<int32_t>(1), ElementsAre(4, 5, 6));
}

TEST(MatrixTest, Bfloat16IsReadAsItsBits) {
  const auto matrix = Matrix::Create(DType::kBfloat16, 1, 2, std::string("\x80\x3f\x00\x40", 4));
  ASSERT_OK(matrix);
  EXPECT_THAT(matrix->elements<uint16_t>(), ElementsAre(0x3f80, 0x4000));
}

TEST(MatrixTest, AnEmptyMatrixGivesEmptySpansOfEveryType) {
  const Matrix absent;
  EXPECT_TRUE(absent.empty());
  EXPECT_EQ(absent.dtype(), DType::kUnspecified);
  EXPECT_THAT(absent.elements<float>(), IsEmpty());
  const Matrix no_rows = Matrix::OfInt32(0, 5, {});
  EXPECT_EQ(no_rows.columns(), 5);
  EXPECT_THAT(no_rows.elements<int32_t>(), IsEmpty());
  const Matrix no_columns = Matrix::OfInt32(3, 0, {});
  EXPECT_THAT(no_columns.row<int32_t>(2), IsEmpty());
}

TEST(MatrixTest, AMoveEmptiesTheSource) {
  Matrix source = Matrix::OfFloat32(1, 2, {1.0f, 2.0f});
  const Matrix target = std::move(source);
  EXPECT_THAT(target.elements<float>(), ElementsAre(1.0f, 2.0f));
  EXPECT_TRUE(source.empty());                     // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(source.rows(), 0);                     // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(source.dtype(), DType::kUnspecified);  // NOLINT(bugprone-use-after-move)
}

TEST(MatrixTest, BytesMustFitTheShape) {
  EXPECT_THAT(Matrix::Create(DType::kInt32, 1, 2, std::string(7, 0)),
              FailsWith(ErrorReason::kDataSizeMismatch, "bytes"));
  EXPECT_THAT(Matrix::Create(DType::kUnspecified, 1, 2, ""),
              FailsWith(ErrorReason::kDataSizeMismatch, "bytes"));
  EXPECT_THAT(Matrix::Create(static_cast<DType>(99), 1, 2, ""),
              FailsWith(ErrorReason::kDataSizeMismatch, "bytes"));
}

TEST(MatrixTest, ImpossibleShapesAreRefused) {
  const int64_t huge = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(Matrix::Create(DType::kInt32, -1, 2, ""),
              FailsWith(ErrorReason::kShapeOutOfRange, "rows"));
  EXPECT_THAT(Matrix::Create(DType::kInt32, huge, 2, ""),
              FailsWith(ErrorReason::kShapeOutOfRange, "rows"));
  EXPECT_THAT(Matrix::Create(DType::kInt32, huge / 4 + 1, 1, ""),
              FailsWith(ErrorReason::kShapeOutOfRange, "rows"));
}

TEST(MatrixTest, AResultMayBeTheNextInput) {
  const Matrix matrix = Matrix::OfInt32(2, 1, {8, 9});
  const TensorRef tensor = matrix;
  ASSERT_NE(tensor.view(), nullptr);
  EXPECT_EQ(tensor.view()->data, matrix.bytes().data());
  EXPECT_EQ(tensor.rows(), 2);
  EXPECT_EQ(tensor.dtype(), DType::kInt32);
}

using MatrixDeathTest = ::testing::Test;

TEST(MatrixDeathTest, ReadingAnotherTypeAborts) {
  const Matrix matrix = Matrix::OfInt32(1, 1, {1});
  EXPECT_DEATH(matrix.elements<float>(), "another type");
  EXPECT_DEATH(matrix.row<int32_t>(1), "outside");
  EXPECT_DEATH(matrix.row<int32_t>(-1), "outside");
}

}  // namespace
}  // namespace winnow::client
