// Random answers under a mask: a tokenizer of single bytes, the marks of a family and a few pieces
// that go across what a grammar tells apart, and walks through what a filter allows.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "chat/parsers.h"
#include "engine/token_filter.h"
#include "tokenizer/tokenizer.h"

namespace puna::service::test {

constexpr const char* kPieces[] = {"{\"", "\": ", "\", \"", "\"}",  "}}",     "</",
                                   "ab",  "\n\n", "<|",     "call", "name\"", " {",
                                   "[{",  "}]",   "=\"",    "to=",  "tool",   "\n</parameter>"};

// controls: the marks are control tokens, as most families have them; else texts like others.
inline std::unique_ptr<tokenizer::Tokenizer> tokenizer_for(const chat::ReplyStyle& style,
                                                           bool controls) {
  using tokenizer::TokenType;
  tokenizer::Vocabulary v;
  v.model = "llama";
  v.space_prefix = tokenizer::SpacePrefix::kNever;
  const auto add = [&](std::string text, TokenType type) {
    v.tokens.push_back(std::move(text));
    v.types.push_back(type);
    v.scores.push_back(-static_cast<float>(v.tokens.size()));
  };
  add("<unk>", TokenType::kUnknown);
  add("<eos>", TokenType::kControl);
  for (int byte = 0; byte < 256; ++byte) add(fmt::format("<0x{:02X}>", byte), TokenType::kByte);
  for (const char* piece : kPieces) {
    std::string text(piece);
    for (size_t at; (at = text.find(' ')) != std::string::npos;) text.replace(at, 1, "\u2581");
    add(text, TokenType::kNormal);
  }
  for (const std::string_view mark : style.tokens)
    add(std::string(mark), controls ? TokenType::kControl : TokenType::kUserDefined);
  v.unk = 0;
  v.eos = 1;
  v.end_tokens = {1};
  auto made = tokenizer::Tokenizer::create(std::move(v));
  REQUIRE_MESSAGE(made.has_value(), made.error().text());
  return *std::move(made);
}

struct Walk {
  std::string text;    // as a parser of the style is fed
  bool ended = false;  // by the filter, not because it was long enough
};

// Walks until the text ends or has so many tokens; then towards its end.
inline Walk walk(engine::TokenFilter& filter, const tokenizer::Tokenizer& tokenizer,
                 const chat::ReplyStyle& style, std::mt19937& random, size_t n_tokens) {
  Walk out;
  const auto take = [&](int32_t id) {
    filter.take(id);
    const std::string plain = tokenizer.bytes(id);
    const std::string mark = tokenizer.bytes(id, /*special=*/true);
    out.text += plain.empty() && style.reads_token(mark) ? mark : plain;
  };
  std::vector<bool> is_closing;  // by id
  for (int32_t id = 0; id < tokenizer.n_tokens(); ++id) {
    const std::string text = tokenizer.bytes(id, /*special=*/true);
    is_closing.push_back(tokenizer.is_end(id) || text.size() > 3 ||
                         std::string_view("\"}])>").find(text[0]) != std::string_view::npos);
  }
  for (size_t n = 0; n < n_tokens * 5 && !filter.done(); ++n) {
    if (const auto forced = filter.forced(); !forced.empty()) {
      for (const int32_t id : forced) take(id);
      continue;
    }
    const auto bits = filter.allowed();
    REQUIRE(bits.has_value());
    std::vector<int32_t> ids, closing;
    for (int32_t id = 0; id < tokenizer.n_tokens(); ++id) {
      const auto at = static_cast<size_t>(id);
      if (((*bits)[at / 32] >> at % 32 & 1) == 0) continue;
      ids.push_back(id);
      if (is_closing[at]) closing.push_back(id);
    }
    REQUIRE_MESSAGE(!ids.empty(), out.text);
    const bool towards_end = random() % 10 < (n < n_tokens ? 3 : 9);
    if (towards_end && !closing.empty()) ids = closing;
    const int32_t id = ids[random() % ids.size()];
    if (tokenizer.is_end(id)) {
      out.ended = true;
      return out;
    }
    take(id);
  }
  out.ended = filter.done();
  return out;
}

}  // namespace puna::service::test
