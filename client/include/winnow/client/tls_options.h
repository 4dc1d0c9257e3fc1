// TLS of a client: which authority it trusts, and what it shows for itself.

#ifndef WINNOW_CLIENT_TLS_OPTIONS_H_
#define WINNOW_CLIENT_TLS_OPTIONS_H_

#include <string>

namespace winnow::client {

// All files are PEM. They are looked at every ten seconds: the next connection uses what is there
// then, so that certificates are replaced without a restart (replace each by renaming, key first).
// winnow-server speaks TLS 1.3 alone; with other servers a client takes the best version that both
// know.
struct TlsOptions {
  std::string ca_path;  // authorities that sign servers' certificates. Empty: no TLS
  // What this client shows, and its key: both or none. winnow-server wants them unless it runs with
  // --tls-client-auth=none.
  std::string certificate_path;  // the chain, this client's certificate first
  std::string key_path;
  // The name, or address, that the server's certificate must have. Empty: the host of the target.
  std::string server_name;
};

// `given`, and what the environment says of its empty fields: WINNOW_CLIENT_TLS_CA, then
// WINNOW_CLIENT_TLS_CERTIFICATE, _KEY and _SERVER_NAME, which mean nothing while there is no
// ca_path from either.
TlsOptions TlsOptionsFromEnvironment(TlsOptions given = {});

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_TLS_OPTIONS_H_
