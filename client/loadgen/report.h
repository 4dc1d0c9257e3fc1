// What came out of a run: a table for people, JSON and CSV for machines, a picture.

#ifndef WINNOW_CLIENT_LOADGEN_REPORT_H_
#define WINNOW_CLIENT_LOADGEN_REPORT_H_

#include <string>
#include <vector>

#include "client/loadgen/run_result.h"

namespace winnow::stress {

// One run, and the rate that it asked for (0: closed loop).
struct Point {
  double asked_rate = 0;
  RunResult result;
};

// The percentiles by stage, and what went wrong.
std::string Table(const RunResult& result);
// One line for each point: rate, p50, p99, failures.
std::string SearchTable(const std::vector<Point>& points);
// All points, the last one being the run that counts.
std::string Json(const std::vector<Point>& points);
// "quantile,total_us,queue_us,launch_us,device_us" of the run.
std::string Csv(const RunResult& result);
// Distribution of the last point's latencies and, with several points, latency against rate. SVG.
std::string Picture(const std::vector<Point>& points);

}  // namespace winnow::stress

#endif  // WINNOW_CLIENT_LOADGEN_REPORT_H_
