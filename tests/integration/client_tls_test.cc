// The client library over TLS: who is served, and what the others are told to do.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/integration/certificates.h"
#include "tests/integration/server_process.h"
#include "tests/integration/test_programs.h"
#include "tests/testing/status_matchers.h"
#include "winnow/client/client.h"
#include "winnow/client/diagnosis.h"
#include "winnow/client/error.h"
#include "winnow/client/lease.h"

namespace winnow::testing {
namespace {

using client::TlsOptions;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Files = CertificateAuthority::Files;

// A TCP port that no other program is given while this lives, and at which nobody listens unless
// told to: a server may, for its socket and this one both have SO_REUSEADDR.
class ReservedPort {
 public:
  ReservedPort() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
    EXPECT_EQ(bind(socket_, any, length), 0);
    EXPECT_EQ(getsockname(socket_, any, &length), 0);
    target_ = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  }
  ~ReservedPort() { close(socket_); }
  ReservedPort(const ReservedPort&) = delete;
  ReservedPort& operator=(const ReservedPort&) = delete;

  const std::string& target() const { return target_; }

 private:
  const int socket_;
  std::string target_;
};

class ClientTlsTest : public ::testing::Test {
 protected:
  ClientTlsTest()
      : ours_(folder_.Path(""), "ours"),
        theirs_(folder_.Path(""), "theirs"),
        server_files_(ours_.Issue("server", "DNS:winnow.test,IP:127.0.0.1")),
        client_files_(ours_.Issue("client", "DNS:engine.test")) {}

  ServerProcess::Options TlsServer(const Files& files, std::vector<std::string> more) const {
    ServerProcess::Options options;
    options.flags = {"--tls-cert=" + files.certificate, "--tls-key=" + files.key,
                     "--tls-client-ca=" + ours_.certificate_path(), "--tls-reload=1s"};
    options.flags.insert(options.flags.end(), more.begin(), more.end());
    return options;
  }
  std::unique_ptr<ServerProcess> Start(const Files& files, std::vector<std::string> more) const {
    auto server = std::make_unique<ServerProcess>(TlsServer(files, std::move(more)));
    EXPECT_TRUE(server->running()) << server->log();
    return server;
  }
  std::unique_ptr<ServerProcess> Start() const { return Start(server_files_, {}); }

  TlsOptions Tls() const { return Tls(client_files_); }
  TlsOptions Tls(const Files& files) const {
    return {.ca_path = ours_.certificate_path(),
            .certificate_path = files.certificate,
            .key_path = files.key};
  }

  static absl::Status Call(const std::string& target, std::optional<TlsOptions> tls) {
    const auto client = client::Client::Create({.target = target,
                                                .tls = std::move(tls),
                                                .timeout = absl::Seconds(20),
                                                .retry = client::RetryPolicy::Never()});
    return client.ok() ? client->GetServerInfo().status() : client.status();
  }
  // A call that is not served, and what is said of it.
  static absl::Status Diagnosis(const ServerProcess& server, std::optional<TlsOptions> tls) {
    const absl::Status status = Call(server.tcp_target(), tls);
    EXPECT_TRUE(client::IsUnreachable(status)) << status;
    const absl::Status why = client::DiagnoseConnection(
        {.target = server.tcp_target(), .tls = std::move(tls)}, absl::Seconds(10));
    EXPECT_TRUE(client::IsUnreachable(why)) << why;
    return why;
  }
  static ::testing::Matcher<absl::Status> Says(const std::string& what) {
    return StatusIs(absl::StatusCode::kUnavailable,
                    AllOf(HasSubstr("no server answers at 127.0.0.1:"), HasSubstr(what)));
  }

  std::string File(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.Path(name)) << text;
    return folder_.Path(name);
  }

  TempFolder folder_;
  const CertificateAuthority ours_, theirs_;
  const Files server_files_, client_files_;
};

TEST_F(ClientTlsTest, AClientWithACertificateIsServedCallsAndStreamsAlike) {
  const auto server = Start();
  EXPECT_OK(Call(server->tcp_target(), Tls()));
  EXPECT_OK(client::DiagnoseConnection({.target = server->tcp_target(), .tls = Tls()}));
  const auto client =
      client::Client::Create({.target = server->tcp_target(), .tls = Tls(), .streaming = true});
  ASSERT_OK(client);
  const std::vector<float> scores = {1, 9, 3};
  const std::vector<int32_t> lengths = {3};
  const auto result = client->TopK({.scores = client::Float32Matrix(scores.data(), 1, 3),
                                    .lengths = client::Int32Column(lengths),
                                    .k = 1});
  ASSERT_OK(result);
  EXPECT_EQ(result->indices.row<int32_t>(0)[0], 1);
  EXPECT_OK(client->OpenLease({.display_name = "over TLS"}));
}

