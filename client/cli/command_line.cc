#include "client/cli/command_line.h"

#include <errno.h>
#include <stdio.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/help_format.h"
#include "client/cli/session.h"
#include "client/cli/suggest.h"

namespace winnow::cli {
namespace {

constexpr char kDescription[] =
    "winnow: exact top-k, block maxima and candidate blocks for sparse-attention indexers,\n"
    "run by a winnow-server. Arrays are numpy .npy files, in and out.";

constexpr char kFooter[] =
    "Start here:\n"
    "  winnow demo                 what the operations do, on rows made from text, with a picture\n"
    "  winnow help topk            the options of one command, with an example\n"
    "\n"
    "Exit codes: 0 done; 1 failed; 2 wrong usage or input; 3 no server answers. One line on\n"
    "stderr says what is wrong and what to do.\n";

void AddCommands(CLI::App& root, Commands& commands) {
  AddTopKCommand(root, commands);
  AddPlanCommand(root, commands);
  AddBlockAmaxCommand(root, commands);
  AddSortBlocksCommand(root, commands);
  AddPublishCommand(root, commands);
  AddConsumeCommand(root, commands);
  AddDemoCommand(root, commands);
  AddInfoCommand(root, commands);
  AddProbeCommand(root, commands);
  AddLeasesCommand(root, commands);
  AddOccupancyCommand(root, commands);
  AddDrainCommand(root, commands);
}

const CLI::App& Deepest(const CLI::App& root) {
  const std::vector<CLI::App*> parsed = root.get_subcommands();
  return parsed.empty() ? root : Deepest(*parsed.front());
}

// "winnow leases end".
std::string PathOf(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name()
                                     : absl::StrCat(PathOf(*app.get_parent()), " ", app.get_name());
}

std::vector<std::string> KnownWords(const CLI::App& app, bool options) {
  std::vector<std::string> words;
  if (options) {
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames())
        words.push_back(absl::StrCat("--", name));
    }
  } else {
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
      words.push_back(command->get_name());
    }
  }
  return words;
}

std::string Escaped(absl::string_view text) { return absl::Utf8SafeCEscape(text.substr(0, 80)); }

// What is said of the first argument that nothing takes; empty when there is none.
std::string UnknownArgument(const CLI::App& root) {
  const CLI::App& app = Deepest(root);
  std::vector<std::string> rest;
  for (const CLI::App* from = &app; rest.empty() && from != nullptr; from = from->get_parent()) {
    rest = from->remaining();
  }
  if (rest.empty()) return "";
  // The value of an unknown option stands beside it; the option is what is wrong. What follows an
  // unknown command is unknown for that alone.
  const auto looked_at = &app == &root ? rest.begin() + 1 : rest.end();
  const auto option = std::find_if(
      rest.begin(), looked_at, [](const std::string& word) { return absl::StartsWith(word, "-"); });
  const bool is_option = option != looked_at;
  const std::string& wrong = is_option ? *option : rest[0];
  const std::string word = std::vector<std::string>(absl::StrSplit(wrong, '='))[0];
  std::string near = Nearest(word, KnownWords(app, is_option));
  // "version", which other programs take.
  if (near.empty() && !is_option && !word.empty()) {
    near = Nearest(absl::StrCat("--", word), KnownWords(app, /*options=*/true));
  }
  const std::string hint = near.empty() ? "" : absl::StrCat("; did you mean ", near, "?");
  if (is_option) return absl::StrCat("unknown option ", Escaped(word), hint);
  if (!KnownWords(app, /*options=*/false).empty()) {
    return absl::StrCat("unknown command '", Escaped(word), "'", hint);
  }
  return absl::StrCat("unexpected argument '", Escaped(word), "'", hint);
}

