// winnow sort-blocks: the candidate block table from block ids in any order.

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
    "  winnow sort-blocks --blocks blocks.npy --lengths lengths.npy --out-blocks sorted.npy\n"
    "Ids come out distinct and ascending, padded with 2147483647. A row whose blocks all fit\n"
    "gets them all, whatever its ids say.\n";

struct SortBlocksOptions {
  TargetOptions target;
  std::string blocks;
  std::string lengths;
  int32_t block_size = kDefaultBlockSize;
  PageOptions pages;
  std::string out_blocks;
  std::string out_slots;
  std::string out_candidate_lengths;
};

absl::Status CheckOptions(const SortBlocksOptions& options) {
  if (options.pages.table.empty() && !options.out_slots.empty()) {
    return absl::InvalidArgumentError("--out-slots: needs --page-table and --page-size");
  }
  if (!options.pages.table.empty() && options.out_slots.empty()) {
    return absl::InvalidArgumentError(
        "--page-table: only slots use it; add --out-slots or leave it out");
  }
  return absl::OkStatus();
}

OperationRun MakeRun(const SortBlocksOptions& options, const Int32MatrixFile& blocks) {
  OperationRun run;
  run.command = "sort-blocks";
  run.headline = absl::StrCat("candidate blocks of ", Counted(blocks.rows(), "row"), ", up to ",
                              Grouped(blocks.columns()), " each");
  run.parameters = {{"width", blocks.columns()}, {"block_size", options.block_size}};
  run.widths.assign(static_cast<size_t>(blocks.rows()), blocks.columns());
  run.outputs = WantedOutputs(
      {OutputSpec{"blocks", options.out_blocks, DType::kInt32, blocks.columns()},
       OutputSpec{"block_slots", options.out_slots, DType::kInt32, blocks.columns()},
       OutputSpec{"candidate_lengths", options.out_candidate_lengths, DType::kInt32, 1}},
      {"blocks"});
  run.sources = SourcesOf(options.pages);
  run.sources.push_back({"blocks", absl::StrCat("--blocks ", ShowPath(options.blocks))});
  run.sources.push_back({"lengths", absl::StrCat("--lengths ", ShowPath(options.lengths))});
  return run;
}

absl::StatusOr<Report> RunSortBlocks(const SortBlocksOptions& options) {
  WINNOW_RETURN_IF_ERROR(CheckOptions(options));
  WINNOW_ASSIGN_OR_RETURN(const Int32MatrixFile blocks,
                          Int32MatrixFile::Open(options.blocks, kMaxK));
  WINNOW_ASSIGN_OR_RETURN(const std::vector<int32_t> lengths,
                          ReadInt32Column(options.lengths, blocks.rows(), options.blocks));
  WINNOW_ASSIGN_OR_RETURN(PageTableInput pages,
                          PageTableInput::Open(options.pages, blocks.rows(), options.blocks));
  OperationRun run = MakeRun(options, blocks);
  run.costs = {.score_bytes = 4,
               .input_bytes = 4 + pages.row_bytes(),
               .request_bytes = pages.request_bytes()};
  run.call = [&](const client::Client& client, const RowRange& range) -> absl::Status {
    WINNOW_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, blocks.Read(range.first, range.count));
    WINNOW_ASSIGN_OR_RETURN(const auto page_table, pages.View(range));
    WINNOW_ASSIGN_OR_RETURN(
        const client::SortCandidateBlocksResult result,
        client.SortCandidateBlocks(
            {.blocks = client::Int32Matrix(ids.data(), range.count, blocks.columns()),
             .lengths = RowsOf(lengths, range),
             .block_size = options.block_size,
             .page_table = page_table,
             .out_blocks = client::Placement::kInline,
             .block_slots = run.Want("block_slots"),
             .candidate_lengths = run.Want("candidate_lengths")}));
    return run.Take(result);
  };
  return Run(run, options.target);
}

}  // namespace

void AddSortBlocksCommand(CLI::App& root, Commands& commands) {
  auto options = std::make_shared<SortBlocksOptions>();
  CLI::App* command =
      root.add_subcommand("sort-blocks", "The candidate block table from block ids in any order");
  command->add_option("--blocks", options->blocks, "Block ids, int32 [rows, width], -1: none")
      ->type_name("FILE")
      ->required()
      ->group("Input");
  command->add_option("--lengths", options->lengths, "Scores (not blocks) in each row, int32")
      ->type_name("FILE")
      ->required()
      ->group("Input");
  AddBlockSizeOption(*command, options->block_size);
  AddPageOptions(*command, options->pages, /*with_rows=*/true);
  AddOutputOption(*command, "--out-blocks", options->out_blocks, "Ids, int32 [rows, width]");
  AddOutputOption(*command, "--out-slots", options->out_slots,
                  "The blocks' slots by the page table, int32 [rows, width]");
  AddOutputOption(*command, "--out-candidate-lengths", options->out_candidate_lengths,
                  "Scores in the kept blocks, int32 [rows, 1]");
  AddTargetOptions(*command, options->target);
  command->footer(kExample);
  commands.push_back(
      {command, &options->target.json, [options] { return RunSortBlocks(*options); }});
}

}  // namespace winnow::cli