TEST_F(ClientTlsTest, AnotherNameOfTheServerCanBeExpected) {
  const auto server = Start(ours_.Issue("named", "DNS:winnow.test"), {});
  TlsOptions tls = Tls();
  EXPECT_THAT(Diagnosis(*server, tls), Says("is for another name than 127.0.0.1"));
  tls.server_name = "winnow.test";
  EXPECT_OK(Call(server->tcp_target(), tls));
  EXPECT_OK(client::DiagnoseConnection({.target = server->tcp_target(), .tls = tls}));
  tls.server_name = "other.test";
  EXPECT_THAT(Diagnosis(*server, tls), Says("tls.server_name"));
}

TEST_F(ClientTlsTest, AServerThatIsNotTrustedIsSaidToBeOfAnotherAuthorityOrExpired) {
  const auto server = Start();
  TlsOptions tls = Tls();
  tls.ca_path = theirs_.certificate_path();
  EXPECT_THAT(Diagnosis(*server, tls), Says("an authority that tls.ca_path does not have"));
  const auto expired = Start(ours_.Issue("old_server", "IP:127.0.0.1", -1), {});
  EXPECT_THAT(Diagnosis(*expired, Tls()), Says("has expired; whoever runs the server"));
}

TEST_F(ClientTlsTest, AClientThatTheServerRefusesIsToldWhatToDo) {
  const auto server = Start();
  EXPECT_THAT(Diagnosis(*server, TlsOptions{.ca_path = ours_.certificate_path()}),
              Says("the server wants a certificate of its clients; give one with"));
  EXPECT_THAT(Diagnosis(*server, Tls(ours_.Issue("old", "DNS:engine.test", -1))),
              Says("the certificate of this client (tls.certificate_path) has expired"));
  EXPECT_THAT(Diagnosis(*server, Tls(theirs_.Issue("foreign", "DNS:engine.test"))),
              Says("refuses this client's certificate"));
  const auto strict = Start(server_files_, {"--tls-allow-names=other.test"});
  EXPECT_THAT(Diagnosis(*strict, Tls()), Says("--tls-allow-names"));
}

TEST_F(ClientTlsTest, SidesThatDisagreeAboutTlsAreTold) {
  const auto server = Start();
  EXPECT_THAT(Diagnosis(*server, TlsOptions()),
              Says("the server speaks TLS and this client does not"));
  const ServerProcess plain;
  EXPECT_THAT(Diagnosis(plain, Tls()), Says("the server does not speak TLS there"));
  EXPECT_OK(client::DiagnoseConnection({.target = plain.tcp_target(), .tls = TlsOptions()}));
}

TEST_F(ClientTlsTest, WhereNobodyListensIsSaidSo) {
  const ReservedPort port;
  EXPECT_THAT(client::DiagnoseConnection({.target = port.target(), .tls = Tls()}),
              Says("nobody listens there; start one"));
  EXPECT_THAT(client::DiagnoseConnection({.target = "no.such.host.invalid:1"}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("is not known")));
}

TEST_F(ClientTlsTest, FilesThatCannotBeUsedAreNamedBeforeAnythingIsSent) {
  const auto refused = [&](const TlsOptions& tls, const std::string& field,
                           const std::string& what) {
    const absl::Status status = Call("127.0.0.1:1", tls);
    EXPECT_THAT(status, FailsWith(ErrorReason::kValueOutOfRange, field));
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
  };
  const std::string text = File("text.pem", "no certificate\n");
  TlsOptions tls = Tls();
  tls.ca_path = "/none.pem";
  refused(tls, "tls.ca_path", "tls.ca_path is /none.pem: No such file");
  tls.ca_path = text;
  refused(tls, "tls.ca_path", "it holds no PEM certificate");
  tls = Tls();
  tls.certificate_path = text;
  refused(tls, "tls.certificate_path", "it holds no PEM certificate");
  tls = Tls();
  tls.certificate_path = folder_.Path("");
  refused(tls, "tls.certificate_path", "Is a directory");
  tls = Tls();
  tls.key_path = server_files_.key;
  refused(tls, "tls.key_path", "it is not the key of the certificate in tls.certificate_path");
  tls.key_path = text;
  refused(tls, "tls.key_path", "it holds no PEM key that can be read without a password");
}

TEST_F(ClientTlsTest, OptionsThatDoNotGoTogetherAreRefused) {
  TlsOptions tls = Tls();
  EXPECT_THAT(Call("unix:/s", tls), FailsWith(ErrorReason::kFieldsConflict, "tls"));
  tls.key_path.clear();
  EXPECT_THAT(Call("127.0.0.1:1", tls), FailsWith(ErrorReason::kFieldMissing, "tls.key_path"));
  tls = Tls();
  tls.certificate_path.clear();
  EXPECT_THAT(Call("127.0.0.1:1", tls),
              FailsWith(ErrorReason::kFieldMissing, "tls.certificate_path"));
  tls = Tls();
  tls.ca_path.clear();
  EXPECT_THAT(Call("127.0.0.1:1", tls), FailsWith(ErrorReason::kFieldMissing, "tls.ca_path"));
}

