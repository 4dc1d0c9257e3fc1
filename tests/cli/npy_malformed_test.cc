// Files that are no good: each is refused with one line that names the file, what is wrong with it,
// and where there is one the way out.

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "client/cli/npy.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/npy_bytes.h"
#include "tests/cli/temp_dir.h"

namespace winnow::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

struct MalformedFile {
  std::string name;
  std::string bytes;
  std::string expected;  // part of the message
};

// For GoogleTest, which would print bytes.
void PrintTo(const MalformedFile& file, std::ostream* out) { *out << file.name; }

std::string Huge(size_t size) { return NpyDict("<f4", "(1,)") + std::string(size, ' '); }

std::vector<MalformedFile> BadStarts() {
  const std::string good = NpyFloats({1, 2, 3, 4}, {4});
  std::string version = good;
  version[6] = 4;
  std::string minor = good;
  minor[7] = 1;
  return {
      {"Empty", "", "empty file"},
      {"OneByte", "\x93", "not an .npy file"},
      {"MagicCut", good.substr(0, 4), "cut short"},
      {"VersionCut", good.substr(0, 7), "cut short"},
      {"LengthCut", good.substr(0, 9), "cut short"},
      {"HeaderCut", good.substr(0, 60), "the header is cut short"},
      {"Text", "1.0 2.0 3.0\n4.0 5.0 6.0\n", "not an .npy file"},
      {"ZipArchive", "PK\3\4 and so on", ".npz archive"},
      {"VersionFour", version, "format version 4.0"},
      {"VersionOneOne", minor, "format version 1.1"},
      {"HeaderOf4GiB", std::string("\x93NUMPY\2\0\xff\xff\xff\xff", 12), "a header of 4294967295"},
      {"HeaderOf70000", NpyHeaderBytes(Huge(70000), 2) + "1234", "at most 65536"},
  };
}

std::vector<MalformedFile> BadDicts() {
  auto file = [](const std::string& text) { return NpyHeaderBytes(text) + "1234"; };
  return {
      {"NoDict", file("          \n"), "damaged header"},
      {"List", file("['<f4', False, (1,)]"), "no dictionary"},
      {"DictCut", file("{'descr': '<f4', 'fortran_order': False"), "does not end"},
      {"StringCut", file("{'descr': '<f4, "), "a string does not end"},
      {"NoDescr", file("{'fortran_order': False, 'shape': (1,)}"), "lacks 'descr'"},
      {"NoShape", file("{'descr': '<f4', 'fortran_order': False}"), "lacks"},
      {"UnknownKey", file("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}"),
       "unknown key 'x'"},
      {"KeyTwice", file("{'descr': '<f4', 'descr': '<i4', 'fortran_order': False, 'shape': (1,)}"),
       "'descr' stands twice"},
      {"TextAfter", file(NpyDict("<f4", "(1,)") + " import os"), "text after the dictionary"},
      {"OrderIsNoBool", file(NpyDict("<f4", "(1,)", "0")), "fortran_order is no truth value"},
      {"ShapeIsNoTuple", file(NpyDict("<f4", "1")), "no tuple of numbers"},
      {"ShapeOfWords", file(NpyDict("<f4", "(a,)")), "no tuple of numbers"},
      {"ShapeOfASuffixAlone", file(NpyDict("<f4", "(L,)")), "no tuple of numbers"},
      {"ShapeOfASignAlone", file(NpyDict("<f4", "(-,)")), "no tuple of numbers"},
      {"ShapeOfFloats", file(NpyDict("<f4", "(1.0,)")), "no tuple of numbers"},
      {"ShapeOf33",
       file(NpyDict("<f4",
                    "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
                    "1,1,1,1,1,1)")),
       "more than 32 dimensions"},
      {"ControlBytesInKey", file(std::string("{'\n\x01\x1b[2J': 1}")), "\\n\\001\\033[2J"},
  };
}

std::vector<MalformedFile> BadTypes() {
  auto file = [](const std::string& descr) { return NpyBytes(descr, "(1,)", "12345678"); };
  return {
      {"BigEndianFloat", file(">f4"), "big-endian; save it with .astype('<f4')"},
      {"BigEndianInt", file(">i4"), "big-endian; save it with .astype('<i4')"},
      {"Float64", file("<f8"), "float64; save it with .astype(np.float32)"},
      {"Float16", file("<f2"), "float16; save it with .astype(np.float32)"},
      {"Int64", file("<i8"), "int64; save it with .astype(np.int32)"},
      {"Uint32", file("<u4"), "uint32; save it with .astype(np.int32)"},
      {"Int16", file("<i2"), ".view(np.uint16)"},
      {"Bool", file("|b1"), "bool; save it"},
      {"Bfloat16OfMlDtypes", file("|V2"), "save its bits with .view(np.uint16)"},
      {"Objects", file("|O"), "object array"},
      {"Complex", file("<c8"), "type '<c8'"},
      {"String", file("<U5"), "type '<U5'"},
      {"NoType", file(""), "type ''"},
      {"Structured",
       NpyHeaderBytes("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}") + "1234",
       "a structured array"},
  };
}

