#include "client/cli/tls_flags.h"

#include <cstdlib>

#include "gtest/gtest.h"

namespace winnow::cli {
namespace {

class TlsFlagsTest : public ::testing::Test {
 protected:
  void SetUp() override { Clear(); }
  void TearDown() override { Clear(); }

 private:
  static void Clear() {
    for (const char* name : {"WINNOW_CLIENT_TLS_CA", "WINNOW_CLIENT_TLS_CERTIFICATE",
                             "WINNOW_CLIENT_TLS_KEY", "WINNOW_CLIENT_TLS_SERVER_NAME"}) {
      unsetenv(name);
    }
  }
};

TEST_F(TlsFlagsTest, WithoutFlagsAllIsLeftToTheEnvironment) {
  setenv("WINNOW_CLIENT_TLS_CA", "/ca", 1);
  EXPECT_FALSE(TlsOf({}).has_value());
}

TEST_F(TlsFlagsTest, EachFieldWithoutAFlagIsThatOfTheEnvironment) {
  setenv("WINNOW_CLIENT_TLS_CERTIFICATE", "/certificate", 1);
  setenv("WINNOW_CLIENT_TLS_KEY", "/key", 1);
  const auto tls = TlsOf({.ca_path = "/ca", .key_path = "/other"});
  ASSERT_TRUE(tls.has_value());
  EXPECT_EQ(tls->ca_path, "/ca");
  EXPECT_EQ(tls->certificate_path, "/certificate");
  EXPECT_EQ(tls->key_path, "/other");
  EXPECT_EQ(tls->server_name, "");
}

TEST_F(TlsFlagsTest, TheEnvironmentAddsNothingWithoutAnAuthority) {
  setenv("WINNOW_CLIENT_TLS_CERTIFICATE", "/certificate", 1);
  const auto tls = TlsOf({.server_name = "name"});
  ASSERT_TRUE(tls.has_value());
  EXPECT_EQ(tls->ca_path, "");
  EXPECT_EQ(tls->certificate_path, "");
  EXPECT_EQ(tls->server_name, "name");
}

}  // namespace
}  // namespace winnow::cli
