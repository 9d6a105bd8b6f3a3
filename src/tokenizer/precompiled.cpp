#include "tokenizer/precompiled.h"

#include "base/utf8.h"
#include "tokenizer/regex/char_set.h"

namespace puna::tokenizer {

namespace {

constexpr size_t kLongestCluster = 5;  // bytes that are looked up whole

// How many bytes the grapheme cluster at the beginning of a text has, exact up to kLongestCluster.
// Syllables of Hangul, flags and joined emoji are longer than that.
size_t cluster_bytes(std::string_view text) {
  static const CharSet kAfter = CharSet::named("cluster:after").value_or(CharSet());
  static const CharSet kBefore = CharSet::named("cluster:before").value_or(CharSet());
  static const CharSet kControl = [] {
    CharSet set;
    for (const char* name : {"Cc", "Cf", "Zl", "Zp"})
      set.add(CharSet::named(name).value_or(CharSet()));
    CharSet others = kAfter;
    others.add(kBefore);
    others.negate();
    set.intersect(others);
    return set;
  }();
  if (text.starts_with("\r\n")) return 2;
  base::Utf8Unit unit = base::utf8_next(text, 0);
  size_t end = unit.bytes;
  if (kControl.contains(unit.code_point)) return end;
  while (kBefore.contains(unit.code_point) && end < text.size()) {
    unit = base::utf8_next(text, end);
    if (kControl.contains(unit.code_point)) return end;
    end += unit.bytes;
  }
  while (end < text.size() && end <= kLongestCluster) {
    unit = base::utf8_next(text, end);
    if (!kAfter.contains(unit.code_point)) break;
    end += unit.bytes;
  }
  return end;
}

}  // namespace

void append_precompiled(const Charsmap& map, std::string_view text, std::string& out) {
  while (!text.empty()) {
    const size_t cluster = cluster_bytes(text);
    if (cluster <= kLongestCluster) {
      if (const auto match = map.shortest(text.substr(0, cluster))) {
        out.append(match->replacement);
        text.remove_prefix(cluster);
        continue;
      }
    }
    for (const std::string_view all = text.substr(0, cluster);
         text.data() < all.data() + all.size();) {
      const size_t bytes = base::utf8_next(text, 0).bytes;
      const auto match = map.shortest(text.substr(0, bytes));
      out.append(match ? match->replacement : text.substr(0, bytes));
      text.remove_prefix(bytes);
    }
  }
}

}  // namespace puna::tokenizer
