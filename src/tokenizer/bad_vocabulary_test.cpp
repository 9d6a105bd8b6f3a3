// Vocabularies that no model should have: each is refused with a sentence that names what is wrong.
#include <doctest/doctest.h>

#include <limits>

#include "tokenizer/test_vocabulary.h"

namespace puna::tokenizer {
namespace {

using base::ErrorCode;

void check_refused(Vocabulary vocabulary, ErrorCode code, const char* message) {
  const auto tokenizer = Tokenizer::create(std::move(vocabulary));
  REQUIRE(!tokenizer.has_value());
  CHECK(tokenizer.error().code == code);
  CHECK(tokenizer.error().message == message);
}

template <class Change>
Vocabulary bpe(Change&& change) {
  Vocabulary v = byte_level_vocabulary({"a b"});
  change(v);
  return v;
}

template <class Change>
Vocabulary pieces(Change&& change) {
  Vocabulary v = sentencepiece_vocabulary({"a", "b", "ab"});
  change(v);
  return v;
}

TEST_CASE("unknown models and pre-tokenizers are named") {
  check_refused(bpe([](auto& v) { v.model = "plamo2"; }), ErrorCode::kUnsupported,
                "The tokenizer model \"plamo2\" is not supported (gpt2, llama, gemma4, t5, bert "
                "and rwkv are).");
  const auto tokenizer = Tokenizer::create(bpe([](auto& v) { v.pre = "klingon"; }));
  REQUIRE(!tokenizer.has_value());
  CHECK(tokenizer.error().code == ErrorCode::kUnsupported);
  CHECK(tokenizer.error().message.starts_with(
      "The pre-tokenizer \"klingon\" is not supported (known are smollm, "));
}

TEST_CASE("more split expressions than can cut a text one after another are refused") {
  const auto with_splits = [](size_t n) {
    return bpe([&](auto& v) { v.pre = kCustomPre, v.splits.assign(n, "a"); });
  };
  CHECK(Tokenizer::create(with_splits(32)));
  check_refused(with_splits(33), ErrorCode::kUnsupported,
                "The tokenizer has 33 split expressions, more than 32.");
}

TEST_CASE("escapes that Python does not write are refused") {
  for (const std::string token : {"\\q", "a\\", "\\x4", "\\xg0", "\\xFF"}) {
    Vocabulary v;
    v.model = "rwkv";
    v.tokens = {"a", token};
    const std::string message = fmt::format(
        "The token 1 (\"{}\") has an escape that is not one of \\t, \\n, \\r, \\\\, \\', \\\" and "
        "\\xff.",
        token);
    check_refused(std::move(v), ErrorCode::kCorrupt, message.c_str());
  }
}

TEST_CASE("lists of the wrong length and unknown types are refused") {
  check_refused(bpe([](auto& v) { v.tokens.clear(); }), ErrorCode::kCorrupt,
                "The vocabulary has no tokens.");
  check_refused(bpe([](auto& v) { v.types.pop_back(); }), ErrorCode::kCorrupt,
                "The vocabulary has 259 tokens but 258 token types.");
  check_refused(bpe([](auto& v) { v.scores = {1}; }), ErrorCode::kCorrupt,
                "The vocabulary has 259 tokens but 1 scores.");
  check_refused(pieces([](auto& v) { v.scores.clear(); }), ErrorCode::kCorrupt,
                "The SentencePiece vocabulary has 262 tokens but 0 scores.");
  check_refused(bpe([](auto& v) { v.types[33] = static_cast<TokenType>(9); }), ErrorCode::kCorrupt,
                "The token 33 (\"!\") has the unknown type 9.");
}

TEST_CASE("special ids outside the vocabulary are refused") {
  check_refused(bpe([](auto& v) { v.bos = 259; }), ErrorCode::kCorrupt,
                "The beginning-of-sequence token is 259, but the vocabulary ends at 258.");
  check_refused(bpe([](auto& v) { v.eos = -1; }), ErrorCode::kCorrupt,
                "The end-of-sequence token is -1, but the vocabulary ends at 258.");
  check_refused(bpe([](auto& v) { v.end_tokens = {1, 1000}; }), ErrorCode::kCorrupt,
                "An end token is 1000, but the vocabulary ends at 258.");
}

TEST_CASE("empty tokens are made of no text, and of equal ones the first counts") {
  const auto empty = bpe([](auto& v) { v.tokens[7].clear(); });
  const auto ids = [](const Vocabulary& v, std::string_view text) {
    const auto tokenizer = Tokenizer::create(v);
    REQUIRE_MESSAGE(tokenizer.has_value(), tokenizer.error().text());
    CHECK((*tokenizer)->bytes(7).size() <= 1);
    return (*tokenizer)->encode(text);
  };
  CHECK(ids(empty, "A") == std::vector<int32_t>{65});
  CHECK(ids(bpe([](auto& v) { v.tokens[7].clear(), v.types[7] = TokenType::kControl; }), "A") ==
        std::vector<int32_t>{65});
  CHECK(ids(bpe([](auto& v) { v.tokens[66] = std::string("A"); }), "A") ==
        std::vector<int32_t>{65});
  CHECK(Tokenizer::create(pieces([](auto& v) { v.tokens[261] = std::string("b"); })));
  CHECK(Tokenizer::create(pieces([](auto& v) { v.tokens[261].clear(); })));
}

TEST_CASE("bytes that stand twice are refused with both ids") {
  check_refused(pieces([](auto& v) { v.tokens[4] = std::string("<0x00>"); }), ErrorCode::kCorrupt,
                "The tokens 3 and 4 are both the byte <0x00>.");
}

TEST_CASE("merges of unknown pieces are refused") {
  check_refused(bpe([](auto& v) { v.merges = {"a xyz"}; }), ErrorCode::kCorrupt,
                "The merge 0 (\"a xyz\") names a piece that is not in the vocabulary.");
  check_refused(bpe([](auto& v) { v.merges = {"a b", "b a"}; }), ErrorCode::kCorrupt,
                "The merge 1 (\"b a\") makes a piece that is not in the vocabulary.");
  check_refused(bpe([](auto& v) { v.merges = {"ab"}; }), ErrorCode::kCorrupt,
                "The merge 0 (\"ab\") is not two pieces with a space between them.");
  check_refused(bpe([](auto& v) { v.merges = {" b"}; }), ErrorCode::kCorrupt,
                "The merge 0 (\" b\") names a piece that is not in the vocabulary.");
  CHECK(Tokenizer::create(bpe([](auto& v) { v.merges = {"a b", "a b"}; })));
}

TEST_CASE("missing byte tokens are named, as are bad ones") {
  check_refused(pieces([](auto& v) { v.types[3 + 0x41] = TokenType::kControl; }),
                ErrorCode::kCorrupt, "The byte token <0x41> is missing.");
  check_refused(pieces([](auto& v) { v.tokens[3] = std::string("<0xGG>"); }), ErrorCode::kCorrupt,
                "The byte token 3 is called \"<0xGG>\", not <0x00> to <0xFF>.");
  check_refused(pieces([](auto& v) {
                  for (auto& type : v.types) type = TokenType::kNormal;
                  v.unk.reset();
                }),
                ErrorCode::kCorrupt,
                "The SentencePiece vocabulary has neither byte tokens nor an unknown token.");
  Vocabulary words;
  words.model = "gpt2";
  words.tokens = {"one", "two"};
  check_refused(words, ErrorCode::kCorrupt,
                "The byte-level vocabulary has no token for any single byte.");
}

TEST_CASE("scores that cannot be ordered are refused") {
  check_refused(pieces([](auto& v) { v.scores[260] = std::numeric_limits<float>::quiet_NaN(); }),
                ErrorCode::kCorrupt, "The score of token 260 (\"b\") is no finite number.");
}

TEST_CASE("a byte that the vocabulary lacks is dropped, and its neighbours may merge") {
  Vocabulary v = byte_level_vocabulary({"a b"});
  v.tokens['x'] = std::string("nothing");
  const auto tokenizer = Tokenizer::create(std::move(v));
  REQUIRE(tokenizer.has_value());
  CHECK((*tokenizer)->encode("axb") == std::vector<int32_t>{256});
}

}  // namespace
}  // namespace puna::tokenizer
