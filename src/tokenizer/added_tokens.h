// The tokens that are looked for in text before anything else: special ones (only when asked for)
// and user-defined ones, in the raw text or in the normalized one, with what they do to the white
// space around them.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tokenizer/markers.h"
#include "tokenizer/space_marks.h"
#include "tokenizer/vocabulary.h"

namespace puna::tokenizer {

class AddedTokens {
 public:
  // normalize(text, kept): what a token that stands in normalized text goes through itself.
  template <class Normalize>
  AddedTokens(const Vocabulary& vocabulary, Normalize&& normalize) {
    for (const TokenRules& rules : vocabulary.rules) rules_[rules.id] = rules;
    std::deque<std::string> kept;
    for (int32_t id = 0; id < static_cast<int32_t>(vocabulary.tokens.size()); ++id) {
      const bool special = is_special(type_of(vocabulary, id));
      if (!special && type_of(vocabulary, id) != TokenType::kUserDefined) continue;
      if (vocabulary.tokens[static_cast<size_t>(id)].empty()) continue;  // it stands nowhere
      const std::string& token = vocabulary.tokens[static_cast<size_t>(id)];
      std::string_view written = token;
      const bool spaced = is_written_with_spaces(vocabulary, special);
      if (is_normalized(id)) {
        written = normalize(token, kept);
      } else if (spaced) {
        written = with_spaces(token, /*prefix=*/false, kept);
      }
      Group& group = is_normalized(id) || spaced ? normalized_ : raw_;
      (special ? group.special : group.user).add(written, id);
    }
  }

  // Cuts at the tokens of raw text, or of normalized text: calls plain(part, where it begins) for
  // what lies between, if anything does, and token(id) for each.
  template <class Plain, class Token>
  void cut_raw(std::string_view text, bool special, Plain&& plain, Token&& token) const {
    cut(raw_, text, special, plain, token);
  }
  template <class Plain, class Token>
  void cut_normalized(std::string_view text, bool special, Plain&& plain, Token&& token) const {
    cut(normalized_, text, special, plain, token);
  }

  static TokenType type_of(const Vocabulary& vocabulary, int32_t id) {
    return vocabulary.types.empty() ? TokenType::kNormal
                                    : vocabulary.types[static_cast<size_t>(id)];
  }
  // Tokens that stand for no text and are shown only when asked for.
  static bool is_special(TokenType type) {
    return type == TokenType::kControl || type == TokenType::kUnknown;
  }

 private:
  struct Group {
    Markers special, user;
  };
  // Bytes of the text that a token takes, around `match` too.
  struct Span {
    size_t begin, end;
  };

  bool is_normalized(int32_t id) const {
    const auto it = rules_.find(id);
    return it != rules_.end() && it->second.normalized;
  }
  // In GGUF files of sentencepiece's models user-defined pieces are written as pieces are, with
  // marks for spaces, and stand in normalized text.
  static bool is_written_with_spaces(const Vocabulary& vocabulary, bool special) {
    return !special && vocabulary.merges.empty() &&
           (vocabulary.model == "llama" || vocabulary.model == "t5");
  }
  static Markers::Match find(const Group& group, std::string_view text, size_t at, bool special) {
    const Markers::Match user = group.user.longest(text, at);
    if (!special) return user;
    const Markers::Match found = group.special.longest(text, at);
    return found.bytes >= user.bytes ? found : user;
  }
  // False when the token must not stand there. `from`: where the text before it begins.
  bool place(int32_t id, std::string_view text, size_t from, Span& span) const;

  template <class Plain, class Token>
  void cut(const Group& group, std::string_view text, bool special, Plain& plain,
           Token& token) const {
    size_t begin = 0;
    const bool any = !group.user.empty() || (special && !group.special.empty());
    for (size_t at = 0; any && at < text.size();) {
      const Markers::Match match = find(group, text, at, special);
      if (match.bytes == 0) {
        ++at;
        continue;
      }
      Span span{at, at + match.bytes};
      at = span.end;
      if (!place(match.id, text, begin, span)) continue;
      if (begin < span.begin) plain(text.substr(begin, span.begin - begin), begin);
      // One that has nothing left, its white space being taken, is none.
      if (span.begin < span.end) token(match.id);
      // A token may begin in the white space that the one before has taken, as in the library.
      begin = span.end;
    }
    if (begin < text.size()) plain(text.substr(begin), begin);
  }

  Group raw_, normalized_;
  std::unordered_map<int32_t, TokenRules> rules_;
};

}  // namespace puna::tokenizer
