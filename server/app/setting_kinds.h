// How settings of each kind read and show their values. Private to settings.cc.

#ifndef WINNOW_SERVER_APP_SETTING_KINDS_H_
#define WINNOW_SERVER_APP_SETTING_KINDS_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/app/settings.h"
#include "winnow/kernels/plain_number.h"

namespace winnow::server {

// Shared by the makers below: what every setting has.
struct SettingText {
  std::string name, value_name, help;
  std::string default_text;  // see Setting
};

// Bytes, with the suffixes K, M and G (powers of 1024).
Setting SizeSetting(SettingText text, int64_t ServerConfig::*member);
Setting TextSetting(SettingText text, std::string ServerConfig::*member);
Setting SwitchSetting(SettingText text, bool ServerConfig::*member);
// Not negative.
Setting TimeSetting(SettingText text, absl::Duration ServerConfig::*member);
Setting LogLevelSetting(SettingText text, LogLevel ServerConfig::*member);
// Values separated by commas, none of them empty; blanks beside commas are no part of them. Each
// use appends.
Setting ListSetting(SettingText text, std::vector<std::string> ServerConfig::*member);
// A file mode in octal digits, 0 to 777.
Setting ModeSetting(SettingText text, mode_t ServerConfig::*member);

template <typename Integer>
Setting NumberSetting(SettingText text, Integer ServerConfig::*member) {
  return {std::move(text.name),
          std::move(text.value_name),
          std::move(text.help),
          std::move(text.default_text),
          /*group=*/"",
          [member](ServerConfig& config, absl::string_view value) -> std::string {
            return ParsePlainNumber(value, config.*member) ? "" : "a whole number";
          },
          [member](const ServerConfig& config) {
            return std::vector<std::string>{absl::StrCat(config.*member)};
          },
          nullptr};
}

}  // namespace winnow::server

#endif  // WINNOW_SERVER_APP_SETTING_KINDS_H_
