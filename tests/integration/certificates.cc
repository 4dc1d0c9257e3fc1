#include "tests/integration/certificates.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"

namespace winnow::testing {
namespace {

constexpr char kNewKey[] = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";

}  // namespace

std::string RunCommand(const std::string& command) {
  std::FILE* pipe = popen((command + " 2>&1 </dev/null").c_str(), "r");
  std::string output;
  char bytes[512];
  size_t taken = 0;
  while ((taken = std::fread(bytes, 1, sizeof(bytes), pipe)) > 0) output.append(bytes, taken);
  pclose(pipe);
  return output;
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void ReplaceFile(const std::string& from, const std::string& to) {
  std::ofstream(to + ".new") << ReadText(from);
  EXPECT_EQ(std::rename((to + ".new").c_str(), to.c_str()), 0);
}

CertificateAuthority::CertificateAuthority(std::string folder, std::string name)
    : folder_(std::move(folder)), name_(std::move(name)) {
  RunCommand(absl::StrCat("openssl req -x509 ", kNewKey, " -days 2 -subj /CN=", name_, " -keyout ",
                          Path(name_ + "-ca.key"), " -out ", certificate_path()));
  EXPECT_FALSE(ReadText(certificate_path()).empty()) << "openssl made no authority";
}

CertificateAuthority::Files CertificateAuthority::Issue(const std::string& stem,
                                                        const std::string& names, int days) const {
  const Files files{.certificate = Path(stem + ".pem"), .key = Path(stem + ".key")};
  const std::string request = Path(stem + ".csr"), extensions = Path(stem + ".ext");
  std::ofstream(extensions) << "subjectAltName=" << names << "\n";
  RunCommand(absl::StrCat("openssl req -new ", kNewKey, " -subj /CN=", stem, " -keyout ", files.key,
                          " -out ", request));
  const std::string output =
      RunCommand(absl::StrCat("openssl x509 -req -in ", request, " -CA ", certificate_path(),
                              " -CAkey ", Path(name_ + "-ca.key"), " -CAcreateserial -days ", days,
                              " -extfile ", extensions, " -out ", files.certificate));
  EXPECT_FALSE(ReadText(files.certificate).empty()) << output;
  return files;
}

}  // namespace winnow::testing
