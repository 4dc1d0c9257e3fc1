// The registry and its text form; histogram.cc holds the distribution itself.

#include "server/base/metrics.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace winnow::server {

int ShardedSum::ShardOfThisThread() {
  static std::atomic<int> threads{0};
  thread_local const int shard = threads.fetch_add(1, std::memory_order_relaxed) % kShards;
  return shard;
}

int64_t ShardedSum::value() const {
  int64_t sum = 0;
  for (const Shard& shard : shards_) sum += shard.value.load(std::memory_order_acquire);
  return sum;
}

struct MetricsRegistry::Series {
  MetricLabels labels;
  std::unique_ptr<Counter> counter;
  std::unique_ptr<Gauge> gauge;
  std::unique_ptr<Histogram> histogram;
  absl::AnyInvocable<double() const> read;
};

struct MetricsRegistry::Family {
  std::string name, help, type;
  std::vector<std::unique_ptr<Series>> series;
  absl::AnyInvocable<std::vector<Sample>() const> collect;
};

namespace {

std::string EscapeLabel(absl::string_view value) {
  return absl::StrReplaceAll(value, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}});
}

// Fifteen digits: with the usual six a counter of millions would stand still and then jump.
std::string NumberText(double value) { return absl::StrFormat("%.15g", value); }

// {a="1",b="2"}, with `extra` as the last pair; empty when there is nothing to say.
std::string LabelText(const MetricLabels& labels, absl::string_view extra = "") {
  std::string text;
  for (const auto& [label, value] : labels) {
    absl::StrAppend(&text, text.empty() ? "" : ",", label, "=\"", EscapeLabel(value), "\"");
  }
  if (!extra.empty()) absl::StrAppend(&text, text.empty() ? "" : ",", extra);
  return text.empty() ? text : absl::StrCat("{", text, "}");
}

void AppendHistogram(absl::string_view name, const MetricLabels& labels, const Histogram& histogram,
                     std::string& text) {
  int64_t cumulative = 0;
  for (size_t i = 0; i <= histogram.bounds().size(); ++i) {
    cumulative += histogram.bucket_count(i);
    const std::string bound = i == histogram.bounds().size()
                                  ? "+Inf"
                                  : absl::StrCat(absl::ToDoubleSeconds(histogram.bounds()[i]));
    absl::StrAppend(&text, name, "_bucket", LabelText(labels, absl::StrCat("le=\"", bound, "\"")),
                    " ", cumulative, "\n");
  }
  absl::StrAppend(&text, name, "_sum", LabelText(labels), " ",
                  NumberText(absl::ToDoubleSeconds(histogram.sum())), "\n");
  // The same observations as the buckets above, even while others arrive.
  absl::StrAppend(&text, name, "_count", LabelText(labels), " ", cumulative, "\n");
}

}  // namespace

MetricsRegistry::MetricsRegistry() = default;
MetricsRegistry::~MetricsRegistry() = default;

MetricsRegistry::Family& MetricsRegistry::FindOrAddFamily(absl::string_view name,
                                                          absl::string_view help,
                                                          absl::string_view type) {
  const auto family = std::find_if(families_.begin(), families_.end(),
                                   [&](const auto& candidate) { return candidate->name == name; });
  if (family != families_.end()) return **family;
  families_.push_back(std::make_unique<Family>(
      Family{std::string(name), std::string(help), std::string(type), {}, nullptr}));
  return *families_.back();
}

MetricsRegistry::Series& MetricsRegistry::FindOrAdd(absl::string_view name, absl::string_view help,
                                                    absl::string_view type, MetricLabels labels) {
  Family& family = FindOrAddFamily(name, help, type);
  for (const auto& series : family.series) {
    if (series->labels == labels) return *series;
  }
  family.series.push_back(std::make_unique<Series>());
  family.series.back()->labels = std::move(labels);
  return *family.series.back();
}

Counter* MetricsRegistry::AddCounter(absl::string_view name, absl::string_view help,
                                     MetricLabels labels) {
  absl::MutexLock lock(&mu_);
  Series& series = FindOrAdd(name, help, "counter", std::move(labels));
  if (series.counter == nullptr) series.counter = std::make_unique<Counter>();
  return series.counter.get();
}

Gauge* MetricsRegistry::AddGauge(absl::string_view name, absl::string_view help,
                                 MetricLabels labels) {
  absl::MutexLock lock(&mu_);
  Series& series = FindOrAdd(name, help, "gauge", std::move(labels));
  if (series.gauge == nullptr) series.gauge = std::make_unique<Gauge>();
  return series.gauge.get();
}

Histogram* MetricsRegistry::AddHistogram(absl::string_view name, absl::string_view help,
                                         MetricLabels labels, std::vector<absl::Duration> bounds) {
  absl::MutexLock lock(&mu_);
  Series& series = FindOrAdd(name, help, "histogram", std::move(labels));
  if (series.histogram == nullptr) {
    series.histogram = std::make_unique<Histogram>(std::move(bounds));
  }
  return series.histogram.get();
}

void MetricsRegistry::AddCallback(CallbackKind kind, absl::string_view name, absl::string_view help,
                                  MetricLabels labels, absl::AnyInvocable<double() const> read) {
  absl::MutexLock lock(&mu_);
  FindOrAdd(name, help, kind == CallbackKind::kCounter ? "counter" : "gauge", std::move(labels))
      .read = std::move(read);
}

void MetricsRegistry::AddCollector(CallbackKind kind, absl::string_view name,
                                   absl::string_view help,
                                   absl::AnyInvocable<std::vector<Sample>() const> read) {
  absl::MutexLock lock(&mu_);
  FindOrAddFamily(name, help, kind == CallbackKind::kCounter ? "counter" : "gauge").collect =
      std::move(read);
}

std::string MetricsRegistry::Text() const {
  // Families and series stay where they are; callbacks run without the lock.
  std::vector<std::pair<const Family*, std::vector<const Series*>>> families;
  {
    absl::MutexLock lock(&mu_);
    for (const auto& family : families_) {
      families.emplace_back(family.get(), std::vector<const Series*>());
      for (const auto& series : family->series) families.back().second.push_back(series.get());
    }
  }
  std::string text;
  for (const auto& [family, all_series] : families) {
    absl::StrAppend(&text, "# HELP ", family->name, " ",
                    absl::StrReplaceAll(family->help, {{"\\", "\\\\"}, {"\n", "\\n"}}), "\n# TYPE ",
                    family->name, " ", family->type, "\n");
    for (const Series* series : all_series) AppendSeries(family->name, *series, text);
    if (!family->collect) continue;
    for (const Sample& sample : family->collect()) {
      absl::StrAppend(&text, family->name, LabelText(sample.labels), " ", NumberText(sample.value),
                      "\n");
    }
  }
  return text;
}

void MetricsRegistry::AppendSeries(absl::string_view name, const Series& series,
                                   std::string& text) {
  if (series.histogram != nullptr) {
    return AppendHistogram(name, series.labels, *series.histogram, text);
  }
  absl::StrAppend(&text, name, LabelText(series.labels), " ");
  if (series.counter != nullptr) absl::StrAppend(&text, series.counter->value(), "\n");
  if (series.gauge != nullptr) absl::StrAppend(&text, series.gauge->value(), "\n");
  if (series.read) absl::StrAppend(&text, NumberText(series.read()), "\n");
}

}  // namespace winnow::server
