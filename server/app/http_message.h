// The little of HTTP/1.1 that metrics and a status page need: GET and HEAD without a body, one
// request a connection. Next: http_server.h.

#ifndef WINNOW_SERVER_APP_HTTP_MESSAGE_H_
#define WINNOW_SERVER_APP_HTTP_MESSAGE_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace winnow::server {

// More bytes than that before the empty line: refused.
inline constexpr size_t kMaxHttpHeadBytes = 8192;

struct HttpRequest {
  std::string path;  // without the query
  std::string host;  // the Host field; empty: none
  bool head_only = false;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

// Where the head of a request ends: the position after its empty line; nullopt while it is
// incomplete.
std::optional<size_t> HttpHeadEnd(absl::string_view bytes);

// Parses the head of a request. Otherwise `refusal` holds the answer: 400 for what is no HTTP/1,
// 405 for other methods, 413 for a body.
std::optional<HttpRequest> ParseHttpHead(absl::string_view head, HttpResponse& refusal);

// The bytes of an answer, after which the connection is closed. Pages may load nothing from
// elsewhere and are not cached.
std::string EncodeHttpResponse(const HttpResponse& response, bool head_only);

// Whether `host` (of the Host field) names this machine's loopback. A page of another site that
// makes its name resolve to 127.0.0.1 would otherwise read ours through the user's browser.
bool IsLoopbackHost(absl::string_view host);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_APP_HTTP_MESSAGE_H_
