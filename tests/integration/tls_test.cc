// Who may connect over TLS: each certificate gives the outcome that SECURITY.md says.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "tests/integration/certificates.h"
#include "tests/integration/server_process.h"
#include "tests/testing/requests.h"

namespace winnow::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using Files = CertificateAuthority::Files;

class TlsTest : public ::testing::Test {
 protected:
  TlsTest()
      : ours_(folder_.Path(""), "ours"),
        theirs_(folder_.Path(""), "theirs"),
        server_files_(ours_.Issue("server", "DNS:winnow.test,IP:127.0.0.1")),
        client_files_(ours_.Issue("client", "DNS:engine.test")) {}

  std::unique_ptr<ServerProcess> Start(std::vector<std::string> more = {}) const {
    ServerProcess::Options options;
    options.flags = {"--tls-cert=" + server_files_.certificate, "--tls-key=" + server_files_.key,
                     "--tls-client-ca=" + ours_.certificate_path(), "--tls-reload=1s"};
    options.flags.insert(options.flags.end(), more.begin(), more.end());
    return std::make_unique<ServerProcess>(options);
  }

  // One call on a connection of its own. A null `client` shows no certificate.
  static grpc::Status Call(const ServerProcess& server, const std::string& authority,
                           const Files* client) {
    grpc::SslCredentialsOptions ssl{.pem_root_certs = ReadText(authority)};
    if (client != nullptr) {
      ssl.pem_private_key = ReadText(client->key);
      ssl.pem_cert_chain = ReadText(client->certificate);
    }
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto channel =
        grpc::CreateCustomChannel(server.tcp_target(), grpc::SslCredentials(ssl), arguments);
    v1::TopKResponse response;
    return v1::IndexerService::NewStub(channel)->TopK(Patient().get(), GoodTopK(), &response);
  }
  grpc::Status Call(const ServerProcess& server, const Files* client) const {
    return Call(server, ours_.certificate_path(), client);
  }

  std::string Handshake(const ServerProcess& server, const std::string& flags) const {
    return RunCommand(absl::StrCat("timeout 20 openssl s_client -connect ", server.tcp_target(),
                                   " -alpn h2 -CAfile ", ours_.certificate_path(), " -cert ",
                                   client_files_.certificate, " -key ", client_files_.key, " ",
                                   flags));
  }

  TempFolder folder_;
  const CertificateAuthority ours_, theirs_;
  const Files server_files_, client_files_;
};

