#include "server/app/flags.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "server/app/config_file.h"
#include "server/app/flags_help.h"
#include "server/app/settings.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

using Environment = std::function<const char*(const char* name)>;

constexpr char kConfigVariable[] = "WINNOW_CONFIG";

absl::Status Refuse(std::string message, std::string field) {
  return MakeError(absl::StatusCode::kInvalidArgument, message,
                   {.reason = ErrorReason::kValueOutOfRange, .field = std::move(field)});
}

std::vector<std::string> KnownNames() {
  std::vector<std::string> known;
  for (const Setting& setting : AllSettings()) known.push_back(setting.name);
  for (const CommandFlag& flag : CommandFlags()) known.emplace_back(flag.name);
  return known;
}

absl::Status UnknownFlag(absl::string_view name) {
  const std::string nearest = NearestName(name, KnownNames());
  return Refuse(nearest.empty()
                    ? absl::StrCat("there is no flag --", name, "; --help lists all")
                    : absl::StrCat("there is no flag --", name, "; did you mean --", nearest, "?"),
                absl::StrCat("--", name));
}

// Of an argument that does not begin with --.
absl::Status NoFlag(absl::string_view argument) {
  absl::string_view name = argument.substr(0, argument.find('='));
  absl::ConsumePrefix(&name, "-");
  const std::string nearest = NearestName(name, KnownNames());
  return Refuse(absl::StrCat("\"", argument, "\" is no flag; ",
                             nearest.empty() ? "--help lists all"
                                             : absl::StrCat("did you mean --", nearest, "?")),
                "");
}

std::string VariableOf(absl::string_view name) {
  return absl::StrCat("WINNOW_", absl::AsciiStrToUpper(absl::StrReplaceAll(name, {{"-", "_"}})));
}

// Splits one flag and its value off the front of the arguments and applies them.
class CommandLine {
 public:
  CommandLine(absl::Span<const char* const> arguments, ParsedFlags& flags)
      : arguments_(arguments), flags_(flags) {}

  absl::Status Apply() {
    while (!arguments_.empty()) WINNOW_RETURN_IF_ERROR(ApplyNext());
    return absl::OkStatus();
  }

 private:
  absl::Status ApplyNext() {
    const absl::string_view first = arguments_[0];
    arguments_.remove_prefix(1);
    absl::string_view argument = first;
    if (first == "-h") argument = "--help";
    if (!absl::ConsumePrefix(&argument, "--") || argument.empty()) return NoFlag(first);
    const size_t equals = argument.find('=');
    const absl::string_view name = argument.substr(0, equals);
    if (equals != absl::string_view::npos) value_ = argument.substr(equals + 1);
    has_value_ = equals != absl::string_view::npos;
    for (const CommandFlag& flag : CommandFlags()) {
      if (flag.name == name) return ApplyCommand(flag);
    }
    const Setting* setting = FindSetting(name);
    if (setting == nullptr) return UnknownFlag(name);
    WINNOW_RETURN_IF_ERROR(TakeValue(name, setting->value_name));
    const std::string source = absl::StrCat("--", name);
    const bool is_first = flags_.sources.emplace(setting->name, source).second;
    if (is_first && setting->clear != nullptr) setting->clear(flags_.config);
    return ApplySetting(*setting, source, value_, flags_.config);
  }

  absl::Status TakeValue(absl::string_view name, absl::string_view value_name) {
    if (has_value_) return absl::OkStatus();
    value_ = "true";
    if (value_name.empty()) return absl::OkStatus();
    if (arguments_.empty()) {
      return Refuse(absl::StrCat("--", name, " needs a value: --", name, "=", value_name),
                    absl::StrCat("--", name));
    }
    value_ = arguments_[0];
    arguments_.remove_prefix(1);
    return absl::OkStatus();
  }

  absl::Status ApplyCommand(const CommandFlag& flag) {
    WINNOW_RETURN_IF_ERROR(TakeValue(flag.name, flag.value_name));
    if (flag.name == "config") {
      flags_.config_path = std::string(value_);
      return absl::OkStatus();
    }
    bool& on = flag.name == "help"      ? flags_.help
               : flag.name == "version" ? flags_.version
                                        : flags_.print_config;
    if (absl::SimpleAtob(value_, &on)) return absl::OkStatus();
    return Refuse(absl::StrCat("--", flag.name, " is \"", value_, "\"; it takes true or false"),
                  absl::StrCat("--", flag.name));
  }

