// Log lines for people and for machines: one event a line, as key=value pairs that start with the
// time and the level, on standard error. Payload, addresses and lease ids stay out of the log.
//
//   Log(LogLevel::kInfo, "server ready", {{"backend", "cpu"}, {"start_millis", 84}});
//   time=2026-12-01T12:00:00.000123Z level=info event="server ready" backend=cpu start_millis=84

#ifndef WINNOW_SERVER_BASE_LOGGING_H_
#define WINNOW_SERVER_BASE_LOGGING_H_

#include <initializer_list>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace winnow::server {

enum class LogLevel { kDebug = 0, kInfo = 1, kWarning = 2, kError = 3, kOff = 4 };

// A key of lower-case letters, digits and underscores with the text of anything that StrCat takes.
struct LogField {
  LogField(absl::string_view field_key, const absl::AlphaNum& field_value)
      : key(field_key), value(field_value.Piece()) {}
  absl::string_view key;
  std::string value;
};

// Writes one line unless `level` is below the threshold. Never fails; a line that cannot be written
// is dropped. Thread safety: all functions here may be called from several threads.
void Log(LogLevel level, absl::string_view event, std::initializer_list<LogField> fields = {});

// Lines below `level` are dropped from now on. kInfo at start.
void SetLogLevel(LogLevel level);
LogLevel GetLogLevel();
// "debug", "info", "warning", "error" or "off".
absl::string_view LogLevelName(LogLevel level);
// The level of that name; nullopt for anything else.
std::optional<LogLevel> ParseLogLevel(absl::string_view name);

// The line that Log writes, without a line break. Values with spaces, quotes, '=' or control
// characters are quoted and escaped, so that no value can forge a field or a line.
std::string FormatLogLine(absl::Time time, LogLevel level, absl::string_view event,
                          std::initializer_list<LogField> fields);

// Sends lines to `sink` instead of standard error while it lives. One at a time; for tests.
class ScopedLogSink {
 public:
  explicit ScopedLogSink(absl::AnyInvocable<void(absl::string_view line)> sink);
  ~ScopedLogSink();
  ScopedLogSink(const ScopedLogSink&) = delete;
  ScopedLogSink& operator=(const ScopedLogSink&) = delete;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_BASE_LOGGING_H_
