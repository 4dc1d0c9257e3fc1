// Serves pages to people and scrapers: one thread, a bounded number of connections, each with a
// deadline. What is served is decided by the handler; see pages.h.

#ifndef WINNOW_SERVER_APP_HTTP_SERVER_H_
#define WINNOW_SERVER_APP_HTTP_SERVER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/app/http_message.h"

namespace winnow::server {

struct HttpListener {
  std::string address;                 // "unix:PATH" or "HOST:PORT"; port 0 takes a free one
  bool exposed = false;                // beyond loopback, in the clear: the handler is told
  std::string flag = "--http-listen";  // what named the address, for messages
};

struct HttpServerOptions {
  std::vector<HttpListener> listeners;
  int max_connections = 64;                           // more are closed as they come
  absl::Duration request_timeout = absl::Seconds(5);  // from accept to the last byte
};

class HttpServer {
 public:
  // Called on the server's thread, one request at a time; must not block for long.
  using Handler = std::function<HttpResponse(const HttpRequest&, bool exposed)>;

  // Listens at once; answers after Open. A Unix socket gets mode 0660; its path must be free (see
  // SocketClaim). Requests on a loopback address must name it as their host. Unavailable when an
  // address cannot be bound.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Listen(HttpServerOptions options);
  virtual ~HttpServer() = default;

  // Starts to answer, until it is destroyed. Once.
  virtual void Open(Handler handler) = 0;

  // As given, with ports that were 0 filled in.
  virtual const std::vector<std::string>& addresses() const = 0;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_APP_HTTP_SERVER_H_
