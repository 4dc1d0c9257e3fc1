#include "server/base/logging.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <mutex>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/time/clock.h"

namespace winnow::server {
namespace {

constexpr absl::string_view kLevelNames[] = {"debug", "info", "warning", "error", "off"};
constexpr spdlog::level::level_enum kSpdlogLevels[] = {spdlog::level::debug, spdlog::level::info,
                                                       spdlog::level::warn, spdlog::level::err,
                                                       spdlog::level::off};

// Writes to the sink of a test when there is one, otherwise to standard error.
class SwitchingSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  // The inner sink formats by itself, whatever this one's pattern is.
  SwitchingSink() { standard_error_.set_pattern("%v"); }

  void Redirect(absl::AnyInvocable<void(absl::string_view)> redirect) {
    const std::lock_guard<std::mutex> lock(mutex_);
    redirect_ = std::move(redirect);
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (redirect_) {
      redirect_(absl::string_view(message.payload.data(), message.payload.size()));
    } else {
      standard_error_.log(message);
    }
  }
  void flush_() override { standard_error_.flush(); }

 private:
  absl::AnyInvocable<void(absl::string_view)> redirect_;
  spdlog::sinks::stderr_sink_st standard_error_;
};

struct Front {
  std::shared_ptr<SwitchingSink> sink = std::make_shared<SwitchingSink>();
  spdlog::logger logger{"winnow", sink};

  Front() {
    logger.set_pattern("%v");
    logger.set_level(spdlog::level::info);
  }
};

Front& GetFront() {
  // Never destroyed: threads may log while the process ends.
  static auto* const front = new Front;
  return *front;
}

bool NeedsQuotes(absl::string_view value) {
  if (value.empty()) return true;
  for (const char c : value) {
    if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c == '\x7f') return true;
  }
  return false;
}

void AppendValue(absl::string_view value, std::string& line) {
  if (NeedsQuotes(value)) {
    absl::StrAppend(&line, "\"", absl::Utf8SafeCEscape(value), "\"");
  } else {
    line.append(value.data(), value.size());
  }
}

}  // namespace

std::string FormatLogLine(absl::Time time, LogLevel level, absl::string_view event,
                          std::initializer_list<LogField> fields) {
  std::string line =
      absl::StrCat("time=", absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", time, absl::UTCTimeZone()),
                   " level=", kLevelNames[static_cast<int>(level)], " event=");
  AppendValue(event, line);
  for (const LogField& field : fields) {
    absl::StrAppend(&line, " ", field.key, "=");
    AppendValue(field.value, line);
  }
  return line;
}

void Log(LogLevel level, absl::string_view event, std::initializer_list<LogField> fields) {
  Front& front = GetFront();
  const auto spdlog_level = kSpdlogLevels[static_cast<int>(level)];
  if (level == LogLevel::kOff || !front.logger.should_log(spdlog_level)) return;
  // Wall time, unlike everything else: a log is read beside other machines' logs.
  const std::string line = FormatLogLine(absl::Now(), level, event, fields);
  front.logger.log(spdlog_level, spdlog::string_view_t(line.data(), line.size()));
}

void SetLogLevel(LogLevel level) {
  GetFront().logger.set_level(kSpdlogLevels[static_cast<int>(level)]);
}

LogLevel GetLogLevel() {
  const auto current = GetFront().logger.level();
  for (int level = 0; level < static_cast<int>(LogLevel::kOff); ++level) {
    if (kSpdlogLevels[level] == current) return static_cast<LogLevel>(level);
  }
  return LogLevel::kOff;
}

absl::string_view LogLevelName(LogLevel level) { return kLevelNames[static_cast<int>(level)]; }

std::optional<LogLevel> ParseLogLevel(absl::string_view name) {
  for (int level = 0; level <= static_cast<int>(LogLevel::kOff); ++level) {
    if (kLevelNames[level] == name) return static_cast<LogLevel>(level);
  }
  return std::nullopt;
}

ScopedLogSink::ScopedLogSink(absl::AnyInvocable<void(absl::string_view line)> sink) {
  GetFront().sink->Redirect(std::move(sink));
}

ScopedLogSink::~ScopedLogSink() { GetFront().sink->Redirect(nullptr); }

}  // namespace winnow::server
