#include "server/app/config_file.h"

#include <yaml-cpp/yaml.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "server/app/settings.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

constexpr size_t kMaxFileBytes = size_t{1} << 20;

absl::Status Refuse(absl::string_view path, int line, absl::string_view why,
                    absl::string_view name = "") {
  return MakeError(absl::StatusCode::kInvalidArgument, absl::StrCat(path, ":", line, ": ", why),
                   {.reason = ErrorReason::kValueOutOfRange, .field = std::string(name)});
}

absl::Status UnknownKey(absl::string_view path, int line, const std::string& key) {
  std::vector<std::string> known;
  for (const Setting& setting : AllSettings()) known.push_back(setting.name);
  const std::string nearest = NearestName(key, known);
  return Refuse(path, line,
                absl::StrCat("there is no setting ", absl::Utf8SafeCEscape(key.substr(0, 80)),
                             nearest.empty() ? "; --help lists all"
                                             : absl::StrCat("; did you mean ", nearest, "?")),
                key);
}

// Adds the scalars of `value` to the entry.
absl::Status TakeValues(absl::string_view path, const YAML::Node& value, bool may_be_list,
                        ConfigEntry& entry) {
  if (value.IsScalar()) {
    entry.values.push_back(value.Scalar());
    return absl::OkStatus();
  }
  if (value.IsNull()) {
    return Refuse(path, entry.line,
                  absl::StrCat(entry.name, " has no value; give one or remove the line"),
                  entry.name);
  }
  if (!value.IsSequence() || !may_be_list) {
    return Refuse(
        path, entry.line,
        absl::StrCat(entry.name, may_be_list ? " takes a value or a list of values: [a, b]"
                                             : " takes one value"),
        entry.name);
  }
  for (const YAML::Node& element : value) {
    if (!element.IsScalar()) {
      return Refuse(path, element.Mark().line + 1,
                    absl::StrCat("a list of ", entry.name, " holds plain values"), entry.name);
    }
    entry.values.push_back(element.Scalar());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ConfigEntry>> TakeEntries(absl::string_view path,
                                                     const YAML::Node& document) {
  std::vector<ConfigEntry> entries;
  if (document.IsNull()) return entries;
  if (!document.IsMap()) return Refuse(path, 1, "the file holds lines of the form name: value");
  std::set<std::string> seen;
  for (const auto& pair : document) {
    ConfigEntry entry{.line = pair.first.Mark().line + 1};
    if (!pair.first.IsScalar())
      return Refuse(path, entry.line, "a name must be plain text, as in name: value");
    entry.name = pair.first.Scalar();
    const Setting* setting = FindSetting(entry.name);
    if (setting == nullptr) return UnknownKey(path, entry.line, entry.name);
    if (!seen.insert(entry.name).second) {
      return Refuse(path, entry.line,
                    absl::StrCat(entry.name, " is given twice; remove one of the lines"),
                    entry.name);
    }
    WINNOW_RETURN_IF_ERROR(TakeValues(path, pair.second, setting->clear != nullptr, entry));
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace

absl::StatusOr<std::vector<ConfigEntry>> ParseConfigText(absl::string_view path,
                                                         const std::string& text) {
  // The parser speaks in exceptions; they end here.
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() > 1) {
      return Refuse(path, documents[1].Mark().line + 1,
                    "a second document begins here; remove the --- between settings");
    }
    return TakeEntries(path, documents.empty() ? YAML::Node() : documents[0]);
  } catch (const YAML::Exception& error) {
    return Refuse(
        path, error.mark.line + 1,
        absl::StrCat("not YAML (", absl::Utf8SafeCEscape(error.msg),
                     "); write name: value, lists as [a, b], text with : or # in quotes"));
  }
}

absl::StatusOr<std::vector<ConfigEntry>> ReadConfigFile(absl::string_view source,
                                                        const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "re");
  std::string text;
  size_t taken = 0;
  int error = file == nullptr ? errno : 0;
  if (file != nullptr) {
    text.resize(kMaxFileBytes + 1);
    taken = std::fread(text.data(), 1, text.size(), file);
    if (std::ferror(file) != 0) error = errno;
    std::fclose(file);
  }
  if (error != 0) {
    return MakeError(
        absl::StatusCode::kNotFound,
        absl::StrCat(source, "=", path, ": cannot be read: ", strerror(error),
                     "; check the path and who may read it"),
        {.reason = ErrorReason::kValueOutOfRange, .field = std::string(source), .value = path});
  }
  if (taken > kMaxFileBytes) return Refuse(path, 1, "a configuration has at most 1 MiB");
  text.resize(taken);
  return ParseConfigText(path, text);
}

}  // namespace winnow::server
