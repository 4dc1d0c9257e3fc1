#include "server/app/pages.h"

#include "server/app/status_page.h"

namespace winnow::server {
namespace {

constexpr char kMetricsType[] = "text/plain; version=0.0.4; charset=utf-8";

HttpResponse Readiness(const RpcEnvironment& environment) {
  switch (environment.state.load(std::memory_order_acquire)) {
    case ServingState::kServing:
      return {.body = "ready\n"};
    case ServingState::kDraining:
      return {.status = 503, .body = "draining\n"};
    case ServingState::kFailed:
      break;
  }
  return {.status = 503, .body = "the device is lost\n"};
}

}  // namespace

HttpResponse ServePage(const HttpRequest& request, bool exposed,
                       const RpcEnvironment& environment) {
  if (request.path == "/metrics") {
    return {.content_type = kMetricsType, .body = environment.metrics->Text()};
  }
  if (request.path == "/healthz") return {.body = "alive\n"};
  if (request.path == "/readyz") return Readiness(environment);
  if (!exposed && request.path == "/") {
    return {.content_type = "text/html; charset=utf-8", .body = StatusPage()};
  }
  if (!exposed && request.path == "/status.json") {
    return {.content_type = "application/json", .body = StatusJson(environment)};
  }
  return {.status = 404,
          .body = exposed ? "here are /metrics, /healthz and /readyz\n"
                          : "here are /, /status.json, /metrics, /healthz and /readyz\n"};
}

}  // namespace winnow::server
