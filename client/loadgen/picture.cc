// The picture of a report: curves on plain axes, as SVG that a browser shows light or dark.

#include <algorithm>
#include <cmath>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/loadgen/report.h"

namespace winnow::stress {
namespace {

constexpr double kWidth = 760, kHeight = 300, kLeft = 70, kBottom = 46, kTop = 40, kRight = 90;

struct Curve {
  std::string name, color;
  std::vector<std::pair<double, double>> points;  // each 0 to 1
};

struct Tick {
  double at = 0;  // 0 to 1
  std::string text;
};

std::string TimeText(double micros) {
  if (micros < 1e3) return absl::StrFormat("%g us", micros);
  if (micros < 1e6) return absl::StrFormat("%g ms", micros / 1e3);
  return absl::StrFormat("%g s", micros / 1e6);
}

// A logarithmic axis of times that holds all of `values`.
class TimeAxis {
 public:
  explicit TimeAxis(const std::vector<double>& values) {
    double low = 1e12, high = 1;
    for (const double value : values) {
      if (value <= 0) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
    low_ = std::floor(std::log10(std::min(low, high)));
    high_ = std::max(low_ + 1, std::ceil(std::log10(high)));
  }
  double At(double micros) const {
    return (std::clamp(std::log10(std::max(micros, 1e-9)), low_, high_) - low_) / (high_ - low_);
  }
  std::vector<Tick> ticks() const {
    std::vector<Tick> ticks;
    for (double exponent = low_; exponent <= high_; ++exponent) {
      const double micros = std::pow(10, exponent);
      ticks.push_back({At(micros), TimeText(micros)});
    }
    return ticks;
  }

 private:
  double low_, high_;
};

std::string Chart(double top, const std::string& title, const std::vector<Tick>& x_ticks,
                  const std::vector<Tick>& y_ticks, const std::vector<Curve>& curves) {
  const auto x = [](double at) { return kLeft + at * (kWidth - kLeft - kRight); };
  const auto y = [top](double at) { return top + kTop + (1 - at) * (kHeight - kTop - kBottom); };
  std::string svg = absl::StrFormat("<text class=\"title\" x=\"%g\" y=\"%g\">%s</text>\n", kLeft,
                                    top + 22, title);
  for (const Tick& tick : y_ticks) {
    absl::StrAppendFormat(&svg,
                          "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/><text x=\"%.1f\" y=\"%.1f\" "
                          "text-anchor=\"end\">%s</text>\n",
                          x(0), y(tick.at), x(1), x(0) - 8, y(tick.at) + 4, tick.text);
  }
  for (const Tick& tick : x_ticks) {
    absl::StrAppendFormat(&svg, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
                          x(tick.at), y(0) + 20, tick.text);
  }
  double last_label = -1e9;
  for (const Curve& curve : curves) {
    if (curve.points.empty()) continue;
    std::string path;
    for (const auto& [at_x, at_y] : curve.points) {
      absl::StrAppendFormat(&path, "%s%.1f %.1f", path.empty() ? "M" : "L", x(at_x), y(at_y));
    }
    // Names beside the ends of their curves, pushed apart where these meet.
    double label = y(curve.points.back().second) + 4;
    if (std::abs(label - last_label) < 15) label = last_label + 15;
    last_label = label;
    absl::StrAppendFormat(&svg,
                          "<path class=\"curve\" stroke=\"%s\" d=\"%s\"/><text x=\"%.1f\" "
                          "y=\"%.1f\" style=\"fill:%s\">%s</text>\n",
                          curve.color, path, x(curve.points.back().first) + 8, label, curve.color,
                          curve.name);
  }
  return svg;
}

std::string Distribution(double top, const RunResult& result) {
  const std::pair<const LatencyHistogram*, std::pair<const char*, const char*>> stages[] = {
      {&result.latency, {"total", "#2f7de1"}},
      {&result.queue, {"queue", "#e07b1f"}},
      {&result.device, {"device", "#2c9c69"}}};
  constexpr double kNines = 4;  // to 99.99 %
  std::vector<double> all;
  for (const auto& [histogram, look] : stages) {
    all.push_back(absl::ToDoubleMicroseconds(histogram->Quantile(0.01)));
    all.push_back(absl::ToDoubleMicroseconds(histogram->Quantile(0.9999)));
  }
  const TimeAxis axis(all);
  std::vector<Curve> curves;
  for (const auto& [histogram, look] : stages) {
    Curve curve{look.first, look.second, {}};
    for (double nines = 0; nines <= kNines; nines += 0.05) {
      const double quantile = 1 - std::pow(10, -nines);
      curve.points.emplace_back(nines / kNines,
                                axis.At(absl::ToDoubleMicroseconds(histogram->Quantile(quantile))));
    }
    curves.push_back(std::move(curve));
  }
  std::sort(curves.begin(), curves.end(), [](const Curve& a, const Curve& b) {
    return a.points.back().second > b.points.back().second;
  });
  const std::vector<Tick> percents = {
      {0, "min"}, {0.25, "90 %"}, {0.5, "99 %"}, {0.75, "99.9 %"}, {1, "99.99 %"}};
  return Chart(top, "Latency by percentile", percents, axis.ticks(), curves);
}

std::string RateAgainstLatency(double top, std::vector<Point> points) {
  std::sort(points.begin(), points.end(),
            [](const Point& a, const Point& b) { return a.asked_rate < b.asked_rate; });
  const double high = points.back().asked_rate;
  std::vector<double> all;
  for (const Point& point : points) {
    all.push_back(absl::ToDoubleMicroseconds(point.result.latency.Quantile(0.5)));
    all.push_back(absl::ToDoubleMicroseconds(point.result.latency.Quantile(0.99)));
  }
  const TimeAxis axis(all);
  std::vector<Curve> curves = {{"p99", "#e07b1f", {}}, {"p50", "#2f7de1", {}}};
  for (const Point& point : points) {
    const double x = point.asked_rate / high;
    for (size_t i = 0; i < curves.size(); ++i) {
      const absl::Duration latency = point.result.latency.Quantile(i == 0 ? 0.99 : 0.5);
      curves[i].points.emplace_back(x, axis.At(absl::ToDoubleMicroseconds(latency)));
    }
  }
  std::vector<Tick> rates;
  for (const double part : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    rates.push_back({part, absl::StrFormat("%.0f/s", high * part)});
  }
  return Chart(top, "Latency against rate", rates, axis.ticks(), curves);
}

}  // namespace

std::string Picture(const std::vector<Point>& points) {
  const bool search = points.size() > 1;
  const double height = search ? 2 * kHeight : kHeight;
  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\">\n<style>\n"
      "svg{background:#fff}text{font:13px system-ui,sans-serif;fill:#5d6b7a}"
      ".title{font-size:15px;font-weight:600;fill:#1b2430}.grid{stroke:#dfe3e8;fill:none}"
      ".curve{fill:none;stroke-width:2}\n"
      "@media(prefers-color-scheme:dark){svg{background:#18202a}text{fill:#98a6b5}"
      ".title{fill:#e6ebf1}.grid{stroke:#2b3643}}\n</style>\n",
      kWidth, height, kWidth);
  absl::StrAppend(&svg, Distribution(0, points.back().result));
  if (search) absl::StrAppend(&svg, RateAgainstLatency(kHeight, points));
  return svg + "</svg>\n";
}

}  // namespace winnow::stress
