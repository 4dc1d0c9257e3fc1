// What `winnow info` shows.

#ifndef WINNOW_CLIENT_CLI_SERVER_REPORT_H_
#define WINNOW_CLIENT_CLI_SERVER_REPORT_H_

#include <string>

#include "client/cli/report.h"
#include "winnow/client/server_info.h"

namespace winnow::cli {

Report InfoReport(const std::string& target, const client::ServerInfo& info,
                  const client::ServerStats& stats);

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_SERVER_REPORT_H_