std::vector<MalformedFile> BadShapes() {
  auto file = [](const std::string& shape) { return NpyBytes("<f4", shape, "1234"); };
  return {
      {"FortranOrder", NpyBytes("<f4", "(2, 2)", std::string(16, '\0'), "True"),
       "Fortran order; save it with np.ascontiguousarray(...)"},
      {"Scalar", file("()"), "a single number"},
      {"ThreeDimensions", file("(1, 1, 1)"), "at most 2, save it with .reshape(rows, -1)"},
      {"Negative", file("(-1,)"), "shape (-1,) has a negative size"},
      {"NegativeTwice", file("(-1, -1)"), "has a negative size"},
      {"ProductOverflows", file("(4611686018427387904, 4)"), "overflows 63 bits"},
      {"BytesOverflow", file("(4611686018427387904,)"), "overflows 63 bits"},
      {"SizeOverflows", file("(99999999999999999999,)"), "overflows 63 bits"},
      {"HugeWithoutData", file("(1000000, 1000000)"), "of the 4000000000000 bytes"},
      {"DataCut", NpyBytes("<f4", "(4,)", std::string(15, '\0')), "holds 15 of the 16 bytes"},
      {"NoData", NpyBytes("<f4", "(4,)", ""), "holds 0 of the 16 bytes"},
      {"TrailingBytes", NpyBytes("<f4", "(1,)", "12345"), "1 byte after the array"},
      {"TwoArrays", NpyFloats({1}, {1}) + NpyFloats({1}, {1}), "bytes after the array"},
      {"DataForNoRows", NpyBytes("<f4", "(0, 4)", "1234"), "4 bytes after the array"},
  };
}

std::vector<MalformedFile> AllMalformed() {
  std::vector<MalformedFile> all;
  for (const auto& group : {BadStarts(), BadDicts(), BadTypes(), BadShapes()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

class MalformedNpyTest : public ::testing::TestWithParam<MalformedFile> {};

TEST_P(MalformedNpyTest, IsRefusedWithOneClearLine) {
  TempDir dir;
  const std::string path = dir.Write("scores.npy", GetParam().bytes);
  auto file = NpyFile::Open(path);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().code(), absl::StatusCode::kInvalidArgument);
  const std::string message(file.status().message());
  EXPECT_THAT(message, HasSubstr(path + ": "));
  EXPECT_THAT(message, HasSubstr(GetParam().expected));
  EXPECT_THAT(message, Not(HasSubstr("\n")));
}

INSTANTIATE_TEST_SUITE_P(All, MalformedNpyTest, ::testing::ValuesIn(AllMalformed()),
                         [](const auto& info) { return info.param.name; });

std::string OpenError(const std::string& path) {
  auto file = NpyFile::Open(path);
  return file.ok() ? "opened" : std::string(file.status().message());
}

TEST(NpyPathTest, MissingFileIsNamed) {
  EXPECT_EQ(OpenError("no/such.npy"), "no/such.npy: no such file; check the path");
  EXPECT_THAT(OpenError(""), HasSubstr("no such file"));
}

TEST(NpyPathTest, DirectoryIsRefused) {
  TempDir dir;
  EXPECT_THAT(OpenError(dir.path()), HasSubstr("a directory; name an .npy file"));
}

TEST(NpyPathTest, PipeWithoutAWriterIsRefusedAtOnce) {
  TempDir dir;
  ASSERT_EQ(mkfifo(dir.File("pipe").c_str(), 0600), 0);
  EXPECT_THAT(OpenError(dir.File("pipe")), HasSubstr("a pipe; save it to a file first"));
}

TEST(NpyPathTest, SocketIsRefused) {
  TempDir dir;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, dir.File("s").c_str(), sizeof(address.sun_path) - 1);
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_THAT(OpenError(dir.File("s")), HasSubstr("a pipe"));
  close(listener);
}

TEST(NpyPathTest, DevicesAreRefused) {
  EXPECT_THAT(OpenError("/dev/zero"), HasSubstr("a device; name an .npy file"));
  EXPECT_THAT(OpenError("/dev/null"), HasSubstr("a device"));
}

TEST(NpyPathTest, ControlCharactersOfAPathAreEscaped) {
  EXPECT_THAT(OpenError("a\n\x1b[2Jb"), ::testing::StartsWith("a\\n\\033[2Jb: "));
}

TEST(NpyPathTest, UnreadableFileIsRefused) {
  if (geteuid() == 0) GTEST_SKIP() << "root reads every file";
  TempDir dir;
  const std::string path = dir.Write("a.npy", NpyFloats({1}, {1}));
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  EXPECT_THAT(OpenError(path), EndsWith("Permission denied"));
}

TEST(NpyFuzzTest, DamagedFilesAreRefusedOrReadNeverMore) {
  constexpr unsigned kSeed = 20261;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  TempDir dir;
  const std::string good = NpyFloats({1, 2, 3, 4, 5, 6, 7, 8}, {2, 4});
  int opened = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = good;
    for (unsigned edit = 0, edits = 1 + random() % 3; edit < edits; ++edit) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    auto file = NpyFile::Open(dir.Write("a.npy", bytes));
    if (!file.ok()) continue;
    ++opened;
    std::string data(static_cast<size_t>(file->header().data_bytes), '\0');
    EXPECT_LE(data.size(), bytes.size());
    EXPECT_TRUE(
        file->Read(0, file->element_count(), reinterpret_cast<std::byte*>(data.data())).ok());
  }
  EXPECT_GT(opened, 0) << "edits of the data alone leave a good file";
}

}  // namespace
}  // namespace winnow::cli
