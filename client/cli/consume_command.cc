// winnow consume: a later layer's selection among the candidates that publish kept.

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/file_writer.h"
#include "client/cli/input_arrays.h"
#include "client/cli/operation_options.h"
#include "client/cli/operation_run.h"
#include "client/cli/session.h"
#include "winnow/kernels/limits.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::cli {
namespace {

constexpr char kExample[] =
    "Example:\n"
    "  winnow consume --scores candidate_scores.npy --candidate-lengths candidate_lengths.npy \\\n"
    "                 --block-slots block_slots.npy --k 512 --out-slots slots.npy\n"
    "Score j of a row belongs to slot block_slots[j / block size] * block size + j % block size.\n";

struct ConsumeOptions {
  TargetOptions target;
  ScoreOptions scores{.lengths_option = "--candidate-lengths",
                      .dtype = "bf16",
                      .dtype_why =
                          ":\nlater layers score candidates in bfloat16, where the source\n"
                          "layer, whose scores publish takes, has float32"};
  std::string block_slots;
  int32_t k = 512;
  int32_t block_size = kDefaultBlockSize;
  SelectionOptions selection;
  std::string out_slots;
  std::string out_indices;
  std::string out_values;
};

OperationRun MakeRun(const ConsumeOptions& options, const ScoreFile& scores) {
  OperationRun run;
  run.command = "consume";
  run.headline =
      absl::StrCat("top ", options.k, " of ", Counted(scores.rows(), "row"), " of up to ",
                   Counted(scores.widest(), "candidate score"), ", ", Name(scores.dtype()));
  run.parameters = {{"columns", scores.widest()},
                    {"dtype", std::string(Name(scores.dtype()))},
                    {"k", options.k},
                    {"block_size", options.block_size},
                    {"deterministic", options.selection.deterministic}};
  run.widths = scores.widths();
  run.outputs = WantedOutputs({OutputSpec{"slots", options.out_slots, DType::kInt32, options.k},
                               OutputSpec{"indices", options.out_indices, DType::kInt32, options.k},
                               OutputSpec{"values", options.out_values, scores.dtype(), options.k}},
                              {"slots"});
  run.sources = SourcesOf(options.scores);
  run.sources.push_back(
      {"block_slots", absl::StrCat("--block-slots ", ShowPath(options.block_slots))});
  run.has_routes = true;
  return run;
}

absl::StatusOr<Report> RunConsume(const ConsumeOptions& options) {
  WINNOW_ASSIGN_OR_RETURN(const std::vector<int32_t> lengths,
                          ReadInt32Column(options.scores.lengths));
  WINNOW_ASSIGN_OR_RETURN(const ScoreFile scores, OpenScores(options.scores, lengths));
  WINNOW_ASSIGN_OR_RETURN(const Int32MatrixFile block_slots,
                          Int32MatrixFile::Open(options.block_slots, kMaxColumns));
  WINNOW_RETURN_IF_ERROR(CheckSameRows(options.block_slots, block_slots.rows(),
                                       options.scores.lengths, scores.rows()));
  OperationRun run = MakeRun(options, scores);
  run.costs = {.score_bytes = SizeOf(scores.dtype()), .input_bytes = 4 + block_slots.columns() * 4};
  std::vector<std::byte> bytes;
  run.call = [&](const client::Client& client, const RowRange& range) -> absl::Status {
    WINNOW_ASSIGN_OR_RETURN(const client::MatrixView view, scores.Read(range, bytes));
    WINNOW_ASSIGN_OR_RETURN(const std::vector<int32_t> slots,
                            block_slots.Read(range.first, range.count));
    WINNOW_ASSIGN_OR_RETURN(
        const client::ConsumeCandidatesResult result,
        client.ConsumeCandidates(
            {.scores = view,
             .candidate_lengths = RowsOf(lengths, range),
             .block_slots = client::Int32Matrix(slots.data(), range.count, block_slots.columns()),
             .k = options.k,
             .block_size = options.block_size,
             .order = OrderOf(options.selection),
             .deterministic = options.selection.deterministic,
             .slots = run.Want("slots"),
             .indices = run.Want("indices"),
             .values = run.Want("values")}));
    return run.Take(result);
  };
  return Run(run, options.target);
}

}  // namespace

void AddConsumeCommand(CLI::App& root, Commands& commands) {
  auto options = std::make_shared<ConsumeOptions>();
  CLI::App* command =
      root.add_subcommand("consume", "Later layer: top-k among the published candidates");
  AddScoreOptions(*command, options->scores);
  command
      ->add_option("--block-slots", options->block_slots,
                   "As 'winnow publish' gave them, int32 [rows, blocks]")
      ->type_name("FILE")
      ->required()
      ->group("Input");
  AddKOption(*command, options->k);
  AddBlockSizeOption(*command, options->block_size,
                     ";\nmust be that of publish, else the slots are wrong");
  AddSelectionOptions(*command, options->selection);
  AddOutputOption(*command, "--out-slots", options->out_slots, "Token slots, int32 [rows, k]");
  AddOutputOption(*command, "--out-indices", options->out_indices,
                  "Columns of the scores, int32 [rows, k]");
  AddOutputOption(*command, "--out-values", options->out_values,
                  "The scores, in their type [rows, k]");
  AddTargetOptions(*command, options->target);
  command->footer(kExample);
  commands.push_back({command, &options->target.json, [options] { return RunConsume(*options); }});
}

}  // namespace winnow::cli
