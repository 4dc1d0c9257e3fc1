// winnow occupancy: how many clusters of thread blocks fit a server's GPU at once.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/commands.h"
#include "client/cli/option_checks.h"
#include "client/cli/session.h"
#include "winnow/client/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::cli {
namespace {

struct OccupancyOptions {
  TargetOptions target;
  int64_t cluster_size = 0;   // 0: each of 1 to 16
  int64_t blocks_per_sm = 0;  // 0: 1 and 2
  std::optional<int64_t> device;
};

// Clusters resident at once; 0 when none fits, which the server reports as an error.
absl::StatusOr<int32_t> ActiveClusters(const Session& session, int64_t cluster_size,
                                       int64_t blocks_per_sm) {
  const absl::StatusOr<int32_t> clusters = session.client.ProbeOccupancy(
      {.cluster_size = static_cast<int32_t>(cluster_size),
       .blocks_per_multiprocessor = static_cast<int32_t>(blocks_per_sm),
       .device = session.info.device.ordinal});
  if (client::HasReason(clusters.status(), ErrorReason::kNoClusterFits)) return 0;
  return clusters;
}

absl::StatusOr<Report> RunOccupancy(const OccupancyOptions& options) {
  WINNOW_ASSIGN_OR_RETURN(Session session, OpenSession(options.target));
  if (options.device.has_value()) {
    WINNOW_RETURN_IF_ERROR(session.ChooseDevice(*options.device));
  }
  std::vector<int64_t> sizes{1, 2, 4, 8, 16};
  if (options.cluster_size > 0) sizes = {options.cluster_size};
  std::vector<int64_t> blocks{1, 2};
  if (options.blocks_per_sm > 0) blocks = {options.blocks_per_sm};
  Report report{.text = absl::StrCat(session.target, ": ", session.DeviceText(), "\n",
                                     "blocks of a cluster   blocks on a multiprocessor   clusters "
                                     "at once\n")};
  Json fits = Json::array();
  for (const int64_t size : sizes) {
    for (const int64_t per_sm : blocks) {
      WINNOW_ASSIGN_OR_RETURN(const int32_t clusters, ActiveClusters(session, size, per_sm));
      absl::StrAppendFormat(&report.text, "%19d   %26d   %16d\n", size, per_sm, clusters);
      fits.push_back(
          {{"cluster_size", size}, {"blocks_per_sm", per_sm}, {"active_clusters", clusters}});
      // Of the one that was asked for, that none fits is the answer "no".
      report.failed = clusters == 0 && sizes.size() * blocks.size() == 1;
    }
  }
  report.json = {{"command", "occupancy"},
                 {"target", session.target},
                 {"device",
                  {{"ordinal", session.info.device.ordinal},
                   {"kind", session.info.device.kind},
                   {"name", session.info.device.name}}},
                 {"occupancy", std::move(fits)}};
  return report;
}

}  // namespace

void AddOccupancyCommand(CLI::App& root, Commands& commands) {
  auto options = std::make_shared<OccupancyOptions>();
  CLI::App* command =
      root.add_subcommand("occupancy", "How many thread block clusters fit a server's GPU at once");
  command
      ->add_option("--cluster-size", options->cluster_size,
                   "Blocks of a cluster: 1, 2, 4, 8 or 16; default: each")
      ->type_name("BLOCKS")
      ->transform(PowerOfTwo(1, 16))
      ->group("Operation");
  command
      ->add_option("--blocks-per-sm", options->blocks_per_sm,
                   "Blocks on each multiprocessor, 1 to 32; default: 1 and 2")
      ->type_name("BLOCKS")
      ->transform(WholeNumber(1, 32))
      ->group("Operation");
  AddDeviceOption(*command, options->device);
  AddTargetOptions(*command, options->target);
  command->footer(
      "Examples:\n  winnow occupancy\n  winnow occupancy --cluster-size 8 --blocks-per-sm 2\n"
      "0 means that none fits. Exit codes: 0; 1 when none of the one size asked for fits, and on\n"
      "a server without a GPU.\n");
  commands.push_back(
      {command, &options->target.json, [options] { return RunOccupancy(*options); }});
}

}  // namespace winnow::cli
