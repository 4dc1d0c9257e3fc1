#include "client/cli/output_arrays.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/npy_header.h"
#include "winnow/kernels/count_text.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::cli {
namespace {

constexpr int64_t kHeadRows = 4;
constexpr int64_t kHeadColumns = 8;

NpyType FileType(DType dtype) {
  switch (dtype) {
    case DType::kInt32:
      return NpyType::kInt32;
    case DType::kBfloat16:
      return NpyType::kUint16;
    default:
      return NpyType::kFloat32;
  }
}

float FloatOfBfloat16(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  memcpy(&value, &wide, sizeof(value));
  return value;
}

// A number; JSON has none for infinities and NaN, which are the words "inf", "-inf" and "nan".
Json JsonOf(float value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

Json ValueOf(const client::Matrix& matrix, int64_t row, int64_t column) {
  const size_t at = static_cast<size_t>(column);
  switch (matrix.dtype()) {
    case DType::kInt32:
      return matrix.row<int32_t>(row)[at];
    case DType::kBfloat16:
      return JsonOf(FloatOfBfloat16(matrix.row<uint16_t>(row)[at]));
    default:
      return JsonOf(matrix.row<float>(row)[at]);
  }
}

void AppendText(std::string* text, const Json& value) {
  absl::StrAppend(text, value.is_number_float() ? absl::StrFormat("%g", value.get<double>())
                        : value.is_string()     ? value.get<std::string>()
                                                : value.dump());
}

}  // namespace

std::string OutputArray::DTypeText() const {
  return spec_.dtype == DType::kBfloat16 ? "uint16" : std::string(Name(spec_.dtype));
}

absl::Status OutputArray::Begin(int64_t rows) {
  rows_ = rows;
  if (spec_.path.empty()) return absl::OkStatus();
  WINNOW_ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Create(spec_.path));
  writer_.emplace(std::move(writer));
  return writer_->Append(MakeNpyHeader(FileType(spec_.dtype), {rows, spec_.columns}));
}

absl::Status OutputArray::Append(const client::Matrix& matrix) {
  if (matrix.rows() > 0 && (matrix.dtype() != spec_.dtype || matrix.columns() != spec_.columns)) {
    return absl::InternalError(
        absl::StrCat("the server gave ", spec_.name, " of ",
                     CountText(matrix.columns(), absl::StrCat(Name(matrix.dtype()), " column")),
                     "; expected were ", spec_.columns, " of ", Name(spec_.dtype)));
  }
  appended_rows_ += matrix.rows();
  KeepHead(matrix);
  if (!writer_.has_value()) return absl::OkStatus();
  return writer_->Append(absl::string_view(matrix.bytes().data(), matrix.bytes().size()));
}

void OutputArray::KeepHead(const client::Matrix& matrix) {
  for (int64_t row = 0; row < matrix.rows() && head_.size() < kHeadRows; ++row) {
    std::vector<Json>& values = head_.emplace_back();
    for (int64_t column = 0; column < std::min(spec_.columns, kHeadColumns); ++column) {
      values.push_back(ValueOf(matrix, row, column));
    }
  }
}

absl::Status OutputArray::Commit() {
  if (appended_rows_ != rows_) {
    return absl::InternalError(absl::StrCat("the server gave ", CountText(appended_rows_, "row"),
                                            " of ", spec_.name, "; expected were ", rows_));
  }
  return writer_.has_value() ? writer_->Commit() : absl::OkStatus();
}

std::string OutputArray::Text() const {
  const std::string kind = absl::StrCat(DTypeText(), " (", rows_, ", ", spec_.columns, ")");
  if (!spec_.path.empty())
    return absl::StrCat("wrote ", ShowPath(spec_.path), ": ", spec_.name, ", ", kind, "\n");
  std::string text =
      absl::StrCat(spec_.name, ", ", kind, "; no file was asked for, it starts with\n");
  for (size_t row = 0; row < head_.size(); ++row) {
    absl::StrAppend(&text, "  row ", row, ": ", absl::StrJoin(head_[row], " ", AppendText),
                    spec_.columns > kHeadColumns ? " ...\n" : "\n");
  }
  if (rows_ > kHeadRows) absl::StrAppend(&text, "  ...\n");
  return text;
}

Json OutputArray::ToJson() const {
  Json json = {{"dtype", DTypeText()}, {"shape", {rows_, spec_.columns}}};
  if (spec_.path.empty()) {
    json["head"] = head_;
  } else {
    json["path"] = spec_.path;
  }
  return json;
}

std::vector<OutputArray> WantedOutputs(const std::vector<OutputSpec>& possible,
                                       const std::vector<std::string>& shown) {
  const bool any_path = std::any_of(possible.begin(), possible.end(),
                                    [](const OutputSpec& spec) { return !spec.path.empty(); });
  std::vector<OutputArray> wanted;
  for (const OutputSpec& spec : possible) {
    const bool show = std::find(shown.begin(), shown.end(), spec.name) != shown.end();
    if (any_path ? !spec.path.empty() : show) wanted.emplace_back(spec);
  }
  return wanted;
}

absl::Status CheckDistinctPaths(const std::vector<OutputArray>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (outputs[i].path().empty() || outputs[i].path() != outputs[j].path()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(ShowPath(outputs[i].path()), ": named for both ", outputs[j].name(), " and ",
                       outputs[i].name(), "; give each its own file"));
    }
  }
  return absl::OkStatus();
}

}  // namespace winnow::cli
