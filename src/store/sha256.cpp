#include "store/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <memory>
#include <span>

#include "base/check.h"
#include "store/files.h"

namespace puna::store {
namespace {

class Sha256 {
 public:
  Sha256() {
    PUNA_CHECK(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }

  void add(const void* data, size_t bytes) {
    PUNA_CHECK(EVP_DigestUpdate(context_.get(), data, bytes) == 1);
  }

  std::string hex() {
    std::array<unsigned char, 32> digest{};
    PUNA_CHECK(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr) == 1);
    std::string text;
    for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
    return text;
  }

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context_{EVP_MD_CTX_new()};
};

}  // namespace

std::string sha256_hex(std::string_view text) {
  Sha256 hash;
  hash.add(text.data(), text.size());
  return hash.hex();
}

base::Result<std::string> sha256_of_file(
    const std::string& path, const std::function<base::Result<void>(uint64_t done_bytes)>& each) {
  Sha256 hash;
  uint64_t done_bytes = 0;
  PUNA_TRY(read_pieces(path, [&](std::span<const std::byte> piece) {
    hash.add(piece.data(), piece.size());
    done_bytes += piece.size();
    return each(done_bytes);
  }));
  return hash.hex();
}

}  // namespace puna::store
