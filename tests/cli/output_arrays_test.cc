#include "client/cli/output_arrays.h"

#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/arrays.h"
#include "tests/cli/temp_dir.h"

namespace winnow::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

OutputArray Indices(const std::string& path) {
  return OutputArray({.name = "indices", .path = path, .dtype = DType::kInt32, .columns = 2});
}

TEST(OutputArrayTest, RowsOfSeveralResultsBecomeOneFile) {
  TempDir dir;
  OutputArray output = Indices(dir.File("i.npy"));
  ASSERT_TRUE(output.Begin(3).ok());
  ASSERT_TRUE(output.Append(client::Matrix::OfInt32(2, 2, {1, 2, 3, 4})).ok());
  ASSERT_TRUE(output.Append(client::Matrix::OfInt32(1, 2, {5, 6})).ok());
  EXPECT_FALSE(std::filesystem::exists(dir.File("i.npy"))) << "whole or not at all";
  ASSERT_TRUE(output.Commit().ok());
  EXPECT_THAT(ReadInts(dir.File("i.npy"), 3, 2), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(OutputArrayTest, AnswerOfAnotherShapeIsNotWritten) {
  TempDir dir;
  OutputArray output = Indices(dir.File("i.npy"));
  ASSERT_TRUE(output.Begin(2).ok());
  EXPECT_EQ(output.Append(client::Matrix::OfInt32(1, 3, {1, 2, 3})).code(),
            absl::StatusCode::kInternal);
  EXPECT_EQ(output.Append(client::Matrix::OfFloat32(1, 2, {1, 2})).code(),
            absl::StatusCode::kInternal);
  ASSERT_TRUE(output.Append(client::Matrix::OfInt32(1, 2, {1, 2})).ok());
  const absl::Status status = output.Commit();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("1 row of indices; expected were 2"));
  EXPECT_FALSE(std::filesystem::exists(dir.File("i.npy")));
}

TEST(OutputArrayTest, WithoutAPathTheFirstValuesAreKept) {
  OutputArray output = Indices("");
  ASSERT_TRUE(output.Begin(1).ok());
  ASSERT_TRUE(output.Append(client::Matrix::OfInt32(1, 2, {7, -1})).ok());
  ASSERT_TRUE(output.Commit().ok());
  EXPECT_THAT(output.Text(), HasSubstr("row 0: 7 -1\n"));
  EXPECT_EQ(output.ToJson()["head"], Json::parse("[[7, -1]]"));
}

TEST(OutputArrayTest, ValuesAreNumbersInJsonAndWordsWhereJsonHasNone) {
  OutputArray output({.name = "values", .dtype = DType::kFloat32, .columns = 4});
  const float infinity = std::numeric_limits<float>::infinity();
  ASSERT_TRUE(output.Begin(1).ok());
  ASSERT_TRUE(
      output.Append(client::Matrix::OfFloat32(1, 4, {0.5f, 16777217.0f, -infinity, std::nanf("")}))
          .ok());
  ASSERT_TRUE(output.Commit().ok());
  EXPECT_EQ(output.ToJson()["head"], Json::parse(R"([[0.5, 16777216.0, "-inf", "nan"]])"));
  EXPECT_THAT(output.Text(), HasSubstr("row 0: 0.5 1.67772e+07 -inf nan\n"));
}

TEST(OutputArrayTest, OnePathForTwoOutputsIsRefused) {
  std::vector<OutputArray> outputs;
  outputs.push_back(Indices("a.npy"));
  outputs.push_back(OutputArray({.name = "slots", .path = "a.npy"}));
  EXPECT_EQ(CheckDistinctPaths(outputs).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace winnow::cli
