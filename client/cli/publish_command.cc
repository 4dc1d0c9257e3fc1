// winnow publish: the source layer's chain, token slots and candidate blocks from one matrix.

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/input_arrays.h"
#include "client/cli/operation_options.h"
#include "client/cli/operation_run.h"
#include "client/cli/option_checks.h"
#include "client/cli/session.h"
#include "winnow/kernels/limits.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::cli {
namespace {

constexpr char kExample[] =
    "Example:\n"
    "  winnow publish --scores scores.npy --lengths lengths.npy --k 512 --k-blocks 2048 \\\n"
    "                 --page-table pages.npy --page-size 64 --out-slots slots.npy \\\n"
    "                 --out-blocks blocks.npy --out-block-slots block_slots.npy \\\n"
    "                 --out-candidate-lengths candidate_lengths.npy\n"
    "The last two are what 'winnow consume' takes.\n";

struct PublishOptions {
  TargetOptions target;
  ScoreOptions scores;
  int32_t k = 512;
  int32_t k_blocks = 2048;
  int32_t block_size = kDefaultBlockSize;
  SelectionOptions selection;
  PageOptions pages;
  std::string out_slots;
  std::string out_indices;
  std::string out_blocks;
  std::string out_block_slots;
  std::string out_candidate_lengths;
};

OperationRun MakeRun(const PublishOptions& options, const ScoreFile& scores) {
  OperationRun run;
  run.command = "publish";
  run.headline = absl::StrCat(
      "top ", Counted(options.k, "token"), " and top ", Counted(options.k_blocks, "block"), " of ",
      options.block_size, ", ", Counted(scores.rows(), "row"), " of up to ",
      Counted(scores.widest(), absl::StrCat(Name(scores.dtype()), " score")));
  run.parameters = {{"columns", scores.widest()},
                    {"dtype", std::string(Name(scores.dtype()))},
                    {"k", options.k},
                    {"k_blocks", options.k_blocks},
                    {"block_size", options.block_size},
                    {"deterministic", options.selection.deterministic}};
  run.widths = scores.widths();
  run.outputs = WantedOutputs(
      {OutputSpec{"slots", options.out_slots, DType::kInt32, options.k},
       OutputSpec{"indices", options.out_indices, DType::kInt32, options.k},
       OutputSpec{"blocks", options.out_blocks, DType::kInt32, options.k_blocks},
       OutputSpec{"block_slots", options.out_block_slots, DType::kInt32, options.k_blocks},
       OutputSpec{"candidate_lengths", options.out_candidate_lengths, DType::kInt32, 1}},
      {"slots", "blocks", "candidate_lengths"});
  run.sources = SourcesOf(options.scores);
  const FieldSources pages = SourcesOf(options.pages);
  run.sources.insert(run.sources.end(), pages.begin(), pages.end());
  run.has_routes = true;
  return run;
}

absl::StatusOr<Report> RunPublish(const PublishOptions& options) {
  WINNOW_ASSIGN_OR_RETURN(const std::vector<int32_t> lengths,
                          ReadInt32Column(options.scores.lengths));
  WINNOW_ASSIGN_OR_RETURN(const ScoreFile scores, OpenScores(options.scores, lengths));
  WINNOW_ASSIGN_OR_RETURN(PageTableInput pages, PageTableInput::Open(options.pages, scores.rows(),
                                                                     options.scores.lengths));
  OperationRun run = MakeRun(options, scores);
  run.costs = {.score_bytes = SizeOf(scores.dtype()),
               .input_bytes = 4 + pages.row_bytes(),
               .request_bytes = pages.request_bytes()};
  std::vector<std::byte> bytes;
  run.call = [&](const client::Client& client, const RowRange& range) -> absl::Status {
    WINNOW_ASSIGN_OR_RETURN(const client::MatrixView view, scores.Read(range, bytes));
    WINNOW_ASSIGN_OR_RETURN(const auto page_table, pages.View(range));
    WINNOW_ASSIGN_OR_RETURN(
        const client::PublishCandidatesResult result,
        client.PublishCandidates({.scores = view,
                                  .lengths = RowsOf(lengths, range),
                                  .page_table = page_table,
                                  .k = options.k,
                                  .k_blocks = options.k_blocks,
                                  .block_size = options.block_size,
                                  .order = OrderOf(options.selection),
                                  .deterministic = options.selection.deterministic,
                                  .slots = run.Want("slots"),
                                  .indices = run.Want("indices"),
                                  .blocks = run.Want("blocks"),
                                  .block_slots = run.Want("block_slots"),
                                  .candidate_lengths = run.Want("candidate_lengths")}));
    return run.Take(result);
  };
  return Run(run, options.target);
}

void AddOutputs(CLI::App& command, PublishOptions& options) {
  AddOutputOption(command, "--out-slots", options.out_slots, "Token slots, int32 [rows, k]");
  AddOutputOption(command, "--out-indices", options.out_indices,
                  "Token positions, int32 [rows, k]");
  AddOutputOption(command, "--out-blocks", options.out_blocks,
                  "Kept blocks, ascending, int32 [rows, k-blocks]");
  AddOutputOption(command, "--out-block-slots", options.out_block_slots,
                  "Slots of the kept blocks, int32 [rows, k-blocks]");
  AddOutputOption(command, "--out-candidate-lengths", options.out_candidate_lengths,
                  "Scores in the kept blocks, int32 [rows, 1]");
}

}  // namespace

void AddPublishCommand(CLI::App& root, Commands& commands) {
  auto options = std::make_shared<PublishOptions>();
  CLI::App* command =
      root.add_subcommand("publish", "Source layer: token slots and candidate blocks");
  AddScoreOptions(*command, options->scores);
  AddKOption(*command, options->k);
  command
      ->add_option("--k-blocks", options->k_blocks,
                   absl::StrCat("Blocks to keep in a row, 1 to ", kMaxK, "; default 2048"))
      ->type_name("NUMBER")
      ->transform(WholeNumber(1, kMaxK))
      ->group("Operation");
  AddBlockSizeOption(*command, options->block_size);
  AddSelectionOptions(*command, options->selection);
  AddPageOptions(*command, options->pages, /*with_rows=*/true);
  command->get_option("--page-table")->required();
  AddOutputs(*command, *options);
  AddTargetOptions(*command, options->target);
  command->footer(kExample);
  commands.push_back({command, &options->target.json, [options] { return RunPublish(*options); }});
}

}  // namespace winnow::cli
