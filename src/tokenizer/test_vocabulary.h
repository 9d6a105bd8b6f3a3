// Small vocabularies for the tests of this room.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/utf8.h"
#include "tokenizer/tokenizer.h"

namespace puna::tokenizer {

// GPT-2's printable character for a byte.
inline std::string mapped(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    const auto printable = [](int b) {
      return (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b != 0xAD);
    };
    char32_t code_point = byte;
    if (!printable(byte)) {
      code_point = 0x100;
      for (int b = 0; b < byte; ++b) code_point += printable(b) ? 0 : 1;
    }
    base::utf8_append(out, code_point);
  }
  return out;
}

// Tokens 0 to 255 are the bytes, then what the merges make ("t h" makes "th"; blanks and the like
// as they are in the map), then <|end|> (control) and <tool> (user-defined).
inline Vocabulary byte_level_vocabulary(const std::vector<std::string>& merges,
                                        std::string pre = "gpt-2") {
  Vocabulary v;
  v.model = "gpt2";
  v.pre = std::move(pre);
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    v.tokens.push_back(mapped({&c, 1}));
  }
  for (const std::string& merge : merges) {
    std::string joined = merge;
    joined.erase(joined.find(' '), 1);
    v.tokens.push_back(joined);
  }
  v.merges = merges;
  v.types.assign(v.tokens.size(), TokenType::kNormal);
  v.tokens.emplace_back("<|end|>");
  v.types.push_back(TokenType::kControl);
  v.tokens.emplace_back("<tool>");
  v.types.push_back(TokenType::kUserDefined);
  return v;
}

// <unk>, <s>, </s>, the bytes (3 to 258), then the pieces given, each with a score of minus its
// place.
inline Vocabulary sentencepiece_vocabulary(const std::vector<std::string>& pieces) {
  Vocabulary v;
  v.model = "llama";
  v.tokens = {"<unk>", "<s>", "</s>"};
  v.types = {TokenType::kUnknown, TokenType::kControl, TokenType::kControl};
  v.unk = 0;
  v.bos = 1;
  v.eos = 2;
  for (int byte = 0; byte < 256; ++byte) {
    v.tokens.push_back(fmt::format("<0x{:02X}>", byte));
    v.types.push_back(TokenType::kByte);
  }
  v.scores.assign(v.tokens.size(), 0.0f);
  for (size_t i = 0; i < pieces.size(); ++i) {
    v.tokens.push_back(pieces[i]);
    v.types.push_back(TokenType::kNormal);
    v.scores.push_back(-static_cast<float>(i));
  }
  return v;
}

}  // namespace puna::tokenizer
