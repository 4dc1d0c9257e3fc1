// winnow plan: how rows of these lengths would be selected.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/commands.h"
#include "client/cli/file_writer.h"
#include "client/cli/input_arrays.h"
#include "client/cli/operation_options.h"
#include "client/cli/option_checks.h"
#include "client/cli/session.h"
#include "winnow/kernels/limits.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::cli {
namespace {

constexpr char kExample[] =
    "Example:\n"
    "  winnow plan --lengths lengths.npy --columns 131072 --k 512 --list-pooled\n"
    "Rows longer than the threshold are pooled: several thread blocks, on the CPU threads,\n"
    "share each of them.\n";

struct PlanOptions {
  TargetOptions target;
  std::string lengths;
  std::string dtype = "fp32";
  int32_t columns = 0;
  int32_t k = 512;
  int32_t static_threshold = -1;
  bool list_pooled = false;
};

absl::string_view ReasonText(PlanReason reason) {
  switch (reason) {
    case PlanReason::kAsRequested:
      return "as requested";
    case PlanReason::kHeuristic:
      return "the server's heuristic";
    case PlanReason::kNoPool:
      return "this device has no pool for it";
  }
  return "unknown";
}

std::string Text(const PlanOptions& options, const client::PlanTopKResult& plan, size_t rows,
                 const Session& session) {
  const bool none = plan.effective_threshold == 2147483647;
  std::string text = absl::StrCat(
      "plan for top ", options.k, " of ", Counted(static_cast<int64_t>(rows), "row"), " on ",
      session.DeviceText(), "\nthreshold: ",
      none ? "none, no row can be pooled"
           : absl::StrCat("rows longer than ", Grouped(plan.effective_threshold), " are pooled"),
      " (", ReasonText(plan.reason), ")\nroutes: ", Shown(plan.routes), "\npool: ",
      Counted(plan.pool_width, session.info.device.kind == "cpu" ? "thread" : "thread block"),
      plan.cluster_size > 0 ? absl::StrCat(", clusters of ", plan.cluster_size) : "", "\n");
  if (plan.negative_rows > 0) {
    absl::StrAppend(&text, "note: ", Counted(plan.negative_rows, "row"),
                    " with a negative length, taken as empty\n");
  }
  if (options.list_pooled) {
    absl::StrAppend(&text, "pooled rows: ",
                    plan.pooled_rows.empty() ? "none" : absl::StrJoin(plan.pooled_rows, " "), "\n");
  }
  return text;
}

Json ToJson(const PlanOptions& options, const client::PlanTopKResult& plan, size_t rows) {
  Json json = {{"command", "plan"},
               {"rows", rows},
               {"columns", options.columns},
               {"dtype", std::string(Name(DTypeOf(options.dtype)))},
               {"k", options.k},
               {"effective_threshold", plan.effective_threshold},
               {"reason", std::string(ReasonText(plan.reason))},
               {"written", plan.written},
               {"routes", JsonOf(plan.routes)},
               {"pool_width", plan.pool_width},
               {"cluster_size", plan.cluster_size},
               {"negative_rows", plan.negative_rows}};
  if (options.list_pooled) json["pooled_rows"] = plan.pooled_rows;
  return json;
}

absl::StatusOr<Report> RunPlan(const PlanOptions& options) {
  WINNOW_ASSIGN_OR_RETURN(const std::vector<int32_t> lengths, ReadInt32Column(options.lengths));
  WINNOW_ASSIGN_OR_RETURN(const Session session, OpenSession(options.target));
  const absl::StatusOr<client::PlanTopKResult> plan =
      session.client.PlanTopK({.lengths = client::Int32Column(lengths),
                               .columns = options.columns,
                               .k = options.k,
                               .dtype = DTypeOf(options.dtype),
                               .static_threshold = options.static_threshold,
                               .list_pooled_rows = options.list_pooled});
  if (!plan.ok()) {
    return WithSource(plan.status(),
                      {{"lengths", absl::StrCat("--lengths ", ShowPath(options.lengths))}});
  }
  return Report{.text = Text(options, *plan, lengths.size(), session),
                .json = ToJson(options, *plan, lengths.size())};
}

}  // namespace

void AddPlanCommand(CLI::App& root, Commands& commands) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* command = root.add_subcommand("plan", "How rows of these lengths would be selected");
  command->add_option("--lengths", options->lengths, "Scores in each row, int32")
      ->type_name("FILE")
      ->required()
      ->group("Input");
  command
      ->add_option("--columns", options->columns,
                   absl::StrCat("Capacity of a row in scores, 1 to ", kMaxColumns))
      ->type_name("NUMBER")
      ->required()
      ->transform(WholeNumber(1, kMaxColumns))
      ->group("Input");
  AddDTypeOption(*command, options->dtype);
  AddKOption(*command, options->k);
  command
      ->add_option("--static-threshold", options->static_threshold,
                   "Pool rows longer than this; 0: all that are not empty;\n"
                   "-1 (default): the server's heuristic")
      ->type_name("LENGTH")
      ->transform(WholeNumber(-1, 2147483647))
      ->group("Operation");
  command->add_flag("--list-pooled", options->list_pooled, "List the pooled rows")
      ->group("Operation");
  AddTargetOptions(*command, options->target);
  command->footer(kExample);
  commands.push_back({command, &options->target.json, [options] { return RunPlan(*options); }});
}

}  // namespace winnow::cli