  absl::Span<const char* const> arguments_;
  ParsedFlags& flags_;
  absl::string_view value_;
  bool has_value_ = false;
};

absl::Status ApplyEnvironment(const Environment& environment, ParsedFlags& flags) {
  for (const Setting& setting : AllSettings()) {
    const std::string variable = VariableOf(setting.name);
    const char* value = environment(variable.c_str());
    if (value == nullptr || value[0] == '\0') continue;
    if (!flags.sources.emplace(setting.name, variable).second) continue;
    if (setting.clear != nullptr) setting.clear(flags.config);
    WINNOW_RETURN_IF_ERROR(ApplySetting(setting, variable, value, flags.config));
  }
  return absl::OkStatus();
}

absl::Status ApplyFile(const Environment& environment, ParsedFlags& flags) {
  absl::string_view source = "--config";
  if (flags.config_path.empty()) {
    source = kConfigVariable;
    const char* path = environment(kConfigVariable);
    if (path == nullptr || path[0] == '\0') return absl::OkStatus();
    flags.config_path = path;
  }
  WINNOW_ASSIGN_OR_RETURN(const std::vector<ConfigEntry> entries,
                          ReadConfigFile(source, flags.config_path));
  for (const ConfigEntry& entry : entries) {
    const std::string place = absl::StrCat(flags.config_path, ":", entry.line);
    const Setting& setting = *FindSetting(entry.name);
    // A wrong value is refused also where another place wins: it would surprise later.
    ServerConfig ignored;
    const bool wins = flags.sources.emplace(entry.name, place).second;
    ServerConfig& target = wins ? flags.config : ignored;
    if (setting.clear != nullptr) setting.clear(target);
    for (const std::string& value : entry.values) {
      WINNOW_RETURN_IF_ERROR(
          ApplySetting(setting, absl::StrCat(place, ": ", entry.name), value, target));
    }
  }
  return absl::OkStatus();
}

// As YAML takes it: quoted, so that no value is anything but text.
std::string Quoted(absl::string_view value) {
  return absl::StrCat(
      "\"", absl::StrReplaceAll(value, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}}), "\"");
}

}  // namespace

absl::StatusOr<ParsedFlags> ParseFlags(absl::Span<const char* const> arguments,
                                       const Environment& environment) {
  ParsedFlags flags;
  WINNOW_RETURN_IF_ERROR(CommandLine(arguments, flags).Apply());
  if (flags.help || flags.version) return flags;
  WINNOW_RETURN_IF_ERROR(ApplyEnvironment(environment, flags));
  WINNOW_RETURN_IF_ERROR(ApplyFile(environment, flags));
  return flags;
}

std::string PrintConfig(const ParsedFlags& flags) {
  std::string text;
  for (const Setting& setting : AllSettings()) {
    std::vector<std::string> values = setting.get(flags.config);
    for (std::string& value : values) value = Quoted(value);
    const std::string shown = setting.clear != nullptr
                                  ? absl::StrCat("[", absl::StrJoin(values, ", "), "]")
                                  : values.at(0);
    const auto source = flags.sources.find(setting.name);
    absl::StrAppend(&text, setting.name, ": ", shown, "  # ",
                    source == flags.sources.end() ? "default" : source->second, "\n");
  }
  return text;
}

std::vector<std::string> MistypedVariables(absl::Span<const char* const> names) {
  std::vector<std::string> known = {kConfigVariable};
  for (const Setting& setting : AllSettings()) known.push_back(VariableOf(setting.name));
  std::vector<std::string> found;
  for (absl::string_view entry : names) {
    const absl::string_view name = entry.substr(0, entry.find('='));
    if (!absl::StartsWith(name, "WINNOW_")) continue;
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string nearest = NearestName(name, known);
    if (!nearest.empty()) found.push_back(absl::StrCat(name, ": did you mean ", nearest));
  }
  return found;
}

}  // namespace winnow::server
