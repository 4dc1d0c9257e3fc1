#include "client/loadgen/trace.h"

#include <algorithm>
#include <bit>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "winnow/kernels/count_text.h"
#include "winnow/kernels/limits.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::stress {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMostFileBytes = int64_t{256} << 20;
constexpr int64_t kLongestMicros = int64_t{24} * 3600 * 1000000;
constexpr int64_t kMostMatrixBytes = int64_t{1} << 30;

absl::Status Bad(absl::string_view what) { return absl::InvalidArgumentError(what); }

// The keys of one object, each taken once; what is left is a misspelling.
class Fields {
 public:
  explicit Fields(const Json& json) : json_(json) {}

  bool Has(const char* key) const { return json_.contains(key); }
  const Json& Take(const char* key) {
    taken_.insert(key);
    return json_[key];
  }
  // A whole number in [low, high]; `value` stays when the key is absent and not required.
  template <typename Number>
  absl::Status Whole(const char* key, bool required, int64_t low, int64_t high, Number& value) {
    if (!Has(key)) {
      return required ? Bad(absl::StrCat(key, " is missing")) : absl::OkStatus();
    }
    const Json& found = Take(key);
    const bool fits = found.is_number_integer() &&
                      (!found.is_number_unsigned() ||
                       found.get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()}) &&
                      found.get<int64_t>() >= low && found.get<int64_t>() <= high;
    if (!fits) {
      return Bad(absl::StrCat(key, " is ", found.dump(), "; it takes a whole number from ", low,
                              " to ", high));
    }
    value = static_cast<Number>(found.get<int64_t>());
    return absl::OkStatus();
  }
  absl::Status NoneLeft() const {
    for (const auto& [key, value] : json_.items()) {
      if (!taken_.contains(key)) return Bad(absl::StrCat("the key ", key, " is unknown here"));
    }
    return absl::OkStatus();
  }

 private:
  const Json& json_;
  std::set<std::string> taken_;
};

absl::Status ReadOperation(Fields& fields, Shape& shape) {
  constexpr std::pair<absl::string_view, Operation> kNames[] = {
      {"topk", Operation::kTopK},
      {"block_amax", Operation::kBlockAmax},
      {"publish", Operation::kPublish},
      {"consume", Operation::kConsume}};
  if (!fields.Has("op")) return Bad("op is missing");
  const Json& found = fields.Take("op");
  for (const auto& [name, operation] : kNames) {
    if (found != std::string(name)) continue;
    shape.operation = operation;
    return absl::OkStatus();
  }
  return Bad(absl::StrCat("op is ", found.dump(), "; it takes topk, block_amax, publish, consume"));
}

absl::Status ReadOptions(Fields& fields, Shape& shape) {
  if (fields.Has("dtype")) {
    const Json& found = fields.Take("dtype");
    if (found != "float32" && found != "bfloat16") {
      return Bad(absl::StrCat("dtype is ", found.dump(), "; it takes float32 or bfloat16"));
    }
    shape.dtype = found == "float32" ? DType::kFloat32 : DType::kBfloat16;
  }
  if (fields.Has("deterministic")) {
    const Json& found = fields.Take("deterministic");
    if (!found.is_boolean()) return Bad("deterministic takes true or false");
    shape.deterministic = found.get<bool>();
  }
  return absl::OkStatus();
}

bool IsPowerOfTwo(int32_t value) { return std::has_single_bit(static_cast<uint32_t>(value)); }

// Each operation has its own sizes; others' are unknown keys.
absl::Status ReadSizes(Fields& fields, Shape& shape) {
  const bool is_top_k = shape.operation == Operation::kTopK;
  const bool consumes = shape.operation == Operation::kConsume;
  const bool two_level = consumes || shape.operation == Operation::kPublish;
  WINNOW_RETURN_IF_ERROR(fields.Whole("rows", true, 1, kMaxRows, shape.rows));
  if (is_top_k || two_level) {
    WINNOW_RETURN_IF_ERROR(fields.Whole("k", true, 1, kMaxK, shape.k));
  }
  if (!is_top_k) {
    WINNOW_RETURN_IF_ERROR(fields.Whole("block_size", true, 2, 128, shape.block_size));
    if (!IsPowerOfTwo(shape.block_size)) return Bad("block_size is no power of two");
  }
  if (two_level) {
    WINNOW_RETURN_IF_ERROR(fields.Whole("k_blocks", true, 1, kMaxK, shape.k_blocks));
  }
  if (consumes) {
    shape.columns = shape.k_blocks * shape.block_size;
    return absl::OkStatus();
  }
  WINNOW_RETURN_IF_ERROR(fields.Whole("columns", true, 1, kMaxColumns, shape.columns));
  if (shape.operation == Operation::kBlockAmax) return absl::OkStatus();
  WINNOW_RETURN_IF_ERROR(fields.Whole("page_size", two_level, 1, 65536, shape.page_size));
  if (shape.page_size > 0 && !IsPowerOfTwo(shape.page_size)) {
    return Bad("page_size is no power of two");
  }
  if (two_level && shape.page_size < shape.block_size) return Bad("page_size is below block_size");
  return absl::OkStatus();
}

