// Pages: one large piece of zeroed memory in pages of its own, huge ones where the system has them
// (fewer faults while it is filled, fewer misses of the address cache while it is read).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/result.h"

namespace puna::base {

class Pages {
 public:
  Pages() = default;
  Pages(Pages&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Pages& operator=(Pages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Pages();

  // Memory is committed as it is touched. Errors: kOutOfMemory.
  static Result<Pages> allocate(uint64_t bytes);

  std::byte* data() const { return data_; }  // a multiple of 64
  size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

// Keeps memory from being swapped out, that of a mapped file too: it is read now. Errors:
// kUnsupported where the system refuses or cannot, saying what its limit is.
Result<void> lock_memory(const std::byte* data, size_t bytes);

}  // namespace puna::base
