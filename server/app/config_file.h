// The configuration file of winnow-server: YAML, one key for each setting, named as its flag.
//
//   listen: [unix:/run/winnow/winnow.sock, 127.0.0.1:7070]
//   max-queued-bytes: 1G

#ifndef WINNOW_SERVER_APP_CONFIG_FILE_H_
#define WINNOW_SERVER_APP_CONFIG_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace winnow::server {

struct ConfigEntry {
  std::string name;                 // of a setting that exists
  std::vector<std::string> values;  // one, or those of a list
  int line = 0;                     // from 1
};

// Reads the text of a file; `path` is for messages. InvalidArgument names path and line: for a key
// that is no setting (with the nearest name), a key given twice, a value that is no scalar (a list
// for a setting that takes one), and text that is no YAML. An empty text has no entries.
absl::StatusOr<std::vector<ConfigEntry>> ParseConfigText(absl::string_view path,
                                                         const std::string& text);

// NotFound, by the name of `source` ("--config", or the variable) that gave the path, when the file
// cannot be read; InvalidArgument as above, and above 1 MiB.
absl::StatusOr<std::vector<ConfigEntry>> ReadConfigFile(absl::string_view source,
                                                        const std::string& path);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_APP_CONFIG_FILE_H_
