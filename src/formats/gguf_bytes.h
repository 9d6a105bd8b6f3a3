// Bytes of a GGUF header as they are put together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/gguf.h"

namespace puna::formats {

// A header grows in memory: it is a few MB at most.
class GgufBytes {
 public:
  template <class T>
  void put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  void put_type(GgufValueType type) { put(static_cast<uint32_t>(type)); }
  void put_string(std::string_view s) {
    put(uint64_t{s.size()});
    bytes_.append(s);
  }
  template <class Stored, class List>
  void put_array(GgufValueType type, const List& list) {
    put_type(GgufValueType::kArray);
    put_type(type);
    put(uint64_t{list.size()});
    for (const auto& item : list) put(static_cast<Stored>(item));
  }
  void put_strings(const std::vector<std::string>& list) {
    put_type(GgufValueType::kArray);
    put_type(GgufValueType::kString);
    put(uint64_t{list.size()});
    for (const std::string& s : list) put_string(s);
  }
  void append(std::string_view bytes) { bytes_.append(bytes); }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(bytes_)); }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

}  // namespace puna::formats
