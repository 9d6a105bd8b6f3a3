// SHA-256 of text, files and what comes piece by piece. A build with OpenSSL takes its own
// (sha256.cpp), another the plain one (sha256_plain.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/digest.h"

namespace puna::store {

class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();

  void add(std::span<const std::byte> bytes);
  Sha256 copy() const;  // of the same bytes, to be gone on with apart
  Digest finish();      // of all that was added; the object is used up

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Digest sha256_of(std::string_view text);

// `each` is told the bytes read so far and may end it with an error. Errors: kNotFound, kIo.
base::Result<Digest> sha256_of_file(
    const std::string& path, const std::function<base::Result<void>(uint64_t done_bytes)>& each);

}  // namespace puna::store
