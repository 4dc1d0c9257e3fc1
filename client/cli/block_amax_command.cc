// winnow block-amax: the maximum of each block of scores.

#include <algorithm>
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
    "  winnow block-amax --scores scores.npy --lengths lengths.npy --out keys.npy\n"
    "The last block of each row gets +inf, so that the newest block is always kept. Keys past\n"
    "a row's blocks are 0.\n";

struct BlockAmaxOptions {
  TargetOptions target;
  ScoreOptions scores;
  int32_t block_size = kDefaultBlockSize;
  int32_t skip_at_most = 0;
  std::string out;
  std::string out_block_counts;
};

OperationRun MakeRun(const BlockAmaxOptions& options, const ScoreFile& scores, int64_t keys) {
  OperationRun run;
  run.command = "block-amax";
  run.headline = absl::StrCat(
      "maxima of blocks of ", options.block_size, ", ", Counted(scores.rows(), "row"), " of up to ",
      Counted(scores.widest(), absl::StrCat(Name(scores.dtype()), " score")));
  run.parameters = {{"columns", scores.widest()},
                    {"dtype", std::string(Name(scores.dtype()))},
                    {"block_size", options.block_size},
                    {"skip_at_most", options.skip_at_most}};
  run.widths = scores.widths();
  run.outputs =
      WantedOutputs({OutputSpec{"keys", options.out, DType::kFloat32, keys},
                     OutputSpec{"block_counts", options.out_block_counts, DType::kInt32, 1}},
                    {"keys"});
  run.sources = SourcesOf(options.scores);
  run.costs = {.score_bytes = SizeOf(scores.dtype()), .input_bytes = 4};
  return run;
}

absl::StatusOr<Report> RunBlockAmax(const BlockAmaxOptions& options) {
  WINNOW_ASSIGN_OR_RETURN(const std::vector<int32_t> lengths,
                          ReadInt32Column(options.scores.lengths));
  WINNOW_ASSIGN_OR_RETURN(const ScoreFile scores, OpenScores(options.scores, lengths));
  // The same in every request; the server makes none narrower than 1.
  const int64_t keys =
      std::max<int64_t>(1, (scores.widest() + options.block_size - 1) / options.block_size);
  OperationRun run = MakeRun(options, scores, keys);
  std::vector<std::byte> bytes;
  run.call = [&](const client::Client& client, const RowRange& range) -> absl::Status {
    WINNOW_ASSIGN_OR_RETURN(const client::MatrixView view, scores.Read(range, bytes));
    WINNOW_ASSIGN_OR_RETURN(const client::BlockAmaxResult result,
                            client.BlockAmax({.scores = view,
                                              .lengths = RowsOf(lengths, range),
                                              .block_size = options.block_size,
                                              .skip_at_most = options.skip_at_most,
                                              .key_columns = static_cast<int32_t>(keys),
                                              .keys = client::Placement::kInline,
                                              .block_counts = run.Want("block_counts")}));
    return run.Take(result);
  };
  return Run(run, options.target);
}

}  // namespace

void AddBlockAmaxCommand(CLI::App& root, Commands& commands) {
  auto options = std::make_shared<BlockAmaxOptions>();
  CLI::App* command = root.add_subcommand("block-amax", "The maximum of each block of scores");
  AddScoreOptions(*command, options->scores);
  AddBlockSizeOption(*command, options->block_size);
  command
      ->add_option("--skip-at-most", options->skip_at_most,
                   "Leave rows of at most so many blocks out (0); default 0:\nnone")
      ->type_name("BLOCKS")
      ->transform(WholeNumber(0, 2147483647))
      ->group("Operation");
  AddOutputOption(*command, "--out", options->out, "Maxima, float32 [rows, blocks]");
  AddOutputOption(*command, "--out-block-counts", options->out_block_counts,
                  "Blocks of each row, int32 [rows, 1]");
  AddTargetOptions(*command, options->target);
  command->footer(kExample);
  commands.push_back(
      {command, &options->target.json, [options] { return RunBlockAmax(*options); }});
}

}  // namespace winnow::cli
