// winnow info, probe and drain: what an operator asks of a server.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cli/commands.h"
#include "client/cli/deep_probe.h"
#include "client/cli/option_checks.h"
#include "client/cli/server_report.h"
#include "client/cli/session.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::cli {
namespace {

struct DrainOptions {
  TargetOptions target;
  double within_seconds = 30;
};

struct ProbeOptions {
  TargetOptions target;
  bool deep = false;
  std::optional<int64_t> device;
};

absl::StatusOr<Report> RunInfo(const TargetOptions& options) {
  WINNOW_ASSIGN_OR_RETURN(const Session session, OpenSession(options));
  WINNOW_ASSIGN_OR_RETURN(const client::ServerStats stats, session.client.GetStats());
  return InfoReport(session.target, session.info, stats);
}

// One line a finding, its text aligned; JSON has the verdict as a word of its own.
void AddFindings(const Findings& findings, Report& report) {
  Json list = Json::array();
  for (const Finding& finding : findings.all()) {
    const std::string verdict(Name(finding.verdict));
    absl::StrAppendFormat(&report.text, "  %-9s  %-20s  %s\n", verdict, finding.what, finding.said);
    list.push_back({{"what", finding.what},
                    {"verdict", absl::StrReplaceAll(verdict, {{" ", "_"}})},
                    {"said", finding.said}});
    report.failed = report.failed || finding.verdict == Verdict::kNotOk;
  }
  report.json["findings"] = std::move(list);
}

absl::StatusOr<Report> RunProbe(const ProbeOptions& probe) {
  const TargetOptions& options = probe.target;
  const absl::Time start = absl::Now();
  WINNOW_ASSIGN_OR_RETURN(Session session, OpenSession(options));
  if (probe.device.has_value()) {
    WINNOW_RETURN_IF_ERROR(session.ChooseDevice(*probe.device));
  }
  WINNOW_ASSIGN_OR_RETURN(const client::HealthStatus health, session.client.Health());
  const absl::Duration wall = absl::Now() - start;
  const std::string state(Name(health));
  Report report{.text = absl::StrCat(session.target, ": ", state, ", ", session.DeviceText(), ", ",
                                     Shown(wall), "\n"),
                .json = {{"command", "probe"},
                         {"target", session.target},
                         {"health", state},
                         {"version", session.info.version},
                         {"device",
                          {{"ordinal", session.info.device.ordinal},
                           {"kind", session.info.device.kind},
                           {"name", session.info.device.name}}},
                         {"wall_us", absl::ToDoubleMicroseconds(wall)}},
                .failed = health != client::HealthStatus::kServing};
  if (probe.deep && !report.failed) {
    AddFindings(ProbeDeeply(session, options), report);
  }
  return report;
}

absl::StatusOr<Report> RunDrain(const DrainOptions& options) {
  WINNOW_ASSIGN_OR_RETURN(const Session session, OpenSession(options.target));
  WINNOW_ASSIGN_OR_RETURN(const client::DrainResult result,
                          session.client.Drain({.timeout = absl::Seconds(options.within_seconds)}));
  return Report{.text = absl::StrCat(session.target, ": draining, ",
                                     Counted(result.pending_requests, "request"), " left; process ",
                                     session.info.process_id, " ends when they are done\n"),
                .json = {{"command", "drain"},
                         {"target", session.target},
                         {"pending_requests", result.pending_requests},
                         {"process_id", session.info.process_id}}};
}

}  // namespace

void AddInfoCommand(CLI::App& root, Commands& commands) {
  auto options = std::make_shared<TargetOptions>();
  CLI::App* command =
      root.add_subcommand("info", "Version, device, limits and counters of a server");
  AddTargetOptions(*command, *options);
  command->footer("Example:\n  winnow info --target 127.0.0.1:7070 --json\n");
  commands.push_back({command, &options->json, [options] { return RunInfo(*options); }});
}

void AddProbeCommand(CLI::App& root, Commands& commands) {
  auto options = std::make_shared<ProbeOptions>();
  CLI::App* command =
      root.add_subcommand("probe", "Whether a server is serving: exit code 0, else 1 or 3");
  command
      ->add_flag("--deep", options->deep,
                 "Also try each way of giving the server data, on this host\nand as this user, and "
                 "say what is wrong")
      ->group("Operation");
  AddDeviceOption(*command, options->device);
  AddTargetOptions(*command, options->target);
  command->footer(
      "Example, as a container's readiness check:\n"
      "  winnow probe --timeout 1\n"
      "As a check of a new machine:\n"
      "  winnow probe --deep\n"
      "Exit codes: 0 serving, 1 answers but is not serving or something is wrong with the host,\n"
      "3 does not answer.\n");
  commands.push_back({command, &options->target.json, [options] { return RunProbe(*options); }});
}

void AddDrainCommand(CLI::App& root, Commands& commands) {
  auto options = std::make_shared<DrainOptions>();
  CLI::App* command =
      root.add_subcommand("drain", "Let a server finish its work and end, refusing new work");
  command
      ->add_option("--within", options->within_seconds,
                   "Longest time for the work in progress, in seconds;\ndefault 30")
      ->type_name("SECONDS")
      ->transform(Seconds())
      ->group("Operation");
  AddTargetOptions(*command, options->target);
  command->footer(
      "Example:\n  winnow drain --within 5\n"
      "Answers at once. The server must allow administration on the address.\n");
  commands.push_back({command, &options->target.json, [options] { return RunDrain(*options); }});
}

}  // namespace winnow::cli
