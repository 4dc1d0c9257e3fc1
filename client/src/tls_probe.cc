#include "client/src/tls_probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"

namespace winnow::client {
namespace {

constexpr unsigned char kHttp2[] = {2, 'h', '2'};

// Whether `descriptor` is ready for `events` before the deadline.
bool Await(int descriptor, short events, absl::Time deadline) {
  while (true) {
    // A longer wait does not fit what poll takes.
    const absl::Duration left =
        std::clamp(deadline - absl::Now(), absl::ZeroDuration(), absl::Hours(24));
    pollfd poll_for = {.fd = descriptor, .events = events, .revents = 0};
    const int ready = poll(&poll_for, 1, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1);
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

// 0, or the error of connecting.
int ConnectError(const UniqueDescriptor& connection, const addrinfo& address, absl::Time deadline) {
  if (!connection.valid()) return errno;
  if (connect(connection.get(), address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!Await(connection.get(), POLLOUT, deadline)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(connection.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

bool IsAddress(const std::string& name) {
  in6_addr bytes;
  return inet_pton(AF_INET, name.c_str(), &bytes) == 1 ||
         inet_pton(AF_INET6, name.c_str(), &bytes) == 1;
}

void NoteMessage(int sent, int /*version*/, int type, const void* /*bytes*/, size_t size,
                 SSL* /*ssl*/, void* outcome) {
  auto* noted = static_cast<ProbeOutcome*>(outcome);
  const bool is_tls = type == SSL3_RT_HANDSHAKE || type == SSL3_RT_ALERT;
  if (sent == 0 && is_tls && size > 0) noted->answered_in_tls = true;
}

int NoteRequest(SSL* /*ssl*/, void* outcome) {
  static_cast<ProbeOutcome*>(outcome)->asked_for_certificate = true;
  return 1;  // with what the context has
}

// OpenSSL writes and reads memory; the bytes go through the socket here, which must not raise
// SIGPIPE in somebody's process.
class Handshake {
 public:
  Handshake(const UniqueDescriptor& connection, SSL* ssl, absl::Time deadline)
      : descriptor_(connection.get()), ssl_(ssl), deadline_(deadline) {
    SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  }

  // Runs `step` (as SSL_do_handshake) until it is done. Returns whether it succeeded; else `end`
  // is set.
  template <typename Step>
  bool Run(const Step& step, ProbeOutcome& outcome) {
    while (true) {
      ERR_clear_error();
      const int result = step();
      const int error = SSL_get_error(ssl_, result);
      if (!Flush()) return Ended(ProbeEnd::kClosed, outcome);
      if (result > 0) return true;
      if (error != SSL_ERROR_WANT_READ) {
        outcome.error_reason = ERR_GET_REASON(ERR_peek_error());
        ERR_clear_error();
        return Ended(error == SSL_ERROR_ZERO_RETURN ? ProbeEnd::kClosed : ProbeEnd::kFailed,
                     outcome);
      }
      const ssize_t received = Receive();
      if (received < 0) return Ended(ProbeEnd::kTimedOut, outcome);
      if (received == 0) return Ended(ProbeEnd::kClosed, outcome);
    }
  }

 private:
  static bool Ended(ProbeEnd end, ProbeOutcome& outcome) {
    outcome.end = end;
    return false;
  }

  bool Flush() {
    char bytes[4096];
    int held = 0;
    while ((held = BIO_read(SSL_get_wbio(ssl_), bytes, sizeof(bytes))) > 0) {
      for (int sent = 0; sent < held;) {
        if (!Await(descriptor_, POLLOUT, deadline_)) return false;
        const ssize_t part = send(descriptor_, bytes + sent, held - sent, MSG_NOSIGNAL);
        // A peer that has closed may have said why first.
        if (part < 0) return errno == EPIPE || errno == ECONNRESET;
        sent += static_cast<int>(part);
      }
    }
    return true;
  }

  // Bytes received, 0 at the end of the connection, negative after the deadline.
  ssize_t Receive() {
    char bytes[4096];
    // By the clock also while bytes keep coming: a server may send tickets for ever.
    if (absl::Now() >= deadline_ || !Await(descriptor_, POLLIN, deadline_)) return -1;
    const ssize_t received = recv(descriptor_, bytes, sizeof(bytes), 0);
    if (received <= 0) return 0;
    BIO_write(SSL_get_rbio(ssl_), bytes, static_cast<int>(received));
    return received;
  }

  const int descriptor_;
  SSL* const ssl_;
  const absl::Time deadline_;
};

}  // namespace

absl::StatusOr<UniqueDescriptor> ConnectTcp(const std::string& target, absl::Time deadline) {
  const std::string host(HostOf(target));
  const std::string port = target.substr(target.rfind(':') + 1);
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int lookup = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (lookup != 0) {
    return absl::UnavailableError(
        absl::StrCat("the host ", host, " is not known: ", gai_strerror(lookup)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
  int error = 0;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    UniqueDescriptor connection(
        socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    error = ConnectError(connection, *address, deadline);
    if (error == 0) return connection;
  }
  if (error == ECONNREFUSED)
    return absl::UnavailableError(
        "nobody listens there; start one with 'winnow-server', or name another");
  return absl::UnavailableError(absl::StrCat("no connection: ", strerror(error)));
}

ProbeOutcome ProbeTls(const UniqueDescriptor& connection, SSL_CTX* context,
                      const std::string& server_name, absl::Time deadline) {
  ProbeOutcome outcome;
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context), SSL_free);
  if (ssl == nullptr) return outcome;
  SSL_set_connect_state(ssl.get());
  SSL_set_alpn_protos(ssl.get(), kHttp2, sizeof(kHttp2));
  SSL_set_msg_callback(ssl.get(), NoteMessage);
  SSL_set_msg_callback_arg(ssl.get(), &outcome);
  SSL_set_cert_cb(ssl.get(), NoteRequest, &outcome);
  if (IsAddress(server_name)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()), server_name.c_str());
  } else {
    SSL_set1_host(ssl.get(), server_name.c_str());
    SSL_set_tlsext_host_name(ssl.get(), server_name.c_str());
  }
  Handshake handshake(connection, ssl.get(), deadline);
  outcome.handshake_done = handshake.Run([&] { return SSL_do_handshake(ssl.get()); }, outcome);
  outcome.verify_result = SSL_get_verify_result(ssl.get());
  if (!outcome.handshake_done) return outcome;
  char byte = 0;
  if (handshake.Run([&] { return SSL_read(ssl.get(), &byte, 1); }, outcome)) {
    outcome.end = ProbeEnd::kServed;
  }
  return outcome;
}

}  // namespace winnow::client