TEST_F(TlsTest, ACertificateOfTheAuthorityIsServed) {
  const auto server = Start();
  ASSERT_TRUE(server->running()) << server->log();
  EXPECT_THAT(server->log(), HasSubstr("tls=1.3"));
  const grpc::Status status = Call(*server, &client_files_);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(TlsTest, OtherClientsAreRefusedAndTheServerServesOn) {
  const auto server = Start();
  ASSERT_TRUE(server->running()) << server->log();
  const Files foreign = theirs_.Issue("foreign", "DNS:engine.test");
  const Files expired = ours_.Issue("expired", "DNS:engine.test", -1);
  EXPECT_EQ(Call(*server, nullptr).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Call(*server, &foreign).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Call(*server, &expired).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(Call(*server, &client_files_).ok());
}

TEST_F(TlsTest, AClientThatTrustsAnotherAuthorityDoesNotConnect) {
  const auto server = Start();
  EXPECT_EQ(Call(*server, theirs_.certificate_path(), &client_files_).error_code(),
            grpc::StatusCode::UNAVAILABLE);
}

TEST_F(TlsTest, PlaintextOnATlsListenerIsRefused) {
  const auto server = Start();
  v1::TopKResponse response;
  const auto stub = v1::IndexerService::NewStub(server->Connect(server->tcp_target()));
  EXPECT_EQ(stub->TopK(Patient().get(), GoodTopK(), &response).error_code(),
            grpc::StatusCode::UNAVAILABLE);
}

TEST_F(TlsTest, OnlyNamesOfTheListAreServed) {
  const auto server = Start({"--tls-allow-names=*.engines.test,spiffe://test/engine"});
  ASSERT_TRUE(server->running()) << server->log();
  const Files dns = ours_.Issue("dns", "DNS:other.test,DNS:a.engines.test");
  const Files uri = ours_.Issue("uri", "URI:spiffe://test/engine");
  EXPECT_TRUE(Call(*server, &dns).ok());
  EXPECT_TRUE(Call(*server, &uri).ok());
  EXPECT_EQ(Call(*server, &client_files_).error_code(), grpc::StatusCode::UNAVAILABLE);
  const Files deeper = ours_.Issue("deeper", "DNS:a.b.engines.test");
  EXPECT_EQ(Call(*server, &deeper).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(server->log(), HasSubstr("no name of its certificate is allowed"));
}

TEST_F(TlsTest, VersionsBelow13AreRefused) {
  const auto server = Start();
  EXPECT_THAT(Handshake(*server, "-tls1_3"), HasSubstr("Verify return code: 0 (ok)"));
  const std::string older = Handshake(*server, "-tls1_2");
  EXPECT_THAT(older, HasSubstr("no peer certificate available"));
  EXPECT_THAT(older, HasSubstr("Cipher is (NONE)"));
}

TEST_F(TlsTest, WithoutClientCertificatesAnyoneWhoTrustsTheServerIsServed) {
  const auto server = Start({"--tls-client-auth=none"});
  ASSERT_TRUE(server->running()) << server->log();
  EXPECT_TRUE(Call(*server, nullptr).ok());
}

TEST_F(TlsTest, NewFilesAreUsedWithoutARestart) {
  const auto server = Start();
  ASSERT_TRUE(server->running()) << server->log();
  const Files next_client = theirs_.Issue("next_client", "DNS:engine.test");
  const Files next_server = theirs_.Issue("next_server", "DNS:winnow.test,IP:127.0.0.1");
  EXPECT_FALSE(Call(*server, &next_client).ok());
  ReplaceFile(next_server.key, server_files_.key);
  ReplaceFile(next_server.certificate, server_files_.certificate);
  ReplaceFile(theirs_.certificate_path(), ours_.certificate_path());
  // The files are looked at each second; a connection made meanwhile is not disturbed.
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  grpc::Status status;
  do {
    status = Call(*server, theirs_.certificate_path(), &next_client);
  } while (!status.ok() && absl::Now() < deadline);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(server->running());
}

TEST_F(TlsTest, FilesThatCannotBeUsedEndTheStartWithTheFlagsName) {
  for (const auto& [flag, text] : std::vector<std::pair<std::string, std::string>>{
           {"--tls-cert=/none.pem", "--tls-cert=/none.pem: cannot be read: No such file"},
           {"--tls-key=" + client_files_.key, "or not that of --tls-cert"},
           {"--tls-client-ca=/none.pem", "--tls-client-ca=/none.pem"}}) {
    const auto server = Start({flag});
    EXPECT_EQ(server->AwaitExit(), 1) << flag;
    EXPECT_THAT(server->log(), HasSubstr(text));
  }
}

TEST_F(TlsTest, BeyondLoopbackNeedsTlsOrAnExplicitFlag) {
  ServerProcess plain({.flags = {"--listen=0.0.0.0:0"}, .tcp = false});
  EXPECT_EQ(plain.AwaitExit(), 2);
  EXPECT_THAT(plain.log(), HasSubstr("others need TLS"));
  // The address is loopback, so that the test opens nothing to the network.
  ServerProcess insecure({.flags = {"--insecure-listen=127.0.0.1:0"}, .tcp = false});
  ASSERT_TRUE(insecure.running()) << insecure.log();
  EXPECT_THAT(insecure.log(), Not(HasSubstr("in the clear")));
}

}  // namespace
}  // namespace winnow::testing
