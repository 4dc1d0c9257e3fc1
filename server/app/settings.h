// Every setting of a server: its name, what it takes, and where its value goes. The command line,
// the environment and the configuration file all use this one table; next: flags.h.

#ifndef WINNOW_SERVER_APP_SETTINGS_H_
#define WINNOW_SERVER_APP_SETTINGS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/app/server_config.h"

namespace winnow::server {

struct Setting {
  std::string name;        // "max-queued-bytes"
  std::string value_name;  // what --help shows for its value; empty: a switch
  std::string help;
  std::string default_text;  // what --help shows for the default; empty: the value itself
  std::string group;         // under which --help lists it
  // Takes a value as text; what it should have looked like when it is no such value, else "".
  std::function<std::string(ServerConfig&, absl::string_view value)> set;
  // The value as `set` takes it; of a list one for each element.
  std::function<std::vector<std::string>(const ServerConfig&)> get;
  // Empties a list, to which `set` appends; null for a single value.
  std::function<void(ServerConfig&)> clear;
};

// In the order in which --help lists them, one group after another.
const std::vector<Setting>& AllSettings();

// Null when there is none.
const Setting* FindSetting(absl::string_view name);

// The name of `known` that `typed` was most likely meant to be, the first of equals; "" when none
// is near enough: at most three and a third of its letters differ, or `typed` is the start of it.
std::string NearestName(absl::string_view typed, const std::vector<std::string>& known);

// Gives `value` to the setting. InvalidArgument names `source` ("--threads", "WINNOW_THREADS",
// "winnow.yaml:3: threads"), the value and what the setting takes.
absl::Status ApplySetting(const Setting& setting, absl::string_view source, absl::string_view value,
                          ServerConfig& config);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_APP_SETTINGS_H_
