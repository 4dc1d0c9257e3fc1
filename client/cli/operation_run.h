// Runs one operation over all rows of its files, request by request, and sums up.
// Next: the *_command.cc files, which say what a request holds.

#ifndef WINNOW_CLIENT_CLI_OPERATION_RUN_H_
#define WINNOW_CLIENT_CLI_OPERATION_RUN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/failure.h"
#include "client/cli/output_arrays.h"
#include "client/cli/report.h"
#include "client/cli/row_ranges.h"
#include "client/cli/session.h"
#include "winnow/client/client.h"

namespace winnow::cli {

// Sums over the requests of a run.
struct OperationTotals {
  client::Timing timing;
  client::RouteCounts routes;
  int64_t negative_rows = 0;
};

struct OperationRun {
  std::string command;
  std::string headline;         // "16 rows of up to 131,072 float32 scores, k 512"
  Json parameters;              // keys of the report between "command" and "routes"
  std::vector<int64_t> widths;  // scores of each row
  RowCosts costs;               // output_bytes is filled in from `outputs`
  std::vector<OutputArray> outputs;
  FieldSources sources;
  bool has_routes = false;
  // Makes one request and takes its result with Take.
  std::function<absl::Status(const client::Client& client, const RowRange& range)> call;

  OperationTotals totals;

  // Whether that output is wanted.
  client::Placement Want(absl::string_view name) const;

  // Adds a result's numbers and appends its matrices to the outputs.
  absl::Status Take(const client::TopKResult& result);
  absl::Status Take(const client::BlockAmaxResult& result);
  absl::Status Take(const client::SortCandidateBlocksResult& result);
  absl::Status Take(const client::PublishCandidatesResult& result);

 private:
  friend absl::StatusOr<Report> Run(OperationRun& run, const TargetOptions& target);
  using NamedMatrices = std::vector<std::pair<absl::string_view, const client::Matrix*>>;
  absl::Status TakeMatrices(const NamedMatrices& matrices);
  void Count(const client::Timing& timing, int64_t negative_rows,
             const client::RouteCounts& routes);
};

// Output files are made before the server is asked and put in their place after the last request.
// Errors: the first of any request, with the option at fault named.
absl::StatusOr<Report> Run(OperationRun& run, const TargetOptions& target);

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_OPERATION_RUN_H_
