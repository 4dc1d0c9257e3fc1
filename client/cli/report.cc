#include "client/cli/report.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace winnow::cli {

Json JsonOf(const client::Timing& timing) {
  return {{"queue_us", absl::ToDoubleMicroseconds(timing.queue)},
          {"launch_us", absl::ToDoubleMicroseconds(timing.launch)},
          {"device_us", absl::ToDoubleMicroseconds(timing.device)},
          {"total_us", absl::ToDoubleMicroseconds(timing.total)}};
}

Json JsonOf(const client::RouteCounts& routes) {
  return {{"identity", routes.identity},
          {"single_block", routes.single_block},
          {"streaming", routes.streaming},
          {"cluster", routes.cluster},
          {"split", routes.split}};
}

std::string Shown(const client::RouteCounts& routes) {
  const std::pair<int64_t, absl::string_view> counts[] = {{routes.identity, "identity"},
                                                          {routes.single_block, "single block"},
                                                          {routes.streaming, "streaming"},
                                                          {routes.cluster, "cluster"},
                                                          {routes.split, "split"}};
  std::vector<std::string> parts;
  for (const auto& [count, name] : counts) {
    if (count > 0) parts.push_back(absl::StrCat(Grouped(count), " ", name));
  }
  return parts.empty() ? "none" : absl::StrJoin(parts, ", ");
}

}  // namespace winnow::cli
