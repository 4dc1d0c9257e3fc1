#include "client/src/tensor_encoding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "tests/testing/status_matchers.h"
#include "winnow/v1/steps.pb.h"

namespace winnow::client {
namespace {

using ::testing::ElementsAre;
using ::winnow::testing::FailsWith;
using ::winnow::testing::StatusIs;

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

absl::Status EncodeScores(const TensorRef& tensor, v1::TopKStep& step) {
  TensorEncoder encoder;
  encoder.SetFieldPrefix("step.");
  encoder.Add("scores", tensor, &step, &v1::TopKStep::mutable_scores);
  return encoder.status();
}

absl::Status EncodeScores(const TensorRef& tensor) {
  v1::TopKStep step;
  return EncodeScores(tensor, step);
}

std::vector<int32_t> Elements(const v1::Tensor& tensor) {
  std::vector<int32_t> values(tensor.inline_data().size() / 4);
  std::memcpy(values.data(), tensor.inline_data().data(), tensor.inline_data().size());
  return values;
}

TEST(TensorEncodingTest, AContiguousMatrixIsCopiedWhole) {
  const std::vector<int32_t> data = {1, 2, 3, 4};
  v1::TopKStep step;
  ASSERT_OK(EncodeScores(Int32Matrix(data.data(), 2, 2), step));
  EXPECT_EQ(step.scores().data_type(), v1::DATA_TYPE_INT32);
  EXPECT_EQ(step.scores().row_count(), 2);
  EXPECT_EQ(step.scores().column_count(), 2);
  EXPECT_EQ(step.scores().row_stride(), 0);
  EXPECT_THAT(Elements(step.scores()), ElementsAre(1, 2, 3, 4));
}

TEST(TensorEncodingTest, TheGapsOfAStrideAreNotSentNorRead) {
  // The last row ends with its columns: what follows is not there to be read.
  const std::vector<int32_t> data = {1, 2, -7, -7, 3, 4};
  v1::TopKStep step;
  ASSERT_OK(EncodeScores(Int32Matrix(data.data(), 2, 2, 4), step));
  EXPECT_EQ(step.scores().row_stride(), 0);
  EXPECT_THAT(Elements(step.scores()), ElementsAre(1, 2, 3, 4));
}

TEST(TensorEncodingTest, AnAbsentTensorIsAnAbsentField) {
  v1::TopKStep step;
  ASSERT_OK(EncodeScores(TensorRef(), step));
  EXPECT_FALSE(step.has_scores());
}

TEST(TensorEncodingTest, AnEmptyMatrixStillSaysThatItIsInline) {
  v1::TopKStep step;
  ASSERT_OK(EncodeScores(Int32Matrix(nullptr, 0, 16), step));
  EXPECT_EQ(step.scores().source_case(), v1::Tensor::kInlineData);
  EXPECT_EQ(step.scores().column_count(), 16);
}

TEST(TensorEncodingTest, AStepOutputIsNamedWithItsDeclaredShape) {
  v1::TopKStep step;
  ASSERT_OK(EncodeScores(StepOutput{3, OutputName::kKeys, DType::kFloat32, 5, 7}, step));
  EXPECT_EQ(step.scores().step_output().step_index(), 3);
  EXPECT_EQ(step.scores().step_output().output(), v1::OUTPUT_NAME_KEYS);
  EXPECT_EQ(step.scores().data_type(), v1::DATA_TYPE_FLOAT32);
  EXPECT_EQ(step.scores().row_count(), 5);
  EXPECT_EQ(step.scores().column_count(), 7);
}

TEST(TensorEncodingTest, AViewThatCannotBeReadIsRefusedBeforeItIsRead) {
  const int32_t one = 1;
  EXPECT_THAT(EncodeScores(Int32Matrix(nullptr, 1, 1)),
              FailsWith(ErrorReason::kFieldMissing, "step.scores.data"));
  EXPECT_THAT(EncodeScores(Int32Matrix(&one, -1, 1)),
              FailsWith(ErrorReason::kShapeOutOfRange, "step.scores.row_count"));
  EXPECT_THAT(EncodeScores(Int32Matrix(&one, 1, -1)),
              FailsWith(ErrorReason::kShapeOutOfRange, "step.scores.column_count"));
  EXPECT_THAT(EncodeScores(Int32Matrix(&one, 1, 2, 1)),
              FailsWith(ErrorReason::kStrideTooSmall, "step.scores.row_stride"));
  EXPECT_THAT(EncodeScores(Int32Matrix(&one, 1, 1, -1)),
              FailsWith(ErrorReason::kStrideTooSmall, "step.scores.row_stride"));
}

TEST(TensorEncodingTest, SizesNearTheEndOfInt64AreRefused) {
  const int32_t one = 1;
  for (const MatrixView& view :
       {Int32Matrix(&one, kHuge, kHuge), Int32Matrix(&one, 2, kHuge), Int32Matrix(&one, kHuge, 1),
        Int32Matrix(&one, kHuge / 4 + 1, 1), Int32Matrix(&one, 2, 1, kHuge / 2)}) {
    EXPECT_THAT(EncodeScores(view), FailsWith(ErrorReason::kSizeOverflow, "step.scores"));
  }
}

TEST(TensorEncodingTest, MoreThanAMessageHoldsIsRefusedBeforeItIsRead) {
  const int32_t one = 1;
  const absl::Status status = EncodeScores(Int32Matrix(&one, 1 << 10, 1 << 20));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                               ::testing::HasSubstr("send fewer rows at once")));
  EXPECT_TRUE(GetErrorInfo(status)->reason == ErrorReason::kMessageTooLarge);
}

