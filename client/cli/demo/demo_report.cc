#include "client/cli/demo/demo_report.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/file_writer.h"

namespace winnow::cli {
namespace {

int64_t BlocksOf(const DemoRow& row, int32_t block_size) {
  return (int64_t{row.length} + block_size - 1) / block_size;
}

std::string BoundaryText(const Boundary& boundary) {
  if (boundary.equal == 0) return "all kept";
  if (boundary.equal == 1) return "no tie";
  return absl::StrCat(Grouped(boundary.kept), " of ", Grouped(boundary.equal));
}

std::string BlocksText(const DemoRow& row, const TwoLevelResult& result, int32_t block_size) {
  const int64_t blocks = BlocksOf(row, block_size);
  if (static_cast<int64_t>(result.blocks.size()) == blocks) {
    return absl::StrCat("all ", Grouped(blocks));
  }
  return absl::StrCat(Grouped(static_cast<int64_t>(result.blocks.size())), " of ", Grouped(blocks));
}

// The cells of one line; it fits 100 columns.
using Cells = std::array<std::string, 10>;

std::string Line(const Cells& cells) {
  return absl::StrFormat("%8s %4s | %6s %10s %15s %7s | %13s %10s %7s | %s\n", cells[0], cells[1],
                         cells[2], cells[3], cells[4], cells[5], cells[6], cells[7], cells[8],
                         cells[9]);
}

std::string Heading() {
  return absl::StrFormat("%8s %4s | %-41s | %-32s |\n", "", "", "source layer: publish",
                         "later layer: consume") +
         Line({"length", "type", "tokens", "ties kept", "blocks kept", "time", "tokens kept",
               "ties kept", "time", "check"});
}

std::string RowText(const DemoRow& row, const TwoLevelResult& result, int32_t block_size) {
  return Line({Grouped(row.length), row.dtype == DType::kFloat32 ? "fp32" : "bf16",
               Grouped(static_cast<int64_t>(result.tokens.size())),
               BoundaryText(result.token_boundary), BlocksText(row, result, block_size),
               Shown(result.publish_time),
               absl::StrCat(Grouped(static_cast<int64_t>(result.later.size())), " of ",
                            Grouped(result.candidate_length)),
               BoundaryText(result.later_boundary), Shown(result.consume_time),
               result.difference.empty() ? "equal" : "DIFFERS"});
}

std::string RowsText(const DemoOutcome& outcome) {
  int64_t most = 0;
  for (const DemoRow* row : outcome.rows) most = std::max(most, row->MostEqualScores());
  return absl::StrCat(Counted(static_cast<int64_t>(outcome.rows.size()), "row"), " of ",
                      ShowPath(outcome.directory), "; up to ", Grouped(most),
                      " equal scores in one");
}

std::string Introduction(const DemoOutcome& outcome) {
  const TwoLevelParameters& parameters = outcome.parameters;
  return absl::StrCat(
      "The two-level indexer on score rows made from English text. For each row the source\nlayer "
      "keeps the top ",
      parameters.k, " tokens and publishes the top ", Grouped(parameters.k_blocks), " blocks of ",
      parameters.block_size, ";\na later layer keeps the top ", parameters.k,
      " tokens of those blocks.\n\nserver  ", outcome.target,
      outcome.own_server ? " (started for this demo), " : ", ", outcome.device, "\nrows    ",
      RowsText(outcome), "\npages   ", parameters.page_size,
      " positions each, distinct, at random of ", Grouped(parameters.pool_pages), "; seed ",
      outcome.seed, "\n\n");
}

std::string Verdict(const DemoOutcome& outcome) {
  const int64_t differing = DifferingRows(outcome);
  const int64_t rows = static_cast<int64_t>(outcome.rows.size());
  if (differing == 0) {
    return absl::StrCat("All ", Counted(rows, "row"), " equal the plain reference, number by ",
                        "number; ", Counted(2 * rows, "request"), " and checks took ",
                        Shown(outcome.wall), ".\n");
  }
  std::string text = absl::StrCat(Grouped(differing), " of ", Counted(rows, "row"),
                                  " DIFFER from the plain reference:\n");
  for (size_t i = 0; i < outcome.rows.size(); ++i) {
    if (outcome.results[i].difference.empty()) continue;
    absl::StrAppend(&text, "  row of ", Counted(outcome.rows[i]->length, "score"), ": ",
                    outcome.results[i].difference, "\n");
  }
  return text;
}

std::string Text(const DemoOutcome& outcome) {
  std::string text = Introduction(outcome) + Heading();
  for (size_t i = 0; i < outcome.rows.size(); ++i) {
    if (i > 0 && outcome.rows[i]->dtype != outcome.rows[i - 1]->dtype) text += "\n";
    text += RowText(*outcome.rows[i], outcome.results[i], outcome.parameters.block_size);
  }
  absl::StrAppend(&text,
                  "\nties kept: of the scores equal to the lowest one kept, how many are; the "
                  "lowest positions win.\ntime: on the server, one row a request.\n\n",
                  Verdict(outcome));
  if (!outcome.picture.empty()) {
    absl::StrAppend(&text, "Picture: ", ShowPath(outcome.picture), " (open it in a browser)\n");
  }
  return text;
}

Json JsonOf(const Boundary& boundary) {
  return {{"kept", boundary.kept}, {"equal", boundary.equal}};
}

Json RowJson(const DemoRow& row, const TwoLevelResult& result, int32_t block_size) {
  Json json = {{"dtype", std::string(Name(row.dtype))},
               {"length", row.length},
               {"tokens", result.tokens.size()},
               {"token_ties", JsonOf(result.token_boundary)},
               {"blocks", result.blocks.size()},
               {"row_blocks", BlocksOf(row, block_size)},
               {"publish_us", absl::ToDoubleMicroseconds(result.publish_time)},
               {"candidate_length", result.candidate_length},
               {"later_tokens", result.later.size()},
               {"later_ties", JsonOf(result.later_boundary)},
               {"consume_us", absl::ToDoubleMicroseconds(result.consume_time)},
               {"equal", result.difference.empty()}};
  if (!result.difference.empty()) json["difference"] = result.difference;
  return json;
}

}  // namespace

int64_t DifferingRows(const DemoOutcome& outcome) {
  return std::count_if(outcome.results.begin(), outcome.results.end(),
                       [](const TwoLevelResult& result) { return !result.difference.empty(); });
}

Report DemoReport(const DemoOutcome& outcome) {
  const int64_t differing = DifferingRows(outcome);
  Json rows = Json::array();
  for (size_t i = 0; i < outcome.rows.size(); ++i) {
    rows.push_back(RowJson(*outcome.rows[i], outcome.results[i], outcome.parameters.block_size));
  }
  return {.text = Text(outcome),
          .json = {{"command", "demo"},
                   {"target", outcome.target},
                   {"own_server", outcome.own_server},
                   {"device", outcome.device},
                   {"seed", outcome.seed},
                   {"k", outcome.parameters.k},
                   {"k_blocks", outcome.parameters.k_blocks},
                   {"block_size", outcome.parameters.block_size},
                   {"wall_us", absl::ToDoubleMicroseconds(outcome.wall)},
                   {"picture", outcome.picture},
                   {"differing_rows", differing},
                   {"rows", std::move(rows)}},
          .failed = differing > 0};
}

}  // namespace winnow::cli
