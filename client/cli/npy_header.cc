#include "client/cli/npy_header.h"

#include <cstring>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/python_literal.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::cli {
namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);
constexpr int64_t kDataAlignment = 64;

absl::Status Bad(absl::string_view what) { return absl::InvalidArgumentError(what); }

uint32_t LittleEndian(absl::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

absl::Status NotNpy(absl::string_view prefix) {
  if (prefix.empty()) return Bad("empty file; save the array with np.save");
  if (prefix.substr(0, 2) == "PK") {
    return Bad("a .npz archive; save one array by itself with np.save");
  }
  return Bad("not an .npy file (no numpy magic bytes); save the array with np.save");
}

struct Advice {
  absl::string_view descr;  // without its byte order
  absl::string_view text;
};

constexpr Advice kAdvice[] = {
    {"f8", "float64; save it with .astype(np.float32)"},
    {"f2", "float16; save it with .astype(np.float32)"},
    {"i8", "int64; save it with .astype(np.int32)"},
    {"u8", "uint64; save it with .astype(np.int32)"},
    {"u4", "uint32; save it with .astype(np.int32)"},
    {"i2", "int16; save it with .astype(np.int32), or bfloat16 bits with .view(np.uint16)"},
    {"i1", "int8; save it with .astype(np.int32)"},
    {"u1", "uint8; save it with .astype(np.int32)"},
    {"b1", "bool; save it with .astype(np.int32)"},
    {"V2", "2-byte void, numpy's form of bfloat16; save its bits with .view(np.uint16)"},
    {"O", "an object array (pickled Python); save it with a fixed type, .astype(np.float32)"},
};

absl::StatusOr<NpyType> ParseType(absl::string_view descr) {
  char order = '=';
  absl::string_view kind = descr;
  if (!descr.empty() && absl::StrContains("<>|=", descr.substr(0, 1))) {
    order = descr[0];
    kind = descr.substr(1);
  }
  constexpr std::pair<absl::string_view, NpyType> kTypes[] = {
      {"f4", NpyType::kFloat32}, {"i4", NpyType::kInt32}, {"u2", NpyType::kUint16}};
  for (const auto& [name, type] : kTypes) {
    if (kind != name) continue;
    if (order == '<' || order == '=') return type;
    if (order == '>') return Bad(absl::StrCat("big-endian; save it with .astype('<", kind, "')"));
  }
  for (const Advice& advice : kAdvice) {
    if (kind == advice.descr) return Bad(advice.text);
  }
  return Bad(absl::StrCat("type '", absl::CEscape(descr.substr(0, 40)),
                          "'; float32, int32 and uint16 (bfloat16 bits) are read"));
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  return absl::StrCat("(", absl::StrJoin(shape, ", "), shape.size() == 1 ? ",)" : ")");
}

absl::Status CheckShape(NpyHeader& header) {
  const std::vector<int64_t>& shape = header.shape;
  if (shape.empty()) return Bad("a single number; an array of one or two dimensions is needed");
  if (shape.size() > 2) {
    return Bad(absl::StrCat("shape ", ShapeText(shape), " has ", shape.size(),
                            " dimensions; at most 2, save it with .reshape(rows, -1)"));
  }
  int64_t bytes = ItemSize(header.type);
  for (int64_t size : shape) {
    if (size < 0) return Bad(absl::StrCat("shape ", ShapeText(shape), " has a negative size"));
  }
  for (int64_t size : shape) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) {
      return Bad(absl::StrCat("shape ", ShapeText(shape), " overflows 63 bits"));
    }
  }
  header.data_bytes = bytes;
  return absl::OkStatus();
}

absl::StatusOr<NpyHeader> ParseEntries(absl::string_view text) {
  WINNOW_ASSIGN_OR_RETURN(const PythonDict dict, ParsePythonDict(text));
  if (!dict.has_descr || !dict.has_fortran_order || !dict.has_shape) {
    return Bad(
        "damaged header: it lacks 'descr', 'fortran_order' or 'shape'; save the array with "
        "np.save");
  }
  NpyHeader header;
  WINNOW_ASSIGN_OR_RETURN(header.type, ParseType(dict.descr));
  header.shape = dict.shape;
  // An array of one dimension is in both orders at once.
  if (dict.fortran_order && dict.shape.size() > 1) {
    return Bad("Fortran order; save it with np.ascontiguousarray(...)");
  }
  WINNOW_RETURN_IF_ERROR(CheckShape(header));
  return header;
}

}  // namespace

int64_t ItemSize(NpyType type) { return type == NpyType::kUint16 ? 2 : 4; }

absl::string_view Name(NpyType type) {
  switch (type) {
    case NpyType::kFloat32:
      return "float32";
    case NpyType::kInt32:
      return "int32";
    case NpyType::kUint16:
      break;
  }
  return "uint16";
}

absl::StatusOr<int64_t> NpyDataOffset(absl::string_view prefix) {
  if (prefix.substr(0, kMagic.size()) != kMagic.substr(0, prefix.size()) || prefix.size() < 2) {
    return NotNpy(prefix);
  }
  constexpr absl::string_view kCut = "the header is cut short; copy or save the file again";
  if (prefix.size() < 8) return Bad(kCut);
  const int major = static_cast<uint8_t>(prefix[6]);
  const int minor = static_cast<uint8_t>(prefix[7]);
  if (major < 1 || major > 3 || minor != 0) {
    return Bad(absl::StrCat("format version ", major, ".", minor,
                            "; 1.0, 2.0 and 3.0 are read, save it with a released numpy"));
  }
  const size_t length_bytes = major == 1 ? 2 : 4;
  if (prefix.size() < 8 + length_bytes) return Bad(kCut);
  const int64_t header_bytes = LittleEndian(prefix.substr(8, length_bytes));
  if (header_bytes > kMaxNpyHeaderBytes) {
    return Bad(absl::StrCat("a header of ", header_bytes, " bytes; at most ", kMaxNpyHeaderBytes,
                            ", save a plain array"));
  }
  return static_cast<int64_t>(8 + length_bytes) + header_bytes;
}

absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view bytes) {
  WINNOW_ASSIGN_OR_RETURN(const int64_t offset, NpyDataOffset(bytes.substr(0, 12)));
  if (static_cast<int64_t>(bytes.size()) != offset) {
    return Bad("the header is cut short; copy or save the file again");
  }
  const int64_t text_offset = bytes[6] == 1 ? 10 : 12;
  WINNOW_ASSIGN_OR_RETURN(NpyHeader header, ParseEntries(bytes.substr(text_offset)));
  header.data_offset = offset;
  return header;
}

std::string MakeNpyHeader(NpyType type, const std::vector<int64_t>& shape) {
  constexpr absl::string_view kDescr[] = {"<f4", "<i4", "<u2"};
  std::string text = absl::StrCat("{'descr': '", kDescr[static_cast<int>(type)],
                                  "', 'fortran_order': False, 'shape': ", ShapeText(shape), ", }");
  const size_t fixed_bytes = kMagic.size() + 4;
  while ((fixed_bytes + text.size() + 1) % kDataAlignment != 0) text += ' ';
  text += '\n';
  std::string header(kMagic);
  header +=
      {'\1', '\0', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

}  // namespace winnow::cli
