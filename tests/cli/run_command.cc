#include "tests/cli/run_command.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cli/demo/child_server.h"
#include "gtest/gtest.h"
#include "tests/cli/temp_dir.h"

namespace winnow::cli {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(2);

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

void RedirectTo(const std::string& path, int descriptor) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file >= 0) dup2(file, descriptor);
}

int AwaitExitCode(pid_t process) {
  const absl::Time give_up = absl::Now() + kPatience;
  int status = 0;
  while (waitpid(process, &status, WNOHANG) == 0) {
    if (absl::Now() > give_up) {
      kill(process, SIGKILL);
      waitpid(process, &status, 0);
      return -1;
    }
    absl::SleepFor(absl::Milliseconds(1));  // between polls of another process
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

CommandResult RunWinnow(const std::vector<std::string>& arguments,
                        const std::vector<std::string>& environment) {
  TempDir dir;
  std::vector<std::string> words = {WINNOW_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const char* path = getenv("PATH");
  std::vector<std::string> variables = {absl::StrCat("PATH=", path == nullptr ? "" : path),
                                        absl::StrCat("XDG_RUNTIME_DIR=", dir.path())};
  variables.insert(variables.end(), environment.begin(), environment.end());
  const std::vector<char*> word_pointers = Pointers(words);
  const std::vector<char*> variable_pointers = Pointers(variables);
  const std::string out = dir.File("out");
  const std::string err = dir.File("err");
  const pid_t process = fork();
  if (process == 0) {
    RedirectTo(out, STDOUT_FILENO);
    RedirectTo(err, STDERR_FILENO);
    execve(word_pointers[0], word_pointers.data(), variable_pointers.data());
    _exit(127);
  }
  EXPECT_GT(process, 0);
  CommandResult result;
  result.exit_code = AwaitExitCode(process);
  result.out = ReadWholeFile(out);
  result.err = ReadWholeFile(err);
  return result;
}

nlohmann::json ParseJson(const CommandResult& result) {
  nlohmann::json json = nlohmann::json::parse(result.out, nullptr, /*allow_exceptions=*/false);
  EXPECT_TRUE(json.is_object()) << result.out << result.err;
  return json.is_object() ? json : nlohmann::json();
}

std::vector<std::string> TargetArguments() {
  static const std::unique_ptr<ChildServer> server = [] {
    auto started = ChildServer::Start(WINNOW_SERVER_PROGRAM, "cpu");
    EXPECT_TRUE(started.ok()) << started.status();
    return started.ok() ? *std::move(started) : nullptr;
  }();
  return {"--target", server == nullptr ? "unix:/none" : server->target()};
}

CommandResult RunOnServer(std::vector<std::string> arguments) {
  const std::vector<std::string> target = TargetArguments();
  arguments.insert(arguments.end(), target.begin(), target.end());
  return RunWinnow(arguments);
}

}  // namespace winnow::cli
