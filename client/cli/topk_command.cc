// winnow topk: the k largest scores of each row.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/file_writer.h"
#include "client/cli/input_arrays.h"
#include "client/cli/operation_options.h"
#include "client/cli/operation_run.h"
#include "client/cli/option_checks.h"
#include "client/cli/session.h"
#include "winnow/kernels/plain_number.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::cli {
namespace {

constexpr char kExample[] =
    "Example:\n"
    "  winnow topk --scores scores.npy --lengths lengths.npy --k 512 --deterministic \\\n"
    "              --out-indices indices.npy\n"
    "Results past a row's scores are -1, values -inf. Without an --out option the first\n"
    "results are shown.\n";

struct TopKOptions {
  TargetOptions target;
  ScoreOptions scores;
  int32_t k = 512;
  SelectionOptions selection;
  PageOptions pages;
  std::string row_starts;
  std::string index_offsets;
  std::string plan = "none";
  std::string out_indices;
  std::string out_slots;
  std::string out_values;
};

// What a request reads besides the scores, whole; requests take their rows of it.
struct TopKInputs {
  std::vector<int32_t> lengths;
  std::vector<int32_t> row_starts;
  std::vector<int32_t> index_offsets;
  std::vector<std::byte> score_bytes;
};

// Absent without the option; a file of no rows gives no requests that need it.
client::TensorRef Optional(const std::vector<int32_t>& values, const RowRange& range) {
  return values.empty() ? client::TensorRef() : RowsOf(values, range);
}

std::optional<int32_t> ThresholdOf(const std::string& plan) {
  if (plan == "none") return std::nullopt;
  int32_t threshold = -1;
  return plan != "auto" && ParsePlainNumber(plan, threshold) ? threshold : -1;
}

absl::Status CheckOptions(const TopKOptions& options) {
  const bool outputs =
      !options.out_indices.empty() || !options.out_values.empty() || !options.out_slots.empty();
  if (options.pages.table.empty() && !options.out_slots.empty()) {
    return absl::InvalidArgumentError("--out-slots: needs --page-table and --page-size");
  }
  if (!options.pages.table.empty() && outputs && options.out_slots.empty()) {
    return absl::InvalidArgumentError(
        "--page-table: only slots use it; add --out-slots or leave it out");
  }
  if (options.scores.ragged && !options.row_starts.empty()) {
    return absl::InvalidArgumentError(
        "--row-starts: is for a matrix of scores; leave it out with --ragged");
  }
  return absl::OkStatus();
}

absl::StatusOr<TopKInputs> ReadInputs(const TopKOptions& options) {
  TopKInputs inputs;
  WINNOW_ASSIGN_OR_RETURN(inputs.lengths, ReadInt32Column(options.scores.lengths));
  const int64_t rows = static_cast<int64_t>(inputs.lengths.size());
  if (!options.row_starts.empty()) {
    WINNOW_ASSIGN_OR_RETURN(inputs.row_starts,
                            ReadInt32Column(options.row_starts, rows, options.scores.lengths));
  }
  if (!options.index_offsets.empty()) {
    WINNOW_ASSIGN_OR_RETURN(inputs.index_offsets,
                            ReadInt32Column(options.index_offsets, rows, options.scores.lengths));
  }
  return inputs;
}

FieldSources Sources(const TopKOptions& options) {
  FieldSources sources = SourcesOf(options.scores);
  const FieldSources pages = SourcesOf(options.pages);
  sources.insert(sources.end(), pages.begin(), pages.end());
  sources.push_back({"row_starts", absl::StrCat("--row-starts ", ShowPath(options.row_starts))});
  sources.push_back(
      {"index_offsets", absl::StrCat("--index-offsets ", ShowPath(options.index_offsets))});
  return sources;
}

OperationRun MakeRun(const TopKOptions& options, const ScoreFile& scores) {
  OperationRun run;
  run.command = "topk";
  run.headline =
      absl::StrCat("top ", options.k, " of ", Counted(scores.rows(), "row"), " of up to ",
                   Counted(scores.widest(), absl::StrCat(Name(scores.dtype()), " score")));
  run.parameters = {{"columns", scores.widest()},
                    {"dtype", std::string(Name(scores.dtype()))},
                    {"k", options.k},
                    {"deterministic", options.selection.deterministic}};
  run.widths = scores.widths();
  run.outputs = WantedOutputs({OutputSpec{"indices", options.out_indices, DType::kInt32, options.k},
                               OutputSpec{"slots", options.out_slots, DType::kInt32, options.k},
                               OutputSpec{"values", options.out_values, scores.dtype(), options.k}},
                              {options.pages.table.empty() ? "indices" : "slots"});
  run.sources = Sources(options);
  run.has_routes = true;
  return run;
}

absl::StatusOr<Report> RunTopK(const TopKOptions& options) {
  WINNOW_RETURN_IF_ERROR(CheckOptions(options));
  WINNOW_ASSIGN_OR_RETURN(TopKInputs inputs, ReadInputs(options));
  WINNOW_ASSIGN_OR_RETURN(const ScoreFile scores, OpenScores(options.scores, inputs.lengths));
  WINNOW_ASSIGN_OR_RETURN(PageTableInput pages, PageTableInput::Open(options.pages, scores.rows(),
                                                                     options.scores.lengths));
  OperationRun run = MakeRun(options, scores);
  run.costs = {.score_bytes = SizeOf(scores.dtype()),
               .input_bytes = 12 + pages.row_bytes(),
               .request_bytes = pages.request_bytes()};
  run.call = [&](const client::Client& client, const RowRange& range) -> absl::Status {
    WINNOW_ASSIGN_OR_RETURN(const client::MatrixView view, scores.Read(range, inputs.score_bytes));
    WINNOW_ASSIGN_OR_RETURN(const auto page_table, pages.View(range));
    WINNOW_ASSIGN_OR_RETURN(const client::TopKResult result,
                            client.TopK({.scores = view,
                                         .lengths = RowsOf(inputs.lengths, range),
                                         .k = options.k,
                                         .row_starts = Optional(inputs.row_starts, range),
                                         .index_offsets = Optional(inputs.index_offsets, range),
                                         .page_table = page_table,
                                         .order = OrderOf(options.selection),
                                         .deterministic = options.selection.deterministic,
                                         .indices = run.Want("indices"),
                                         .slots = run.Want("slots"),
                                         .values = run.Want("values"),
                                         .static_threshold = ThresholdOf(options.plan)}));
    return run.Take(result);
  };
  return Run(run, options.target);
}

std::string CheckPlan(std::string& text) {
  if (text == "auto" || text == "none") return "";
  return WholeNumber(0, 2147483647)(text).empty()
             ? ""
             : absl::StrCat("'", ShowPath(text), "' is not auto, none or a length of 0 or more");
}

}  // namespace

