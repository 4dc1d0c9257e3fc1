// What `winnow demo` prints.

#ifndef WINNOW_CLIENT_CLI_DEMO_DEMO_REPORT_H_
#define WINNOW_CLIENT_CLI_DEMO_DEMO_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/cli/demo/demo_data.h"
#include "client/cli/demo/two_level.h"
#include "client/cli/report.h"

namespace winnow::cli {

struct DemoOutcome {
  std::string target;
  bool own_server = false;
  std::string device;
  std::string directory;
  uint64_t seed = 0;
  TwoLevelParameters parameters;
  std::vector<const DemoRow*> rows;
  std::vector<TwoLevelResult> results;  // as many
  absl::Duration wall;
  std::string picture;  // path; empty: none was drawn
};

// Rows whose results differ from the reference.
int64_t DifferingRows(const DemoOutcome& outcome);

// Table, legend and verdict; failed if a row differs.
Report DemoReport(const DemoOutcome& outcome);

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_DEMO_DEMO_REPORT_H_
