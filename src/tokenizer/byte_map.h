// GPT-2's way to write bytes as printable characters: printable Latin-1 stands for itself, the
// other bytes for the characters from U+0100 on, in order.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace puna::tokenizer {

class ByteMap {
 public:
  ByteMap() {
    bytes_.fill(-1);
    char32_t next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
      characters_[static_cast<size_t>(byte)] = printable ? static_cast<char32_t>(byte) : next++;
      bytes_[characters_[static_cast<size_t>(byte)]] = static_cast<int16_t>(byte);
    }
  }
  // Writes the bytes that `stored` stands for to `out`; false when it holds a character outside the
  // map.
  bool decode(std::string_view stored, std::string& out) const {
    out.clear();
    for (size_t at = 0; at < stored.size();) {
      const base::Utf8Unit unit = base::utf8_next(stored, at);
      if (unit.code_point >= bytes_.size() || bytes_[unit.code_point] < 0) return false;
      out.push_back(static_cast<char>(bytes_[unit.code_point]));
      at += unit.bytes;
    }
    return true;
  }
  std::string encode(std::string_view bytes) const {
    std::string out;
    out.reserve(bytes.size());
    for (const char c : bytes) base::utf8_append(out, characters_[static_cast<unsigned char>(c)]);
    return out;
  }

 private:
  std::array<int16_t, 0x144> bytes_;  // by code point; 256 + the 68 bytes that are not printable
  std::array<char32_t, 256> characters_;
};

inline std::string mapped_bytes(std::string_view bytes) {
  static const ByteMap kMap;
  return kMap.encode(bytes);
}

}  // namespace puna::tokenizer
