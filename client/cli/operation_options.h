// Options that several operations share, and the inputs that they name.

#ifndef WINNOW_CLIENT_CLI_OPERATION_OPTIONS_H_
#define WINNOW_CLIENT_CLI_OPERATION_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "client/cli/failure.h"
#include "client/cli/input_arrays.h"
#include "winnow/client/tensor.h"
#include "winnow/kernels/operations.h"

namespace winnow::cli {

struct ScoreOptions {
  std::string scores;
  std::string lengths;
  std::string lengths_option = "--lengths";
  std::string dtype = "fp32";
  std::string dtype_why;  // ends the help of --dtype: why that is the default
  bool ragged = false;
};
void AddScoreOptions(CLI::App& command, ScoreOptions& options);
// `why` and `note` end the option's help.
void AddDTypeOption(CLI::App& command, std::string& dtype, absl::string_view why = "");
// "fp32" or "bf16"; the parser lets nothing else through.
DType DTypeOf(const std::string& option);
absl::StatusOr<ScoreFile> OpenScores(const ScoreOptions& options,
                                     absl::Span<const int32_t> lengths);

void AddKOption(CLI::App& command, int32_t& k);
void AddBlockSizeOption(CLI::App& command, int32_t& block_size, absl::string_view note = "");

struct SelectionOptions {
  bool deterministic = false;
  std::string order = "any";
};
void AddSelectionOptions(CLI::App& command, SelectionOptions& options);
Order OrderOf(const SelectionOptions& options);

// An option that names a file to write.
void AddOutputOption(CLI::App& command, const std::string& name, std::string& path,
                     const std::string& what);

struct PageOptions {
  std::string table;
  int32_t page_size = 0;
  int32_t pool_pages = 0;
  std::string table_rows;
};
// `with_rows`: also --page-table-rows.
void AddPageOptions(CLI::App& command, PageOptions& options, bool with_rows);

// The page table that a command was given, cut as its requests are.
class PageTableInput {
 public:
  // `rows` and `rows_path`: of the scores. Without options.table nothing is opened.
  static absl::StatusOr<PageTableInput> Open(const PageOptions& options, int64_t rows,
                                             const std::string& rows_path);

  // Bytes that each row adds to a request, and that each request carries besides.
  int64_t row_bytes() const;
  int64_t request_bytes() const;
  // nullopt without a table. Valid until the next call.
  absl::StatusOr<std::optional<client::PageTableView>> View(const RowRange& range);

 private:
  PageOptions options_;
  std::optional<Int32MatrixFile> file_;
  std::vector<int32_t> table_rows_;  // with --page-table-rows: every request has the whole table
  std::vector<int32_t> table_;
};

// The options behind the fields of requests, for messages.
FieldSources SourcesOf(const ScoreOptions& options);
FieldSources SourcesOf(const PageOptions& options);

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_OPERATION_OPTIONS_H_
