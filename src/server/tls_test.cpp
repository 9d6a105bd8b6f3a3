// TLS with a certificate made for the test.
#include <doctest/doctest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <cstdio>
#include <filesystem>

#include "server/testing/fixture.h"

namespace puna::server {
namespace {

using test::Client;
using test::Fixture;
using test::get;
using test::post;
using test::quick;

// A key, and a certificate that it has signed itself, as two files.
class Certificate {
 public:
  Certificate() {
    const auto folder = std::filesystem::temp_directory_path();
    key_file = (folder / fmt::format("puna-tls-{}.key", ::getpid())).string();
    file = (folder / fmt::format("puna-tls-{}.pem", ::getpid())).string();
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* certificate = X509_new();
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_sign(certificate, key, EVP_sha256());
    std::FILE* out = std::fopen(key_file.c_str(), "w");
    PEM_write_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(out);
    out = std::fopen(file.c_str(), "w");
    PEM_write_X509(out, certificate);
    std::fclose(out);
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
  ~Certificate() {
    std::filesystem::remove(key_file);
    std::filesystem::remove(file);
  }
  Certificate(const Certificate&) = delete;
  Certificate& operator=(const Certificate&) = delete;

  std::string file, key_file;
};

class TlsClient {
 public:
  explicit TlsClient(uint16_t port)
      : client_(port), context_(SSL_CTX_new(TLS_client_method())), ssl_(SSL_new(context_)) {
    SSL_set_fd(ssl_, client_.fd());
    REQUIRE(SSL_connect(ssl_) == 1);
  }
  ~TlsClient() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  // All until the server ends.
  std::string ask(const std::string& text) {
    REQUIRE(SSL_write(ssl_, text.data(), static_cast<int>(text.size())) > 0);
    std::string out;
    char buffer[4096];
    for (int n = 1; n > 0;) {
      n = SSL_read(ssl_, buffer, sizeof(buffer));
      if (n > 0) out.append(buffer, static_cast<size_t>(n));
    }
    return out;
  }

 private:
  Client client_;
  SSL_CTX* context_;
  SSL* ssl_;
};

TEST_CASE("texts come over TLS; what is none is not answered") {
  const Certificate certificate;
  Options options = quick();
  options.certificate_file = certificate.file;
  options.key_file = certificate.key_file;
  const Fixture at(options);
  TlsClient client(at.port());
  const std::string closes = "Connection: close\r\n";
  const std::string stream =
      client.ask(post("/write", R"({"stream":1,"n_tokens":200,"pad":1000})", closes));
  CHECK(stream.find("(200)") != std::string::npos);
  CHECK(TlsClient(at.port()).ask(get("/livez", closes)).find(R"({"status":"ok"})") !=
        std::string::npos);
  CHECK(at.ask(get("/livez")).status == 0);
  const Client silent = at.client();  // is there when the server ends
}

TEST_CASE("a key or a certificate that cannot be used is an error before anything is served") {
  const Certificate certificate;
  Options options = quick();
  options.certificate_file = certificate.file;
  CHECK_FALSE(Server::listen(options));
  options.key_file = certificate.file;
  CHECK_FALSE(Server::listen(options));
  options.certificate_file = "/nowhere.pem";
  CHECK_FALSE(Server::listen(options));
}

}  // namespace
}  // namespace puna::server
