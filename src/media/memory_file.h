// A file in memory, read from a place on that moves, as libraries of sounds want it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace puna::media {

struct MemoryFile {
  std::span<const std::byte> bytes;
  size_t at = 0;

  // As many of n bytes as there are; says how many.
  size_t read(void* to, size_t n) {
    n = std::min(n, bytes.size() - at);
    if (n > 0) std::memcpy(to, bytes.data() + at, n);
    at += n;
    return n;
  }

  // False, and nothing moved, where the new place is none of the file.
  bool seek(size_t from, int64_t by) {
    const auto base = static_cast<int64_t>(from);
    if (by < -base || by > static_cast<int64_t>(bytes.size()) - base) return false;
    at = static_cast<size_t>(base + by);
    return true;
  }
};

}  // namespace puna::media
