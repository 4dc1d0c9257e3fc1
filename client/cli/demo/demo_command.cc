// winnow demo: the two-level indexer on the rows that are shipped, end to end, checked and drawn.

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/commands.h"
#include "client/cli/demo/child_server.h"
#include "client/cli/demo/demo_data.h"
#include "client/cli/demo/demo_report.h"
#include "client/cli/demo/picture.h"
#include "client/cli/demo/program_path.h"
#include "client/cli/demo/two_level.h"
#include "client/cli/failure.h"
#include "client/cli/file_writer.h"
#include "client/cli/option_checks.h"
#include "client/cli/progress.h"
#include "client/cli/session.h"
#include "winnow/client/error.h"
#include "winnow/kernels/status_macros.h"
#include "winnow/kernels/with_message.h"

namespace winnow::cli {
namespace {

constexpr char kExample[] =
    "Example:\n"
    "  winnow demo --picture kept.svg\n"
    "If no server answers at the default address, the demo starts its own on the CPU and ends\n"
    "it afterwards; with --server or --backend it always does. Exit code 1 if any result differs\n"
    "from the plain reference.\n";

struct DemoOptions {
  TargetOptions target;
  std::string data;
  std::string picture = "winnow-demo.svg";
  bool no_picture = false;
  std::string server;   // empty: FindServerProgram()
  std::string backend;  // empty: cpu
  uint64_t seed = 20240229;

  // Whether the options are about a server that the demo starts.
  bool wants_own() const { return !server.empty() || !backend.empty(); }
};

// The server to talk to, and the process if it is the demo's own.
struct DemoServer {
  std::unique_ptr<ChildServer> child;  // null: somebody else's
  std::optional<Session> session;      // last: ends before the child does
};

absl::StatusOr<DemoServer> StartOwn(const DemoOptions& options) {
  std::string program = options.server;
  if (program.empty()) {
    WINNOW_ASSIGN_OR_RETURN(program, FindServerProgram());
  }
  DemoServer server;
  WINNOW_ASSIGN_OR_RETURN(
      server.child, ChildServer::Start(program, options.backend.empty() ? "cpu" : options.backend));
  TargetOptions own = options.target;
  own.target = server.child->target();
  own.tls = {};  // a socket of this host
  absl::StatusOr<Session> session = OpenSession(own);
  if (!session.ok()) return server.child->Explain(session.status());
  server.session.emplace(*std::move(session));
  return server;
}

absl::StatusOr<DemoServer> ReachServer(const DemoOptions& options) {
  if (options.wants_own()) return StartOwn(options);
  absl::StatusOr<Session> session = OpenSession(options.target);
  // A server that was asked for by name is not replaced by another.
  if (!session.ok() && client::IsUnreachable(session.status()) && options.target.target.empty()) {
    return StartOwn(options);
  }
  if (!session.ok()) return session.status();
  DemoServer server;
  server.session.emplace(*std::move(session));
  return server;
}

// The running server that --target names has its own program and backend.
absl::Status CheckServerOptions(const DemoOptions& options) {
  if (!options.wants_own() || options.target.target.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(options.server.empty() ? "--backend" : "--server",
                   " is about a server that the demo starts, and --target names one that runs; "
                   "give one of the two"));
}

absl::Status RunRows(const client::Client& client, const DemoData& data, DemoOutcome& outcome) {
  for (const auto* rows : {&data.float32_rows, &data.bfloat16_rows}) {
    for (const DemoRow& row : *rows) outcome.rows.push_back(&row);
  }
  std::mt19937_64 random(outcome.seed);
  Progress progress("row");
  for (size_t i = 0; i < outcome.rows.size(); ++i) {
    progress.Show(static_cast<int64_t>(i), static_cast<int64_t>(outcome.rows.size()));
    // Each row begins elsewhere in the later layer's scores, so that no two are alike.
    constexpr size_t kStep = 4099;
    std::vector<uint16_t> later = data.bfloat16_bits;
    std::rotate(later.begin(), later.begin() + static_cast<int64_t>(i * kStep % later.size()),
                later.end());
    WINNOW_ASSIGN_OR_RETURN(TwoLevelResult result, RunTwoLevel(client, *outcome.rows[i], later,
                                                               outcome.parameters, random));
    outcome.results.push_back(std::move(result));
  }
  return absl::OkStatus();
}

// Of the float32 rows, which are the long ones.
std::string Draw(const DemoOutcome& outcome) {
  std::vector<PictureRow> rows;
  for (size_t i = 0; i < outcome.rows.size(); ++i) {
    const DemoRow& row = *outcome.rows[i];
    if (row.dtype != DType::kFloat32) continue;
    PictureRow drawn{.tokens = outcome.results[i].tokens,
                     .blocks = outcome.results[i].blocks,
                     .later = outcome.results[i].later,
                     .candidate_length = outcome.results[i].candidate_length};
    for (int64_t position = 0; position < row.length; ++position) {
      drawn.scores.push_back(row.Score(position));
    }
    rows.push_back(std::move(drawn));
  }
  return DrawPicture(
      rows, {.k = outcome.parameters.k,
             .k_blocks = outcome.parameters.k_blocks,
             .block_size = outcome.parameters.block_size,
             .footer = absl::StrCat("Drawn by winnow demo. Scores: float32 rows of real text; the "
                                    "later layer's: bfloat16. ",
                                    DifferingRows(outcome) == 0
                                        ? "Every result equals the plain reference."
                                        : "Some results DIFFER from the plain reference.")});
}

// The picture is written to the current folder unless another is given, and that may be anybody's.
absl::Status CheckPicture(const std::string& path) {
  const absl::Status status = CheckWritable(path);
  if (status.ok()) return status;
  return WithMessage(status,
                     absl::StrCat(status.message(), "; give --picture FILE or --no-picture"));
}

absl::Status WritePicture(const std::string& path, const std::string& svg) {
  WINNOW_ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Create(path));
  WINNOW_RETURN_IF_ERROR(writer.Append(svg));
  return writer.Commit();
}

absl::StatusOr<Report> RunDemo(const DemoOptions& options) {
  WINNOW_RETURN_IF_ERROR(CheckServerOptions(options));
  const std::string picture = options.no_picture ? "" : options.picture;
  if (!picture.empty()) WINNOW_RETURN_IF_ERROR(CheckPicture(picture));
  WINNOW_ASSIGN_OR_RETURN(const DemoData data, LoadDemoData(options.data));
  WINNOW_ASSIGN_OR_RETURN(const DemoServer server, ReachServer(options));
  DemoOutcome outcome{.target = server.session->target,
                      .own_server = server.child != nullptr,
                      .device = server.session->DeviceText(),
                      .directory = data.directory,
                      .seed = options.seed,
                      .picture = picture};
  const absl::Time start = absl::Now();
  WINNOW_RETURN_IF_ERROR(RunRows(server.session->client, data, outcome));
  outcome.wall = absl::Now() - start;
  if (!picture.empty()) {
    WINNOW_RETURN_IF_ERROR(WritePicture(picture, Draw(outcome)));
  }
  return DemoReport(outcome);
}

}  // namespace

