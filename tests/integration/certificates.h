// A certificate authority of one test: keys and certificates made by the openssl program.

#ifndef WINNOW_TESTS_INTEGRATION_CERTIFICATES_H_
#define WINNOW_TESTS_INTEGRATION_CERTIFICATES_H_

#include <string>

namespace winnow::testing {

class CertificateAuthority {
 public:
  // Writes into `folder`, which exists; `name` tells authorities in one folder apart.
  CertificateAuthority(std::string folder, std::string name);

  std::string certificate_path() const { return Path(name_ + "-ca.pem"); }

  struct Files {
    std::string certificate, key;
  };
  // `names` as openssl takes them: "DNS:a.test,URI:spiffe://b/c,IP:127.0.0.1". With `days` below 0
  // it has expired.
  Files Issue(const std::string& stem, const std::string& names, int days = 2) const;

 private:
  std::string Path(const std::string& file) const { return folder_ + "/" + file; }

  const std::string folder_, name_;
};

std::string ReadText(const std::string& path);

// Replaces the file at `to` by a copy of `from` at once, as an administrator should.
void ReplaceFile(const std::string& from, const std::string& to);

// Runs a shell command and returns what it wrote, standard error included.
std::string RunCommand(const std::string& command);

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_INTEGRATION_CERTIFICATES_H_