TEST(TensorEncodingTest, TheFirstErrorIsKept) {
  v1::TopKStep step;
  TensorEncoder encoder;
  encoder.Add("scores", Int32Matrix(nullptr, 1, 1), &step, &v1::TopKStep::mutable_scores);
  encoder.Add("lengths", Int32Matrix(nullptr, -1, 1), &step, &v1::TopKStep::mutable_lengths);
  EXPECT_THAT(encoder.status(), FailsWith(ErrorReason::kFieldMissing, "scores.data"));
}

TEST(TensorEncodingTest, AnUnknownTypeIsLeftToTheServer) {
  const int32_t one = 1;
  v1::TopKStep step;
  ASSERT_OK(EncodeScores(MatrixView{static_cast<DType>(77), 1, 1, 0, &one}, step));
  EXPECT_EQ(static_cast<int>(step.scores().data_type()), 77);
  EXPECT_EQ(step.scores().inline_data(), "");
}

TEST(TensorEncodingTest, NumbersOfTheEnumsAreThoseOfTheContract) {
  EXPECT_EQ(static_cast<int>(DType::kFloat32), v1::DATA_TYPE_FLOAT32);
  EXPECT_EQ(static_cast<int>(DType::kBfloat16), v1::DATA_TYPE_BFLOAT16);
  EXPECT_EQ(static_cast<int>(DType::kInt32), v1::DATA_TYPE_INT32);
  EXPECT_EQ(static_cast<int>(Placement::kInline), v1::OUTPUT_PLACEMENT_INLINE);
  EXPECT_EQ(static_cast<int>(Placement::kKeep), v1::OUTPUT_PLACEMENT_KEEP);
  for (int number = 1; number <= v1::OutputName_MAX; ++number) {
    const std::string name = "OUTPUT_NAME_" + std::string(Name(static_cast<OutputName>(number)));
    std::string upper = name;
    for (char& c : upper) c = static_cast<char>(std::toupper(c));
    EXPECT_EQ(upper, v1::OutputName_Name(static_cast<v1::OutputName>(number)));
  }
}

}  // namespace
}  // namespace winnow::client