void AddDemoCommand(CLI::App& root, Commands& commands) {
  auto options = std::make_shared<DemoOptions>();
  CLI::App* command = root.add_subcommand(
      "demo", "The two-level indexer on scores made from text, checked, with a picture");
  command
      ->add_option("--data", options->data,
                   "Directory of the rows; default: those that come with\nwinnow")
      ->type_name("DIRECTORY")
      ->group("Input");
  command->add_option("--seed", options->seed, "Of the random page tables; default 20240229")
      ->type_name("NUMBER")
      ->transform(WholeNumber(0, 9223372036854775807))
      ->group("Input");
  command->add_option("--picture", options->picture, "SVG to write; default winnow-demo.svg")
      ->type_name("FILE")
      ->group("Output");
  command->add_flag("--no-picture", options->no_picture, "Write no picture")
      ->excludes("--picture")
      ->group("Output");
  command
      ->add_option("--server", options->server,
                   "winnow-server to start, whether or not one runs; default:\n"
                   "the one beside this program, else in $PATH")
      ->type_name("PROGRAM")
      ->group("Own server");
  command
      ->add_option("--backend", options->backend,
                   "Of a server that is started, whether or not one runs: cpu,\n"
                   "cuda or auto; default cpu")
      ->type_name("BACKEND")
      ->transform(OneOf({"cpu", "cuda", "auto"}))
      ->group("Own server");
  AddTargetOptions(*command, options->target);
  command->footer(kExample);
  commands.push_back({command, &options->target.json, [options] { return RunDemo(*options); }});
}

}  // namespace winnow::cli
