// What a command has to say: for a person and for a program.

#ifndef WINNOW_CLIENT_CLI_REPORT_H_
#define WINNOW_CLIENT_CLI_REPORT_H_

#include <cstdint>
#include <string>

#include "client/cli/number_text.h"
#include "nlohmann/json.hpp"
#include "winnow/client/results.h"

namespace winnow::cli {

using Json = nlohmann::ordered_json;

struct Report {
  std::string text;     // lines, each ended
  Json json;            // an object whose first key is "command"
  bool failed = false;  // the command ran, and what it found is bad: exit 1
};

// Microseconds with the key's unit in its name: {"queue_us": 1.5, ...}.
Json JsonOf(const client::Timing& timing);

// {"identity": 3, "single_block": 8, ...}.
Json JsonOf(const client::RouteCounts& routes);

// "3 identity, 8 single block, 5 split"; "none" for no rows.
std::string Shown(const client::RouteCounts& routes);

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_REPORT_H_
