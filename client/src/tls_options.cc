#include "winnow/client/tls_options.h"

#include <cstdlib>

namespace winnow::client {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

TlsOptions TlsOptionsFromEnvironment() {
  const std::string ca_path = Variable("WINNOW_CLIENT_TLS_CA");
  if (ca_path.empty()) return {};
  return {.ca_path = ca_path,
          .certificate_path = Variable("WINNOW_CLIENT_TLS_CERTIFICATE"),
          .key_path = Variable("WINNOW_CLIENT_TLS_KEY"),
          .server_name = Variable("WINNOW_CLIENT_TLS_SERVER_NAME")};
}

}  // namespace winnow::client
