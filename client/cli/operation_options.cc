#include "client/cli/operation_options.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/file_writer.h"
#include "client/cli/option_checks.h"
#include "winnow/kernels/limits.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::cli {

void AddDTypeOption(CLI::App& command, std::string& dtype, absl::string_view why) {
  command
      .add_option(
          "--dtype", dtype,
          absl::StrCat("fp32 (or float32), or bf16 (or bfloat16: bits, saved\nas uint16); default ",
                       dtype, why))
      ->type_name("TYPE")
      ->transform(OneOf({"fp32", "bf16"}, {{"float32", "fp32"}, {"bfloat16", "bf16"}}))
      ->group("Input");
}

void AddScoreOptions(CLI::App& command, ScoreOptions& options) {
  command.add_option("--scores", options.scores, "Scores, a matrix [rows, columns]")
      ->type_name("FILE")
      ->required()
      ->group("Input");
  command
      .add_option(options.lengths_option, options.lengths,
                  "Scores in each row, int32; 0 or less: an empty row")
      ->type_name("FILE")
      ->required()
      ->group("Input");
  AddDTypeOption(command, options.dtype, options.dtype_why);
  command
      .add_flag("--ragged", options.ragged,
                "The scores have one dimension: rows one after another,\n"
                "each as long as its length says")
      ->group("Input");
}

DType DTypeOf(const std::string& option) {
  return option == "bf16" ? DType::kBfloat16 : DType::kFloat32;
}

absl::StatusOr<ScoreFile> OpenScores(const ScoreOptions& options,
                                     absl::Span<const int32_t> lengths) {
  return ScoreFile::Open({.path = options.scores,
                          .lengths_path = options.lengths,
                          .dtype = DTypeOf(options.dtype),
                          .ragged = options.ragged},
                         lengths);
}

void AddKOption(CLI::App& command, int32_t& k) {
  command
      .add_option("-k,--k", k,
                  absl::StrCat("Scores to keep in a row, 1 to ", kMaxK, "; default ", k))
      ->type_name("NUMBER")
      ->transform(WholeNumber(1, kMaxK))
      ->group("Operation");
}

void AddBlockSizeOption(CLI::App& command, int32_t& block_size, absl::string_view note) {
  command
      .add_option("--block-size", block_size,
                  absl::StrCat("Positions in a block, a power of two, ", kMinBlockSize, " to ",
                               kMaxBlockSize, "; default ", block_size, note))
      ->type_name("NUMBER")
      ->transform(PowerOfTwo(kMinBlockSize, kMaxBlockSize))
      ->group("Operation");
}

void AddSelectionOptions(CLI::App& command, SelectionOptions& options) {
  command
      .add_flag("--deterministic", options.deterministic,
                "Of equal scores at the boundary the lowest positions win,\n"
                "bit for bit the same in every run")
      ->group("Operation");
  command
      .add_option("--order", options.order,
                  "Of the results: any, position (ascending) or score\n(descending); default any")
      ->type_name("ORDER")
      ->check(OneOf({"any", "position", "score"}))
      ->group("Operation");
}

Order OrderOf(const SelectionOptions& options) {
  if (options.order == "position") return Order::kPosition;
  return options.order == "score" ? Order::kScore : Order::kAny;
}

void AddOutputOption(CLI::App& command, const std::string& name, std::string& path,
                     const std::string& what) {
  command.add_option(name, path, what)->type_name("FILE")->check(NotEmpty())->group("Output");
}

