#include "winnow/client/tls_options.h"

#include <cstdlib>

namespace winnow::client {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

TlsOptions TlsOptionsFromEnvironment(TlsOptions given) {
  const auto fill = [](std::string& field, const char* name) {
    if (field.empty()) field = Variable(name);
  };
  fill(given.ca_path, "WINNOW_CLIENT_TLS_CA");
  if (given.ca_path.empty()) return given;
  fill(given.certificate_path, "WINNOW_CLIENT_TLS_CERTIFICATE");
  fill(given.key_path, "WINNOW_CLIENT_TLS_KEY");
  fill(given.server_name, "WINNOW_CLIENT_TLS_SERVER_NAME");
  return given;
}

}  // namespace winnow::client
