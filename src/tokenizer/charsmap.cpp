#include "tokenizer/charsmap.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace puna::tokenizer {

namespace {

uint32_t read_u32(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

// The parts of a unit: where its children begin, whether a value stands there, and the byte that
// leads to it. A value has bit 31 set, so that no byte does.
uint32_t offset_of(uint32_t unit) { return unit >> 10 << ((unit & 1u << 9) >> 6); }
bool has_value(uint32_t unit) { return (unit & 1u << 8) != 0; }
uint32_t label_of(uint32_t unit) { return unit & (1u << 31 | 0xFF); }
uint32_t value_of(uint32_t unit) { return unit & 0x7FFFFFFF; }

}  // namespace

base::Result<Charsmap> Charsmap::parse(std::string_view blob) {
  const size_t bytes = blob.size() < 4 ? 0 : read_u32(blob, 0);
  if (bytes == 0 || bytes % 4 != 0 || bytes > blob.size() - 4) {
    return base::fail(base::ErrorCode::kCorrupt,
                      fmt::format("The precompiled_charsmap of {} bytes has no trie of {} bytes.",
                                  blob.size(), bytes));
  }
  Charsmap map;
  map.units_.reserve(bytes / 4);
  for (size_t at = 4; at < 4 + bytes; at += 4) map.units_.push_back(read_u32(blob, at));
  map.replacements_ = blob.substr(4 + bytes);
  return map;
}

std::optional<Charsmap::Match> Charsmap::find(std::string_view text, bool first) const {
  std::optional<Match> best;
  uint32_t at = offset_of(units_[0]);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    at ^= byte;
    if (at >= units_.size() || label_of(units_[at]) != byte) break;
    const uint32_t unit = units_[at];
    at ^= offset_of(unit);
    if (!has_value(unit)) continue;
    if (at >= units_.size()) break;
    const uint32_t where = value_of(units_[at]);
    if (where >= replacements_.size()) break;
    const std::string_view rest = std::string_view(replacements_).substr(where);
    best = {i + 1, rest.substr(0, rest.find('\0'))};
    if (first) break;
  }
  return best;
}

void Charsmap::append(std::string_view text, std::string& out) const {
  while (!text.empty()) {
    if (const auto match = longest(text)) {
      out.append(match->replacement);
      text.remove_prefix(match->bytes);
    } else {
      const size_t bytes = base::utf8_next(text, 0).bytes;
      out.append(text.substr(0, bytes));
      text.remove_prefix(bytes);
    }
  }
}

}  // namespace puna::tokenizer