TEST_F(ClientTlsTest, TheEnvironmentCountsForTheNetworkAndWhenNothingElseIsSaid) {
  const auto server = Start();
  setenv("WINNOW_CLIENT_TLS_CERTIFICATE", client_files_.certificate.c_str(), 1);
  setenv("WINNOW_CLIENT_TLS_KEY", client_files_.key.c_str(), 1);
  EXPECT_FALSE(Call(server->tcp_target(), std::nullopt).ok()) << "without an authority: no TLS";
  setenv("WINNOW_CLIENT_TLS_CA", ours_.certificate_path().c_str(), 1);
  EXPECT_OK(Call(server->tcp_target(), std::nullopt));
  EXPECT_OK(Call(server->unix_target(), std::nullopt));
  const ServerProcess plain;
  EXPECT_OK(Call(plain.tcp_target(), TlsOptions()));
  for (const char* name :
       {"WINNOW_CLIENT_TLS_CERTIFICATE", "WINNOW_CLIENT_TLS_KEY", "WINNOW_CLIENT_TLS_CA"}) {
    unsetenv(name);
  }
}

TEST_F(ClientTlsTest, CertificatesAreReadAgainForTheNextConnection) {
  const ReservedPort port;
  const std::string target = port.target();
  ServerProcess::Options options = TlsServer(server_files_, {"--listen=" + target});
  options.tcp = false;
  ServerProcess server(options);
  const auto client = client::Client::Create({.target = target, .tls = Tls()});
  ASSERT_OK(client);
  ASSERT_OK(client->GetServerInfo());
  // Server and client move to the other authority; the connection that exists goes on.
  const Files next_server = theirs_.Issue("next_server", "IP:127.0.0.1");
  const Files next_client = theirs_.Issue("next_client", "DNS:engine.test");
  ReplaceFile(next_client.key, client_files_.key);
  ReplaceFile(next_client.certificate, client_files_.certificate);
  ReplaceFile(next_server.key, server_files_.key);
  ReplaceFile(next_server.certificate, server_files_.certificate);
  ReplaceFile(theirs_.certificate_path(), ours_.certificate_path());
  EXPECT_OK(client->GetServerInfo());
  server.Signal(SIGTERM);
  ASSERT_EQ(server.AwaitExit(), 0);
  const ServerProcess restarted(options);
  ASSERT_TRUE(restarted.log().find("tls=1.3") != std::string::npos) << restarted.log();
  // The client looks at its files every ten seconds.
  const absl::Time give_up = absl::Now() + absl::Seconds(40);
  absl::Status status;
  do {
    status = client->GetServerInfo({.wait_for_ready = false}).status();
  } while (!status.ok() && absl::Now() < give_up);
  EXPECT_OK(status);
}

// The programs, as a person would run them.
std::string Shell(const std::string& command) {
  return RunCommand("{ " + command + "; echo \" code $?\"; }");
}

TEST_F(ClientTlsTest, TheCommandLinesTakeFlagsAndTheEnvironment) {
  const auto server = Start();
  const std::string ca = "--tls-ca=" + ours_.certificate_path();
  const std::string identity = absl::StrCat(" --tls-certificate=", client_files_.certificate,
                                            " --tls-key=", client_files_.key);
  const std::string environment =
      absl::StrCat("env WINNOW_CLIENT_TLS_CA=", ours_.certificate_path(),
                   " WINNOW_CLIENT_TLS_CERTIFICATE=", client_files_.certificate,
                   " WINNOW_CLIENT_TLS_KEY=", client_files_.key, " ");
  const std::string probe =
      absl::StrCat(ProgramPath(WINNOW_PROGRAM), " probe --target=", server->tcp_target(), " ");
  const std::string stress =
      absl::StrCat(ProgramPath(WINNOW_STRESS_PROGRAM), " --target=", server->tcp_target(),
                   " --mix=topk:1x64:8 --duration=100ms --warm-up=0s --verify=1 ");
  for (const std::string& program : {probe, stress}) {
    EXPECT_THAT(Shell(program + ca + identity), HasSubstr(" code 0")) << program;
    EXPECT_THAT(Shell(environment + program), HasSubstr(" code 0")) << program;
    EXPECT_THAT(
        Shell(program + ca),
        AllOf(HasSubstr("give one with --tls-certificate and --tls-key"), HasSubstr(" code 3")));
    EXPECT_THAT(Shell(program), AllOf(HasSubstr("the server speaks TLS and this client does not; "
                                                "name the authority of its certificate with "
                                                "--tls-ca"),
                                      HasSubstr(" code 3")));
    EXPECT_THAT(Shell(program + "--tls-ca=/none.pem"),
                AllOf(HasSubstr("--tls-ca is /none.pem: No such file"), HasSubstr(" code 2")));
    EXPECT_THAT(Shell(program + "--tls-server-name=a.test"),
                AllOf(HasSubstr("--tls-ca is empty"), HasSubstr(" code 2")));
  }
}

}  // namespace
}  // namespace winnow::testing
