#include "client/loadgen/report.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "winnow/kernels/count_text.h"

namespace winnow::stress {
namespace {

using Json_ = nlohmann::ordered_json;

constexpr std::pair<double, const char*> kQuantiles[] = {
    {0.5, "p50"}, {0.9, "p90"}, {0.99, "p99"}, {0.999, "p99.9"}, {0.9999, "p99.99"}};

double Micros(absl::Duration duration) { return absl::ToDoubleMicroseconds(duration); }

std::string Row(const char* stage, const LatencyHistogram& histogram) {
  std::string row = absl::StrFormat("%-8s", stage);
  for (const auto& [quantile, name] : kQuantiles) {
    absl::StrAppendFormat(&row, " %10.1f", Micros(histogram.Quantile(quantile)));
  }
  absl::StrAppendFormat(&row, " %10.1f %10.1f\n", Micros(histogram.max()),
                        Micros(histogram.mean()));
  return row;
}

Json_ Percentiles(const LatencyHistogram& histogram) {
  Json_ json;
  for (const auto& [quantile, name] : kQuantiles) {
    json[name] = Micros(histogram.Quantile(quantile));
  }
  json["max"] = Micros(histogram.max());
  json["mean"] = Micros(histogram.mean());
  return json;
}

}  // namespace

std::string Table(const RunResult& result) {
  std::string text =
      absl::StrFormat("%d requests in %s, %.1f a second; %d results verified\n\n", result.ok,
                      absl::FormatDuration(result.elapsed), result.rate(), result.verified);
  absl::StrAppendFormat(&text, "%-8s", "us");
  for (const auto& [quantile, name] : kQuantiles) absl::StrAppendFormat(&text, " %10s", name);
  absl::StrAppendFormat(&text, " %10s %10s\n", "max", "mean");
  absl::StrAppend(&text, Row("total", result.latency), Row("queue", result.queue),
                  Row("launch", result.launch), Row("device", result.device));
  if (!result.errors.empty()) absl::StrAppend(&text, "\nrefused or failed:\n");
  for (const auto& [name, count] : result.errors) {
    const auto unexpected = result.unexpected.find(name);
    absl::StrAppendFormat(&text, "  %-24s %10d%s\n", name, count,
                          unexpected == result.unexpected.end()
                              ? ""
                              : absl::StrCat("  unexpected: ", unexpected->second));
  }
  for (const auto& [name, message] : result.texts) {
    absl::StrAppend(&text, "  first unexpected ", name, ": ", message, "\n");
  }
  if (result.not_sent > 0) {
    absl::StrAppend(&text, "\n", CountText(result.not_sent, "request"),
                    " due and not sent: too many were in flight\n");
  }
  if (result.wrong > 0) {
    absl::StrAppend(&text, "\nWRONG RESULTS: ", result.wrong, "; first: ", result.first_wrong,
                    "\n");
  }
  return text;
}

std::string SearchTable(const std::vector<Point>& points) {
  std::string text = absl::StrFormat("%12s %12s %10s %10s %10s\n", "asked/s", "answered/s",
                                     "p50 us", "p99 us", "failed");
  for (const Point& point : points) {
    int64_t failed = point.result.not_sent;
    for (const auto& [name, count] : point.result.errors) failed += count;
    absl::StrAppendFormat(&text, "%12.0f %12.1f %10.1f %10.1f %10d\n", point.asked_rate,
                          point.result.rate(), Micros(point.result.latency.Quantile(0.5)),
                          Micros(point.result.latency.Quantile(0.99)), failed);
  }
  return text;
}

std::string Json(const std::vector<Point>& points) {
  Json_ runs = Json_::array();
  for (const Point& point : points) {
    const RunResult& result = point.result;
    runs.push_back({{"asked_rate", point.asked_rate},
                    {"rate", result.rate()},
                    {"seconds", absl::ToDoubleSeconds(result.elapsed)},
                    {"ok", result.ok},
                    {"not_sent", result.not_sent},
                    {"verified", result.verified},
                    {"wrong", result.wrong},
                    {"errors", result.errors},
                    {"unexpected", result.unexpected},
                    {"latency_us",
                     {{"total", Percentiles(result.latency)},
                      {"queue", Percentiles(result.queue)},
                      {"launch", Percentiles(result.launch)},
                      {"device", Percentiles(result.device)}}}});
  }
  return Json_{{"runs", runs}}.dump(2) + "\n";
}

std::string Csv(const RunResult& result) {
  std::string text = "quantile,total_us,queue_us,launch_us,device_us\n";
  for (double rest = 1.0; rest > 1e-5; rest *= 0.8) {
    const double quantile = 1.0 - rest;
    absl::StrAppendFormat(
        &text, "%.6f,%.1f,%.1f,%.1f,%.1f\n", quantile, Micros(result.latency.Quantile(quantile)),
        Micros(result.queue.Quantile(quantile)), Micros(result.launch.Quantile(quantile)),
        Micros(result.device.Quantile(quantile)));
  }
  return text;
}

}  // namespace winnow::stress