void AddPageOptions(CLI::App& command, PageOptions& options, bool with_rows) {
  CLI::Option* table =
      command.add_option("--page-table", options.table, "Page ids, int32 [rows, pages]")
          ->type_name("FILE")
          ->group("Pages");
  CLI::Option* size =
      command
          .add_option("--page-size", options.page_size,
                      absl::StrCat("Positions in a page, a power of two, 1 to ", kMaxPageSize))
          ->type_name("NUMBER")
          ->transform(PowerOfTwo(1, kMaxPageSize))
          ->needs(table)
          ->group("Pages");
  table->needs(size);
  command
      .add_option("--pool-pages", options.pool_pages,
                  "Pages of the pool: ids must be below it; default: not\nchecked")
      ->type_name("NUMBER")
      ->transform(WholeNumber(1, 2147483647))
      ->needs(table)
      ->group("Pages");
  if (!with_rows) return;
  command
      .add_option("--page-table-rows", options.table_rows,
                  "The table row of each score row, int32; default: its own")
      ->type_name("FILE")
      ->needs(table)
      ->group("Pages");
}

absl::StatusOr<PageTableInput> PageTableInput::Open(const PageOptions& options, int64_t rows,
                                                    const std::string& rows_path) {
  PageTableInput input;
  input.options_ = options;
  if (options.table.empty()) return input;
  WINNOW_ASSIGN_OR_RETURN(Int32MatrixFile file, Int32MatrixFile::Open(options.table, kMaxColumns));
  input.file_.emplace(std::move(file));
  if (options.table_rows.empty()) {
    WINNOW_RETURN_IF_ERROR(CheckSameRows(options.table, input.file_->rows(), rows_path, rows));
    return input;
  }
  WINNOW_ASSIGN_OR_RETURN(input.table_rows_, ReadInt32Column(options.table_rows, rows, rows_path));
  constexpr int64_t kMostBytes = int64_t{1} << 30;
  if (input.request_bytes() > kMostBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(ShowPath(options.table), ": ", input.request_bytes(), " bytes; at most ",
                     kMostBytes, " with --page-table-rows, keep only the table's rows in use"));
  }
  WINNOW_ASSIGN_OR_RETURN(input.table_, input.file_->Read(0, input.file_->rows()));
  return input;
}

int64_t PageTableInput::row_bytes() const {
  if (!file_.has_value()) return 0;
  return options_.table_rows.empty() ? file_->columns() * 4 : 4;
}

int64_t PageTableInput::request_bytes() const {
  if (!file_.has_value() || options_.table_rows.empty()) return 0;
  return file_->rows() * file_->columns() * 4;
}

absl::StatusOr<std::optional<client::PageTableView>> PageTableInput::View(const RowRange& range) {
  if (!file_.has_value()) return std::nullopt;
  client::PageTableView view{.page_size = options_.page_size, .pool_pages = options_.pool_pages};
  int64_t rows = file_->rows();
  if (options_.table_rows.empty()) {
    rows = range.count;
    WINNOW_ASSIGN_OR_RETURN(table_, file_->Read(range.first, range.count));
  } else {
    view.row_indices = RowsOf(table_rows_, range);
  }
  view.table = client::Int32Matrix(table_.data(), rows, file_->columns());
  return view;
}

FieldSources SourcesOf(const ScoreOptions& options) {
  const std::string lengths = absl::StrCat(options.lengths_option, " ", ShowPath(options.lengths));
  return {{"scores", absl::StrCat("--scores ", ShowPath(options.scores))},
          {"lengths", lengths},
          {"candidate_lengths", lengths}};
}

FieldSources SourcesOf(const PageOptions& options) {
  if (options.table.empty()) return {};
  FieldSources sources = {{"page_table", absl::StrCat("--page-table ", ShowPath(options.table))},
                          {"page_table.page_size", "--page-size"},
                          {"page_table.pool_page_count", "--pool-pages"},
                          {"page_table.pool_pages", "--pool-pages"}};
  const std::string rows = absl::StrCat("--page-table-rows ", ShowPath(options.table_rows));
  for (const char* field : {"page_table.row_indices", "page_table_rows"}) {
    if (!options.table_rows.empty()) sources.push_back({field, rows});
  }
  return sources;
}

}  // namespace winnow::cli
