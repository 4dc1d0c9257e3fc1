#include "client/cli/npy.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/npy_bytes.h"
#include "tests/cli/temp_dir.h"

namespace winnow::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<float> ReadFloats(const NpyFile& file, int64_t first, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  const absl::Status status = file.Read(first, count, reinterpret_cast<std::byte*>(values.data()));
  EXPECT_TRUE(status.ok()) << status;
  return values;
}

TEST(NpyTest, ReadsAnyRangeOfAMatrix) {
  TempDir dir;
  auto file = NpyFile::Open(dir.Write("a.npy", NpyFloats({1, 2, 3, 4, 5, 6}, {2, 3})));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->header().type, NpyType::kFloat32);
  EXPECT_THAT(file->header().shape, ElementsAre(2, 3));
  EXPECT_EQ(file->element_count(), 6);
  EXPECT_THAT(ReadFloats(*file, 0, 6), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(ReadFloats(*file, 4, 2), ElementsAre(5, 6));
}

TEST(NpyTest, ReadsEveryFormatVersion) {
  TempDir dir;
  const std::string data(12, '\0');
  for (int major : {1, 2, 3}) {
    auto file = NpyFile::Open(
        dir.Write("a.npy", NpyHeaderBytes(NpyDict("<i4", "(3,)") + "\n", major) + data));
    ASSERT_TRUE(file.ok()) << major << ": " << file.status();
    EXPECT_THAT(file->header().shape, ElementsAre(3));
  }
}

TEST(NpyTest, AcceptsWhatPythonMayWriteDifferently) {
  TempDir dir;
  for (const char* text : {
           "{'shape': (3L,), 'fortran_order': False, 'descr': '<i4'}",
           "{\"descr\":\"<i4\",\"fortran_order\":False,\"shape\":(3,)}",
           "  { 'descr' : '=i4' , 'fortran_order' : True , 'shape' : ( 3 , ) , }  \n",
       }) {
    auto file = NpyFile::Open(dir.Write("a.npy", NpyHeaderBytes(text) + std::string(12, '\0')));
    EXPECT_TRUE(file.ok()) << text << ": " << file.status();
  }
}

TEST(NpyTest, AcceptsAnArrayOfNoRows) {
  TempDir dir;
  for (const char* shape : {"(0,)", "(0, 7)", "(7, 0)"}) {
    auto file = NpyFile::Open(dir.Write("a.npy", NpyBytes("<f4", shape, "")));
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(file->element_count(), 0);
  }
}

TEST(NpyTest, WritesWhatItReads) {
  TempDir dir;
  const std::vector<int32_t> values = {1, -1, 2147483647, 0, 5, 6};
  const std::string path = dir.File("out.npy");
  ASSERT_TRUE(WriteNpy(path, NpyType::kInt32, {3, 2},
                       absl::MakeConstSpan(reinterpret_cast<const std::byte*>(values.data()), 24))
                  .ok());
  auto file = NpyFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->header().type, NpyType::kInt32);
  EXPECT_THAT(file->header().shape, ElementsAre(3, 2));
  std::vector<int32_t> read(6);
  ASSERT_TRUE(file->Read(0, 6, reinterpret_cast<std::byte*>(read.data())).ok());
  EXPECT_EQ(read, values);
}

TEST(NpyTest, WritesTheBytesThatNumpyWrites) {
  TempDir dir;
  ASSERT_TRUE(WriteNpy(dir.File("out.npy"), NpyType::kUint16, {2}, {}).ok());
  EXPECT_EQ(ReadWholeFile(dir.File("out.npy")), NpyBytes("<u2", "(2,)", ""));
}

TEST(NpyTest, WritesAHeaderThatKeepsDataAlignedForAnyShape) {
  for (int64_t rows : {0, 1, 99, 65536}) {
    for (int64_t columns : {1, 2048, 2097152}) {
      EXPECT_EQ(MakeNpyHeader(NpyType::kFloat32, {rows, columns}).size() % 64, 0u);
    }
  }
}

TEST(NpyTest, FailedWriteLeavesTheOldFileAndNothingElse) {
  TempDir dir;
  const std::string path = dir.Write("out.npy", "old");
  {
    const absl::Status status = WriteNpy(dir.File("none/out.npy"), NpyType::kInt32, {0}, {});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("none/out.npy: cannot be written"));
  }
  EXPECT_EQ(WriteNpy(dir.path(), NpyType::kInt32, {0}, {}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(WriteNpy("/dev/full", NpyType::kInt32, {0}, {}).code(), absl::StatusCode::kInternal);
  EXPECT_EQ(ReadWholeFile(path), "old");
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
    files += entry.exists();
  }
  EXPECT_EQ(files, 1);
}

TEST(NpyTest, WritesToADeviceWithoutReplacingIt) {
  ASSERT_TRUE(WriteNpy("/dev/null", NpyType::kInt32, {0}, {}).ok());
  struct stat state;
  ASSERT_EQ(stat("/dev/null", &state), 0);
  EXPECT_TRUE(S_ISCHR(state.st_mode));
}

TEST(NpyTest, FileThatShrinksWhileOpenIsAnErrorNotACrash) {
  TempDir dir;
  const std::string path = dir.Write("a.npy", NpyFloats(std::vector<float>(1000, 1.0f), {1000}));
  auto file = NpyFile::Open(path);
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(truncate(path.c_str(), 256), 0);
  std::vector<float> values(1000);
  const absl::Status status = file->Read(0, 1000, reinterpret_cast<std::byte*>(values.data()));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("became shorter"));
}

TEST(NpyTest, HugeSparseFileOpensWithoutBeingRead) {
  TempDir dir;
  const int64_t rows = int64_t{1} << 32;
  const std::string path = dir.Write("a.npy", NpyBytes("<f4", absl::StrCat("(", rows, ",)"), ""));
  const auto header_bytes = std::filesystem::file_size(path);
  ASSERT_EQ(truncate(path.c_str(), static_cast<off_t>(header_bytes) + rows * 4), 0);
  auto file = NpyFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->element_count(), rows);
  EXPECT_THAT(ReadFloats(*file, rows - 2, 2), ElementsAre(0, 0));
}

}  // namespace
}  // namespace winnow::cli
