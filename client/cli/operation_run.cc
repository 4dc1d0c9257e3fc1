#include "client/cli/operation_run.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/progress.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::cli {
namespace {

absl::Status CallAll(OperationRun& run, const client::Client& client,
                     const std::vector<RowRange>& ranges) {
  Progress progress("row");
  for (const RowRange& range : ranges) {
    progress.Show(range.first, static_cast<int64_t>(run.widths.size()));
    const absl::Status status = run.call(client, range);
    if (!status.ok()) {
      return WithRowOffset(WithSource(status, run.sources), range.first, range.count);
    }
  }
  return absl::OkStatus();
}

std::string Text(const OperationRun& run, const Session& session, absl::Duration wall,
                 size_t requests) {
  std::string text = absl::StrCat(run.headline, "\n");
  if (run.has_routes) absl::StrAppend(&text, "routes: ", Shown(run.totals.routes), "\n");
  if (run.totals.negative_rows > 0) {
    absl::StrAppend(&text, "note: ", Counted(run.totals.negative_rows, "row"),
                    " with a negative length, taken as empty\n");
  }
  absl::StrAppend(&text, "time: ", Shown(wall), ", of it ", Shown(run.totals.timing.total),
                  " on the server (queue ", Shown(run.totals.timing.queue), ", device ",
                  Shown(run.totals.timing.device), "); ",
                  Counted(static_cast<int64_t>(requests), "request"), " to ", session.DeviceText(),
                  "\n");
  for (const OutputArray& output : run.outputs) absl::StrAppend(&text, output.Text());
  return text;
}

Json ToJson(const OperationRun& run, const Session& session, absl::Duration wall, size_t requests) {
  Json json = {{"command", run.command}, {"rows", run.widths.size()}};
  json.update(run.parameters);
  if (run.has_routes) json["routes"] = JsonOf(run.totals.routes);
  json["negative_rows"] = run.totals.negative_rows;
  json["requests"] = requests;
  json["wall_us"] = absl::ToDoubleMicroseconds(wall);
  json["server"] = JsonOf(run.totals.timing);
  json["device"] = {{"kind", session.info.device.kind}, {"name", session.info.device.name}};
  Json outputs = Json::object();
  for (const OutputArray& output : run.outputs) outputs[output.name()] = output.ToJson();
  json["outputs"] = std::move(outputs);
  return json;
}

}  // namespace

client::Placement OperationRun::Want(absl::string_view name) const {
  for (const OutputArray& output : outputs) {
    if (output.name() == name) return client::Placement::kInline;
  }
  return client::Placement::kNone;
}

void OperationRun::Count(const client::Timing& timing, int64_t negative_rows,
                         const client::RouteCounts& routes) {
  totals.timing.queue += timing.queue;
  totals.timing.launch += timing.launch;
  totals.timing.device += timing.device;
  totals.timing.total += timing.total;
  totals.negative_rows += negative_rows;
  totals.routes.identity += routes.identity;
  totals.routes.single_block += routes.single_block;
  totals.routes.streaming += routes.streaming;
  totals.routes.cluster += routes.cluster;
  totals.routes.split += routes.split;
}

absl::Status OperationRun::TakeMatrices(const NamedMatrices& matrices) {
  for (const auto& [name, matrix] : matrices) {
    for (OutputArray& output : outputs) {
      if (output.name() == name) WINNOW_RETURN_IF_ERROR(output.Append(*matrix));
    }
  }
  return absl::OkStatus();
}

absl::Status OperationRun::Take(const client::TopKResult& result) {
  Count(result.timing, result.negative_rows, result.routes);
  return TakeMatrices(
      {{"indices", &result.indices}, {"slots", &result.slots}, {"values", &result.values}});
}

absl::Status OperationRun::Take(const client::BlockAmaxResult& result) {
  Count(result.timing, result.negative_rows, {});
  return TakeMatrices({{"keys", &result.keys}, {"block_counts", &result.block_counts}});
}

absl::Status OperationRun::Take(const client::SortCandidateBlocksResult& result) {
  Count(result.timing, result.negative_rows, {});
  return TakeMatrices({{"blocks", &result.blocks},
                       {"block_slots", &result.block_slots},
                       {"candidate_lengths", &result.candidate_lengths}});
}

absl::Status OperationRun::Take(const client::PublishCandidatesResult& result) {
  Count(result.timing, result.negative_rows, result.routes);
  return TakeMatrices({{"slots", &result.slots},
                       {"indices", &result.indices},
                       {"blocks", &result.blocks},
                       {"block_slots", &result.block_slots},
                       {"candidate_lengths", &result.candidate_lengths}});
}

absl::StatusOr<Report> Run(OperationRun& run, const TargetOptions& target) {
  const absl::Time start = absl::Now();
  WINNOW_RETURN_IF_ERROR(CheckDistinctPaths(run.outputs));
  for (OutputArray& output : run.outputs) {
    run.costs.output_bytes += output.row_bytes();
    WINNOW_RETURN_IF_ERROR(output.Begin(static_cast<int64_t>(run.widths.size())));
  }
  WINNOW_ASSIGN_OR_RETURN(const Session session, OpenSession(target));
  const std::vector<RowRange> ranges = SplitRows(run.widths, run.costs, session.limits());
  WINNOW_RETURN_IF_ERROR(CallAll(run, session.client, ranges));
  for (OutputArray& output : run.outputs) WINNOW_RETURN_IF_ERROR(output.Commit());
  const absl::Duration wall = absl::Now() - start;
  return Report{.text = Text(run, session, wall, ranges.size()),
                .json = ToJson(run, session, wall, ranges.size())};
}

}  // namespace winnow::cli
