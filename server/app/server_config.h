// What a server is started with: plain values, filled by flags.h, checked here.

#ifndef WINNOW_SERVER_APP_SERVER_CONFIG_H_
#define WINNOW_SERVER_APP_SERVER_CONFIG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/app/listener.h"
#include "server/base/logging.h"

namespace winnow::server {

struct ServerConfig {
  // "unix:PATH" or "HOST:PORT"; empty: DefaultListener(). With a certificate the TCP ones speak
  // TLS.
  std::vector<std::string> listeners;
  std::vector<std::string> insecure_listeners;  // "HOST:PORT" of any address, in the clear
  std::vector<std::string> admin_listeners;     // "unix:PATH", mode 0600, who may drain the server
  mode_t socket_mode = 0660;                    // of the Unix sockets of --listen
  std::string socket_group;                     // likewise; empty: the process's
  std::vector<std::string> allowed_uids;        // besides the server's own; empty: not checked
  int32_t max_connections = 1024;

  std::string tls_certificate;  // paths of PEM files; empty: no TLS
  std::string tls_key;
  std::string tls_client_ca;
  std::string tls_client_auth = "require";        // or "none"
  std::vector<std::string> tls_allowed_names;     // subject alternative names of clients
  absl::Duration tls_reload = absl::Seconds(10);  // how often the files are looked at

  std::string backend = "auto";  // "auto", "cuda" or "cpu"
  int32_t device = 0;            // ordinal of the GPU
  // Ordinals of several devices, or "all"; empty: `device` alone. Of CPU devices, which share the
  // cores, only their number.
  std::vector<std::string> devices;
  int32_t threads = 0;       // CPU backend: worker threads; 0: one per usable core
  int32_t launch_slots = 4;  // batches in flight at once
  int32_t queues = 0;        // completion queues of gRPC; 0: one for every four cores, 1 to 4

  int64_t max_inline_bytes = int64_t{64} << 20;  // of a request's inputs and outputs, each
  int64_t max_queued_requests = 4096;
  int64_t max_queued_bytes = int64_t{1} << 30;
  int32_t max_concurrent_streams = 1024;
  int32_t max_batch_requests = 256;
  int64_t max_batch_rows = 8192;
  int64_t max_batch_bytes = int64_t{256} << 20;
  int64_t buffer_pool_bytes = int64_t{1} << 30;
  int64_t staging_pool_bytes = int64_t{256} << 20;

  int64_t max_leases = 1024;
  int64_t max_lease_bytes = int64_t{1}
                            << 30;  // of buffers, page tables and plans; at most the pool
  int64_t max_lease_resources = 4096;
  int64_t max_lease_requests = 1024;  // waiting or running
  absl::Duration max_resume_grace = absl::Minutes(5);

  std::vector<std::string> http_listeners;           // pages and metrics: unix:PATH or loopback
  std::vector<std::string> insecure_http_listeners;  // metrics and health on any address

  absl::Duration slow_request = absl::Seconds(1);  // slower ones are logged; 0: none
  absl::Duration drain_timeout = absl::Seconds(30);
  LogLevel log_level = LogLevel::kInfo;
  bool tcp_admin = false;  // peers on TCP may drain the server

  // The ordinals of all devices, at least one; "all" asks the driver. Of a configuration that is
  // valid (device_numbers.cc).
  std::vector<int32_t> DeviceNumbers() const;
  bool has_tls() const { return !tls_certificate.empty(); }

  // InvalidArgument with the flag as field ("--max-queued-bytes"), value and limit.
  absl::Status Validate() const;
};

// What the addresses of each flag may be.
ListenerRule MainListenerRule(const ServerConfig& config);
ListenerRule InsecureListenerRule();
ListenerRule AdminListenerRule();
ListenerRule HttpListenerRule();
ListenerRule ExposedHttpListenerRule();

}  // namespace winnow::server

#endif  // WINNOW_SERVER_APP_SERVER_CONFIG_H_