// One number for all rows, one for each, or {"first": a, "step": b}: a, a + b, a + 2b...
absl::Status ReadLengths(Fields& fields, TraceEntry& entry) {
  if (!fields.Has("lengths")) return Bad("lengths is missing");
  const Json& found = fields.Take("lengths");
  const int32_t rows = entry.shape.rows, columns = entry.shape.columns;
  std::vector<int64_t> lengths;
  int64_t first = 0, step = 0;
  if (found.is_array()) {
    for (const Json& length : found) {
      if (!length.is_number_integer()) return Bad("lengths has something that is no whole number");
      lengths.push_back(length.get<int64_t>());
    }
  } else {
    if (found.is_object()) {
      Fields parts(found);
      WINNOW_RETURN_IF_ERROR(parts.Whole("first", true, 0, kMaxColumns, first));
      WINNOW_RETURN_IF_ERROR(parts.Whole("step", true, -kMaxColumns, kMaxColumns, step));
      WINNOW_RETURN_IF_ERROR(parts.NoneLeft());
    } else {
      WINNOW_RETURN_IF_ERROR(fields.Whole("lengths", true, 0, columns, first));
    }
    for (int32_t row = 0; row < rows; ++row) lengths.push_back(first + row * step);
  }
  if (lengths.size() != static_cast<size_t>(rows)) {
    return Bad(absl::StrCat("lengths has ",
                            CountText(static_cast<int64_t>(lengths.size()), "number"), " for ",
                            CountText(rows, "row")));
  }
  for (const int64_t length : lengths) {
    if (length < 0 || length > columns) {
      return Bad(absl::StrCat("lengths has ", length, "; a row holds 0 to ", columns));
    }
    entry.lengths.push_back(static_cast<int32_t>(length));
  }
  return absl::OkStatus();
}

absl::Status ReadEntry(const Json& json, TraceEntry& entry) {
  Fields fields(json);
  int64_t micros = 0;
  WINNOW_RETURN_IF_ERROR(fields.Whole("t_us", true, 0, kLongestMicros, micros));
  entry.at = absl::Microseconds(micros);
  WINNOW_RETURN_IF_ERROR(ReadOperation(fields, entry.shape));
  WINNOW_RETURN_IF_ERROR(ReadOptions(fields, entry.shape));
  WINNOW_RETURN_IF_ERROR(ReadSizes(fields, entry.shape));
  const Shape& shape = entry.shape;
  if (int64_t{shape.rows} * shape.columns * SizeOf(shape.dtype) > kMostMatrixBytes) {
    return Bad(absl::StrCat("rows x columns is more than ", kMostMatrixBytes, " bytes"));
  }
  WINNOW_RETURN_IF_ERROR(ReadLengths(fields, entry));
  return fields.NoneLeft();
}

absl::Status ReadHeader(const Json& json, Trace& trace) {
  Fields fields(json);
  int64_t version = 0, period = 0;
  if (!fields.Has("winnow_trace")) return Bad("a trace begins with {\"winnow_trace\": 1, ...}");
  WINNOW_RETURN_IF_ERROR(fields.Whole("winnow_trace", true, 1, 1, version));
  WINNOW_RETURN_IF_ERROR(fields.Whole("period_us", true, 1, kLongestMicros, period));
  if (!fields.Has("origin") || !fields.Take("origin").is_string()) {
    return Bad("origin is missing: say how the trace came to be");
  }
  trace.origin = fields.Take("origin").get<std::string>();
  trace.period = absl::Microseconds(period);
  return fields.NoneLeft();
}

absl::Status ReadLine(absl::string_view line, bool is_header, Trace& trace) {
  const Json json = Json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return Bad("no JSON object");
  if (is_header) return ReadHeader(json, trace);
  TraceEntry entry;
  WINNOW_RETURN_IF_ERROR(ReadEntry(json, entry));
  if (!trace.entries.empty() && entry.at < trace.entries.back().at) {
    return Bad("t_us is less than that of the line before");
  }
  if (entry.at > trace.period) return Bad("t_us is more than period_us");
  trace.entries.push_back(std::move(entry));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Trace> ParseTrace(absl::string_view text) {
  Trace trace;
  int64_t number = 0;
  bool is_header = true;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (line.find_first_not_of(" \t\r") == absl::string_view::npos) continue;
    const absl::Status read = ReadLine(line, is_header, trace);
    if (!read.ok()) return Bad(absl::StrCat("line ", number, ": ", read.message()));
    is_header = false;
  }
  if (trace.entries.empty()) return Bad("there is no request in it");
  return trace;
}

absl::StatusOr<Trace> ReadTrace(const std::string& path) {
  std::ifstream file(path, std::ios::ate);
  if (!file) return Bad(absl::StrCat("cannot read the trace ", path));
  if (file.tellg() > kMostFileBytes) {
    return Bad(absl::StrCat(path, " is larger than ", kMostFileBytes, " bytes"));
  }
  file.seekg(0);
  std::stringstream text;
  text << file.rdbuf();
  absl::StatusOr<Trace> trace = ParseTrace(text.str());
  if (!trace.ok()) return Bad(absl::StrCat(path, ", ", trace.status().message()));
  return trace;
}

}  // namespace winnow::stress
