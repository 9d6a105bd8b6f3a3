// XXH3 (128 bits) of bytes that come piece by piece. It tells torn or damaged bytes from whole
// ones, and one answer from another, at a small part of what SHA-256 costs; whether they are the
// right bytes it does not tell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

struct XXH3_state_s;

namespace puna::store {

struct Checksum {
  uint64_t low = 0, high = 0;
  bool operator==(const Checksum&) const = default;
};

class Xxh3 {
 public:
  Xxh3();

  void add(std::span<const std::byte> bytes);
  Checksum value() const;  // of all that was added so far; more may follow

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

}  // namespace puna::store
