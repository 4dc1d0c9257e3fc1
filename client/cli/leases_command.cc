// winnow leases: who holds memory of a server, and ending one of them.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/number_text.h"
#include "client/cli/option_checks.h"
#include "client/cli/session.h"
#include "winnow/client/error.h"
#include "winnow/kernels/status_macros.h"
#include "winnow/kernels/with_message.h"

namespace winnow::cli {
namespace {

struct LeasesOptions {
  TargetOptions target;
  const CLI::App* end = nullptr;  // parsed when a lease is to be ended
  int64_t number = 0;
  std::string message;
};

// Clients choose their names and addresses; a terminal must not obey them.
std::string Cell(const std::string& text, size_t width) {
  std::string cell = text.empty() ? "-" : OneLine(text);
  if (cell.size() > width) cell = absl::StrCat(cell.substr(0, width - 2), "..");
  return cell;
}

std::string LeasesText(const std::string& target,
                       const std::vector<client::LeaseDescription>& leases) {
  int64_t used_bytes = 0;
  for (const client::LeaseDescription& lease : leases) used_bytes += lease.used_bytes;
  std::string text =
      absl::StrCat(target, ": ", Counted(static_cast<int64_t>(leases.size()), "lease"), ", ",
                   ShownBytes(used_bytes), "\n");
  if (leases.empty()) return text;
  absl::StrAppendFormat(&text, "%6s %-8s %6s %10s %10s %8s %7s %6s %9s  %-20s %s\n", "number",
                        "state", "device", "age", "memory", "buffers", "tables", "plans",
                        "requests", "name", "peer");
  for (const client::LeaseDescription& lease : leases) {
    absl::StrAppendFormat(&text, "%6d %-8s %6d %10s %10s %8d %7d %6d %9d  %-20s %s\n", lease.number,
                          std::string(Name(lease.state)), lease.device, ShownAge(lease.age),
                          ShownBytes(lease.used_bytes), lease.buffers, lease.page_tables,
                          lease.plans, lease.inflight_requests, Cell(lease.display_name, 20),
                          Cell(lease.peer, 40));
  }
  return text;
}

Json JsonOf(const client::LeaseDescription& lease) {
  return {{"number", lease.number},
          {"name", lease.display_name},
          {"peer", lease.peer},
          {"state", std::string(Name(lease.state))},
          {"device", lease.device},
          {"age_s", absl::ToDoubleSeconds(lease.age)},
          {"used_bytes", lease.used_bytes},
          {"buffers", lease.buffers},
          {"page_tables", lease.page_tables},
          {"plans", lease.plans},
          {"inflight_requests", lease.inflight_requests}};
}

absl::StatusOr<Report> List(const Session& session) {
  WINNOW_ASSIGN_OR_RETURN(const std::vector<client::LeaseDescription> leases,
                          session.client.ListLeases());
  Json all = Json::array();
  for (const client::LeaseDescription& lease : leases) all.push_back(JsonOf(lease));
  return Report{
      .text = LeasesText(session.target, leases),
      .json = {{"command", "leases"}, {"target", session.target}, {"leases", std::move(all)}}};
}

absl::StatusOr<Report> End(const Session& session, const LeasesOptions& options) {
  const absl::Status ended =
      session.client.EndLease({.number = options.number, .message = options.message});
  if (client::HasReason(ended, ErrorReason::kLeaseNotFound)) {
    return WithMessage(ended, absl::StrCat("no open lease of ", session.target, " has the number ",
                                           options.number, "; 'winnow leases' lists them"));
  }
  WINNOW_RETURN_IF_ERROR(ended);
  return Report{
      .text = absl::StrCat(session.target, ": lease ", options.number,
                           " ended; its memory is free when its running work is done\n"),
      .json = {{"command", "leases"}, {"target", session.target}, {"ended", options.number}}};
}

absl::StatusOr<Report> RunLeases(const LeasesOptions& options) {
  WINNOW_ASSIGN_OR_RETURN(const Session session, OpenSession(options.target));
  return options.end->parsed() ? End(session, options) : List(session);
}

}  // namespace

void AddLeasesCommand(CLI::App& root, Commands& commands) {
  auto options = std::make_shared<LeasesOptions>();
  CLI::App* command = root.add_subcommand(
      "leases", "Who holds memory of a server; 'leases end NUMBER' ends one of them");
  AddTargetOptions(*command, options->target);
  command->footer(
      "Examples:\n"
      "  winnow leases --json\n"
      "  winnow leases end 3 --message 'maintenance'\n"
      "Memory counts against the quota of a lease; a waiting lease has lost its client and ends\n"
      "by itself when its grace is over. Peers on a Unix socket are all \"unix:\", which is what\n"
      "gRPC knows of them: clients tell themselves apart by the name they open a lease with.\n");
  CLI::App* end =
      command->add_subcommand("end", "End a lease: drop its queued work, free its memory");
  end->add_option("number", options->number, "The lease's number, as 'winnow leases' shows it")
      ->type_name("NUMBER")
      ->transform(WholeNumber(1, std::numeric_limits<int64_t>::max()))
      ->required();
  end->add_option("--message", options->message, "Told to the lease's client; up to 256 bytes")
      ->type_name("TEXT");
  end->footer(
      "Example:\n  winnow leases end 3 --message 'maintenance'\n"
      "The server must allow administration on the address. --target, --timeout and --json may\n"
      "follow, too.\n");
  end->fallthrough();
  command->require_subcommand(0, 1);
  options->end = end;
  commands.push_back({command, &options->target.json, [options] { return RunLeases(*options); }});
}

}  // namespace winnow::cli
