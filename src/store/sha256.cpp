// SHA-256 by OpenSSL, which uses what the processor has for it.
#include "store/sha256.h"

#include <openssl/evp.h>

#include <array>

#include "base/check.h"

namespace puna::store {

struct Sha256::State {
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context{EVP_MD_CTX_new()};
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  PUNA_CHECK(state_->context &&
             EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr) == 1);
}

Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::add(std::span<const std::byte> bytes) {
  PUNA_CHECK(EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()) == 1);
}

Sha256 Sha256::copy() const {
  Sha256 other;
  PUNA_CHECK(EVP_MD_CTX_copy_ex(other.state_->context.get(), state_->context.get()) == 1);
  return other;
}

Digest Sha256::finish() {
  std::array<uint8_t, 32> digest{};
  PUNA_CHECK(EVP_DigestFinal_ex(state_->context.get(), digest.data(), nullptr) == 1);
  return Digest(digest);
}

}  // namespace puna::store
