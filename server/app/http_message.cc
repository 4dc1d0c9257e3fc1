#include "server/app/http_message.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/app/listener.h"

namespace winnow::server {
namespace {

absl::string_view ReasonPhrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return "Error";
  }
}

std::nullopt_t Refuse(int status, std::string body, HttpResponse& refusal) {
  refusal = {.status = status, .body = absl::StrCat(body, "\n")};
  return std::nullopt;
}

}  // namespace

std::optional<size_t> HttpHeadEnd(absl::string_view bytes) {
  const size_t end = bytes.find("\r\n\r\n");
  if (end == absl::string_view::npos) return std::nullopt;
  return end + 4;
}

std::optional<HttpRequest> ParseHttpHead(absl::string_view head, HttpResponse& refusal) {
  const std::vector<absl::string_view> lines = absl::StrSplit(head, "\r\n");
  const std::vector<absl::string_view> words = absl::StrSplit(lines[0], ' ');
  if (words.size() != 3 || !absl::StartsWith(words[2], "HTTP/1.") ||
      !absl::StartsWith(words[1], "/")) {
    return Refuse(400, "this is no HTTP/1.1 request", refusal);
  }
  if (words[0] != "GET" && words[0] != "HEAD") {
    return Refuse(405, "only GET and HEAD are served here", refusal);
  }
  HttpRequest request{.path = std::string(words[1].substr(0, words[1].find('?'))),
                      .head_only = words[0] == "HEAD"};
  for (size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    const size_t colon = lines[i].find(':');
    if (colon == absl::string_view::npos) return Refuse(400, "a field has no colon", refusal);
    const absl::string_view name = lines[i].substr(0, colon);
    const absl::string_view value = absl::StripAsciiWhitespace(lines[i].substr(colon + 1));
    if (absl::EqualsIgnoreCase(name, "host")) request.host = std::string(value);
    if (absl::EqualsIgnoreCase(name, "transfer-encoding") ||
        (absl::EqualsIgnoreCase(name, "content-length") && value != "0")) {
      return Refuse(413, "requests have no body here", refusal);
    }
  }
  return request;
}

std::string EncodeHttpResponse(const HttpResponse& response, bool head_only) {
  return absl::StrCat(
      "HTTP/1.1 ", response.status, " ", ReasonPhrase(response.status),
      "\r\nContent-Type: ", response.content_type, "\r\nContent-Length: ", response.body.size(),
      "\r\nConnection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
      "Referrer-Policy: no-referrer\r\nX-Frame-Options: DENY\r\n"
      "Content-Security-Policy: default-src 'none'; script-src 'unsafe-inline'; "
      "style-src 'unsafe-inline'; img-src data:; connect-src 'self'; form-action 'none'; "
      "base-uri 'none'; frame-ancestors 'none'\r\n\r\n",
      head_only ? absl::string_view() : absl::string_view(response.body));
}

bool IsLoopbackHost(absl::string_view host) {
  const size_t colon = host.rfind(':');
  // The colons of [::1] are inside its brackets.
  if (colon != absl::string_view::npos && host.find(']', colon) == absl::string_view::npos) {
    host = host.substr(0, colon);
  }
  return IsLoopback(std::string(host));
}

}  // namespace winnow::server
