// sentencepiece's compiled normalization rules (precompiled_charsmap): the longest rule that begins
// here, and what it becomes. Layout: u32 bytes of the trie, the trie (a double array of u32 units,
// as the library darts-clone writes it), then replacements that end with a zero byte.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace puna::tokenizer {

class Charsmap {
 public:
  // Errors: kCorrupt when the sizes do not fit. A broken trie finds wrong rules at worst.
  static base::Result<Charsmap> parse(std::string_view blob);

  struct Match {
    size_t bytes;  // of the text
    std::string_view replacement;
  };
  std::optional<Match> longest(std::string_view text) const { return find(text, false); }
  std::optional<Match> shortest(std::string_view text) const { return find(text, true); }
  // Appends the text with all rules applied.
  void append(std::string_view text, std::string& out) const;

 private:
  std::optional<Match> find(std::string_view text, bool first) const;

  std::vector<uint32_t> units_;
  std::string replacements_;
};

}  // namespace puna::tokenizer
