#include "server/app/setting_kinds.h"

#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace winnow::server {
namespace {

using Values = std::vector<std::string>;

Setting Make(SettingText text,
             std::function<std::string(ServerConfig&, absl::string_view value)> set,
             std::function<Values(const ServerConfig&)> get) {
  return {std::move(text.name), std::move(text.value_name),
          std::move(text.help), std::move(text.default_text),
          /*group=*/"",         std::move(set),
          std::move(get),       nullptr};
}

std::string SizeText(int64_t bytes) {
  if (bytes == 0) return "0";
  int shift = 0;
  while (shift < 30 && bytes % (int64_t{1} << (shift + 10)) == 0) shift += 10;
  constexpr absl::string_view kSuffixes[] = {"", "K", "M", "G"};
  return absl::StrCat(bytes >> shift, kSuffixes[shift / 10]);
}

}  // namespace

Setting SizeSetting(SettingText text, int64_t ServerConfig::*member) {
  return Make(
      std::move(text),
      [member](ServerConfig& config, absl::string_view value) -> std::string {
        int shift = 0;
        if (absl::ConsumeSuffix(&value, "K")) shift = 10;
        if (absl::ConsumeSuffix(&value, "M")) shift = 20;
        if (absl::ConsumeSuffix(&value, "G")) shift = 30;
        int64_t number = 0;
        if (!ParsePlainNumber(value, number) || number < 0 ||
            number > (std::numeric_limits<int64_t>::max() >> shift)) {
          return "a size such as 1048576, 64M or 1G";
        }
        config.*member = number << shift;
        return "";
      },
      [member](const ServerConfig& config) { return Values{SizeText(config.*member)}; });
}

Setting TextSetting(SettingText text, std::string ServerConfig::*member) {
  return Make(
      std::move(text),
      [member](ServerConfig& config, absl::string_view value) -> std::string {
        config.*member = std::string(value);
        return "";
      },
      [member](const ServerConfig& config) { return Values{config.*member}; });
}

Setting SwitchSetting(SettingText text, bool ServerConfig::*member) {
  return Make(
      std::move(text),
      [member](ServerConfig& config, absl::string_view value) -> std::string {
        return absl::SimpleAtob(value, &(config.*member)) ? "" : "true or false";
      },
      [member](const ServerConfig& config) { return Values{config.*member ? "true" : "false"}; });
}

Setting TimeSetting(SettingText text, absl::Duration ServerConfig::*member) {
  return Make(
      std::move(text),
      [member](ServerConfig& config, absl::string_view value) -> std::string {
        absl::Duration time;
        if (!ParsePlainTime(value, time)) return "a time such as 30s or 2m";
        config.*member = time;
        return "";
      },
      [member](const ServerConfig& config) {
        return Values{absl::FormatDuration(config.*member)};
      });
}

Setting LogLevelSetting(SettingText text, LogLevel ServerConfig::*member) {
  return Make(
      std::move(text),
      [member](ServerConfig& config, absl::string_view value) -> std::string {
        const std::optional<LogLevel> level = ParseLogLevel(value);
        if (!level.has_value()) return "debug, info, warning, error or off";
        config.*member = *level;
        return "";
      },
      [member](const ServerConfig& config) {
        return Values{std::string(LogLevelName(config.*member))};
      });
}

Setting ListSetting(SettingText text, std::vector<std::string> ServerConfig::*member) {
  Setting setting = Make(
      std::move(text),
      [member](ServerConfig& config, absl::string_view value) -> std::string {
        for (absl::string_view element : absl::StrSplit(value, ',')) {
          element = absl::StripAsciiWhitespace(element);
          if (element.empty()) return "values between single commas, none of them empty";
          (config.*member).emplace_back(element);
        }
        return "";
      },
      [member](const ServerConfig& config) { return config.*member; });
  setting.clear = [member](ServerConfig& config) { (config.*member).clear(); };
  return setting;
}

Setting ModeSetting(SettingText text, mode_t ServerConfig::*member) {
  return Make(
      std::move(text),
      [member](ServerConfig& config, absl::string_view value) -> std::string {
        mode_t mode = 0;
        if (value.empty() || value.size() > 4) return "an octal mode such as 0660";
        for (const char digit : value) {
          if (digit < '0' || digit > '7') return "an octal mode such as 0660";
          mode = mode * 8 + static_cast<mode_t>(digit - '0');
        }
        if (mode > 0777) return "an octal mode such as 0660";
        config.*member = mode;
        return "";
      },
      [member](const ServerConfig& config) {
        return Values{absl::StrFormat("%04o", config.*member)};
      });
}

}  // namespace winnow::server