void AddTopKCommand(CLI::App& root, Commands& commands) {
  auto options = std::make_shared<TopKOptions>();
  CLI::App* command = root.add_subcommand("topk", "The k largest scores of each row, exactly");
  AddScoreOptions(*command, options->scores);
  command
      ->add_option("--row-starts", options->row_starts,
                   "First column of each row's scores, int32; default 0")
      ->type_name("FILE")
      ->group("Input");
  command
      ->add_option("--index-offsets", options->index_offsets,
                   "Added to the positions in --out-indices, int32; default 0")
      ->type_name("FILE")
      ->group("Input");
  AddKOption(*command, options->k);
  AddSelectionOptions(*command, options->selection);
  command
      ->add_option("--plan", options->plan,
                   "Rows that share several threads or blocks: auto (the\n"
                   "server's plan), those longer than a LENGTH, or none\n"
                   "(as the server likes); default none")
      ->type_name("auto|none|LENGTH")
      ->check(CLI::Validator(CheckPlan, "", ""))
      ->group("Operation");
  AddPageOptions(*command, options->pages, /*with_rows=*/true);
  AddOutputOption(*command, "--out-indices", options->out_indices, "Positions, int32 [rows, k]");
  AddOutputOption(*command, "--out-slots", options->out_slots,
                  "Slots by the page table, int32 [rows, k]");
  AddOutputOption(*command, "--out-values", options->out_values,
                  "The scores, in their type [rows, k]");
  AddTargetOptions(*command, options->target);
  command->footer(kExample);
  commands.push_back({command, &options->target.json, [options] { return RunTopK(*options); }});
}

}  // namespace winnow::cli