// What is said of an option that has no value, took the next option for it, or has two; empty when
// there is none.
std::string WrongCount(const CLI::App& app, const CLI::ParseError& error) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& value : option->results()) {
      if (!absl::StartsWith(value, "--") || app.get_option_no_throw(value) == nullptr) continue;
      return absl::StrCat(option->get_name(), ": needs a value before ", value);
    }
  }
  // "--k: 1 required NUMBER missing", "--k: At Most 1 required but received 2".
  const absl::string_view what = error.what();
  const std::string option = OneLine(what.substr(0, what.find(':')));
  if (absl::EndsWith(what, " missing")) return absl::StrCat(option, ": needs a value");
  if (absl::StrContains(what, "At Most 1 required")) {
    return absl::StrCat(option, ": given more than once; give it once");
  }
  return "";
}

int UsageFailure(const CLI::App& root, const CLI::ParseError& error) {
  std::string what = WrongCount(Deepest(root), error);
  if (what.empty()) what = UnknownArgument(root);
  if (what.empty()) what = OneLine(error.what());
  const std::string command = absl::StrCat(PathOf(Deepest(root)), " --help");
  const absl::string_view end = absl::EndsWith(what, "?") ? " See '" : "; see '";
  fputs(FailureLine(absl::InvalidArgumentError(absl::StrCat(what, end, command, "'"))).c_str(),
        stderr);
  return kExitBadInput;
}

int Print(const std::string& text, int exit_code) {
  if (fputs(text.c_str(), stdout) >= 0 && fflush(stdout) == 0) return exit_code;
  fputs(absl::StrCat("winnow: the output cannot be written: ", strerror(errno), "\n").c_str(),
        stderr);
  return exit_code == kExitOk ? kExitFailed : exit_code;
}

int RunCommand(const Command& command) {
  const absl::StatusOr<Report> report = command.run();
  if (!report.ok()) {
    fputs(FailureLine(report.status()).c_str(), stderr);
    const int exit_code = ExitCodeOf(report.status());
    if (!*command.json) return exit_code;
    return Print(absl::StrCat(FailureJson(command.app->get_name(), report.status())
                                  .dump(2, ' ', false, Json::error_handler_t::replace),
                              "\n"),
                 exit_code);
  }
  const int exit_code = report->failed ? kExitFailed : kExitOk;
  if (!*command.json) return Print(report->text, exit_code);
  // Names of devices and files may hold bytes that are no UTF-8.
  return Print(absl::StrCat(report->json.dump(2, ' ', false, Json::error_handler_t::replace), "\n"),
               exit_code);
}

// The words after the program's name, the last first as the parser takes them. "help topk" means
// "topk --help".
std::vector<std::string> Words(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + 1, argv + std::max(argc, 1));
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.push_back("--help");
  }
  std::reverse(words.begin(), words.end());
  return words;
}

// "help nope" has asked for the help of nothing.
int ShowHelp(const CLI::App& root, const CLI::ParseError& asked) {
  return UnknownArgument(root).empty() ? Print(root.help(), kExitOk) : UsageFailure(root, asked);
}

}  // namespace

int RunCommandLine(int argc, const char* const* argv) {
  CLI::App root(kDescription, "winnow");
  root.formatter(std::make_shared<HelpFormat>());
  root.footer(kFooter);
  root.set_help_flag("-h,--help", "Show this help");
  root.set_version_flag("--version", "winnow " WINNOW_VERSION, "Show the version");
  root.require_subcommand(1);
  Commands commands;
  AddCommands(root, commands);
  for (const Command& command : commands) {
    // Set anew, so that it stands after the command's own options.
    command.app->set_help_flag("-h,--help", "Show this help")->group(kServerGroup);
    command.app->group("Commands");
  }
  try {
    root.parse(Words(argc, argv));
  } catch (const CLI::CallForHelp& asked) {
    return ShowHelp(root, asked);
  } catch (const CLI::CallForVersion& version) {
    return Print(absl::StrCat(version.what(), "\n"), kExitOk);
  } catch (const CLI::ParseError& error) {
    if (argc < 2) return Print(root.help(), kExitBadInput);
    return UsageFailure(root, error);
  }
  for (const Command& command : commands) {
    if (command.app->parsed()) return RunCommand(command);
  }
  return kExitBadInput;
}

}  // namespace winnow::cli
