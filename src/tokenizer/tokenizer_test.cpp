#include "tokenizer/tokenizer.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tokenizer/test_vocabulary.h"

namespace puna::tokenizer {
namespace {

using Ids = std::vector<int32_t>;

std::unique_ptr<Tokenizer> make(Vocabulary vocabulary) {
  auto tokenizer = Tokenizer::create(std::move(vocabulary));
  REQUIRE_MESSAGE(tokenizer.has_value(), tokenizer.error().text());
  return *std::move(tokenizer);
}

std::string random_bytes(uint32_t& state, size_t n, std::string_view from) {
  std::string out;
  for (size_t i = 0; i < n; ++i) {
    state = state * 1664525 + 1013904223;
    out.push_back(from.empty() ? static_cast<char>(state >> 16)
                               : from[(state >> 16) % from.size()]);
  }
  return out;
}

// BPE as its definition reads: merge the pair that comes first in the list wherever it stands,
// leftmost first, start again.
Ids plain_bpe(const Vocabulary& v, std::string_view word) {
  std::vector<std::string> parts;
  for (const char c : word) parts.push_back(mapped({&c, 1}));
  for (;;) {
    size_t best_rank = v.merges.size(), best = 0;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto rank = static_cast<size_t>(
          std::find(v.merges.begin(), v.merges.end(), parts[i] + " " + parts[i + 1]) -
          v.merges.begin());
      if (rank < best_rank) best_rank = rank, best = i;
    }
    if (best_rank == v.merges.size()) break;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<ptrdiff_t>(best) + 1);
  }
  Ids ids;
  for (const auto& part : parts)
    ids.push_back(
        static_cast<int32_t>(std::find(v.tokens.begin(), v.tokens.end(), part) - v.tokens.begin()));
  return ids;
}

TEST_CASE("words short and long merge as the plain definition says") {
  const Vocabulary v = byte_level_vocabulary(
      {"a b", "b a", "ab ab", "a a", "aa aa", "ab a", "c ab", "aaaa aaaa", "abab abab", "ba c"});
  const auto tokenizer = make(v);
  uint32_t state = 5;
  for (size_t n = 1; n < 140; ++n) {
    const std::string word = random_bytes(state, n, n % 3 == 0 ? "aab" : "abc");
    CAPTURE(word);
    REQUIRE(tokenizer->encode(word) == plain_bpe(v, word));
  }
}

TEST_CASE("a megabyte without a space is tokenized in one go") {
  const std::string word(1 << 20, 'a');
  const auto bpe = make(byte_level_vocabulary({"a a", "aa aa", "aaaa aaaa"}));
  CHECK(bpe->encode(word).size() == word.size() / 8);
  const auto pieces = make(sentencepiece_vocabulary({"aaaaaaaa", "aaaa", "aa", "a"}));
  CHECK(pieces->decode(pieces->encode(word)) == word);
}

TEST_CASE("any bytes come back after encoding, valid UTF-8 or not") {
  uint32_t state = 1;
  Vocabulary spaced = sentencepiece_vocabulary({"\u2581a", "\u2581", "a", "\u00e9", "\u00e9a"});
  Vocabulary plain = spaced;
  plain.space_prefix = SpacePrefix::kNever;
  std::vector<std::unique_ptr<Tokenizer>> tokenizers;
  for (const char* pre :
       {"gpt-2", "smollm", "llama-bpe", "qwen35", "gpt-4o", "tekken", "deepseek-v3"}) {
    tokenizers.push_back(make(byte_level_vocabulary({"a a", "\u0120 a", "\u0120a a"}, pre)));
  }
  tokenizers.push_back(make(std::move(spaced)));
  tokenizers.push_back(make(std::move(plain)));
  for (int round = 0; round < 300; ++round) {
    const std::string text =
        random_bytes(state, static_cast<size_t>(round % 64),
                     round % 2 == 0 ? "" : "a 1\n\xC3\xA9\xE2\x82\xF0\x9F\x98\xED\xA0<");
    if (text.find("\u2581") != std::string::npos) continue;
    for (const auto& tokenizer : tokenizers) {
      const Ids ids = tokenizer->encode(text);
      REQUIRE(tokenizer->decode(ids) == text);
      StreamDecoder stream(*tokenizer);
      std::string streamed;
      for (const int32_t id : ids) streamed += stream.push(id);
      REQUIRE(streamed + stream.finish() == text);
    }
  }
}

TEST_CASE("special tokens are parsed only when asked for; user-defined ones always are") {
  const auto tokenizer = make(byte_level_vocabulary({}));
  const int32_t end = 256, tool = 257;
  CHECK(tokenizer->encode("a<|end|>b<tool>") == Ids{'a', end, 'b', tool});
  CHECK(tokenizer->encode("<|end|>", {.parse_special = false}) ==
        Ids{'<', '|', 'e', 'n', 'd', '|', '>'});
  CHECK(tokenizer->encode("<tool><|end", {.parse_special = false}) ==
        Ids{tool, '<', '|', 'e', 'n', 'd'});
  CHECK(tokenizer->encode("<|end|") == Ids{'<', '|', 'e', 'n', 'd', '|'});
  CHECK(tokenizer->bytes(end) == "");
  CHECK(tokenizer->bytes(end, /*special=*/true) == "<|end|>");
  CHECK(tokenizer->bytes(tool) == "<tool>");
  CHECK(tokenizer->bytes(-1) == "");
  CHECK(tokenizer->bytes(258) == "");
  CHECK(tokenizer->decode({'a', end, 99999, -5, 'b'}) == "ab");
}

TEST_CASE("of markers that begin at the same place the longest is found") {
  Vocabulary v = byte_level_vocabulary({});
  for (const char* marker : {"<|end|>>", "<|e"}) {
    v.tokens.emplace_back(marker);
    v.types.push_back(TokenType::kControl);
  }
  const auto tokenizer = make(std::move(v));
  CHECK(tokenizer->encode("<|end|>>") == Ids{258});
  CHECK(tokenizer->encode("<|end|>x") == Ids{256, 'x'});
  CHECK(tokenizer->encode("<|en") == Ids{259, 'n'});
}

TEST_CASE(
    "BOS and EOS stand around the text as the vocabulary says, and never without add_special") {
  Vocabulary v = sentencepiece_vocabulary({"\u2581", "a"});
  v.add_bos = v.add_eos = true;
  const auto tokenizer = make(std::move(v));
  CHECK(tokenizer->encode("a") == Ids{1, 259, 260, 2});
  CHECK(tokenizer->encode("") == Ids{1, 2});
  CHECK(tokenizer->encode("a", {.add_special = false}) == Ids{259, 260});
  CHECK(tokenizer->decode({1, 259, 260, 2}) == "a");
}

TEST_CASE(
    "the space in front of SentencePiece text is put there by encode and taken away by decode, "
    "once") {
  const auto tokenizer = make(sentencepiece_vocabulary({"\u2581a", "\u2581", "a"}));
  CHECK(tokenizer->encode("a") == Ids{259});
  CHECK(tokenizer->decode({259, 259}) == "a a");
  CHECK(tokenizer->decode({259, 2, 259}) == "aa");  // encode begins anew after a special token
  CHECK(tokenizer->bytes(259) == " a");
  StreamDecoder stream(*tokenizer);
  CHECK(stream.push(259) == "a");
  CHECK(stream.push(259) == " a");
  StreamDecoder continued(*tokenizer, /*special=*/false, /*continues=*/true);
  CHECK(continued.push(259) == " a");
}

TEST_CASE("a stream holds back exactly the bytes of an open character") {
  const auto tokenizer = make(byte_level_vocabulary({}));
  StreamDecoder stream(*tokenizer);
  CHECK(stream.push('a') == "a");
  CHECK(stream.push(0xF0) == "");
  CHECK(stream.push(0x9F) == "");
  CHECK(stream.push(0x98) == "");
  CHECK(stream.push(0x80) == "\U0001F600");
  CHECK(stream.push(0xE2) == "");
  CHECK(stream.push('b') ==
        "\xE2"
        "b");  // nothing could complete it any more
  CHECK(stream.push(0xC3) == "");
  CHECK(stream.finish() == "\xC3");
  CHECK(stream.finish() == "");
}

TEST_CASE("runs of characters without a piece or byte tokens are one unknown token") {
  Vocabulary v = sentencepiece_vocabulary({"a"});
  std::replace(v.types.begin(), v.types.end(), TokenType::kByte, TokenType::kControl);
  v.space_prefix = SpacePrefix::kNever;
  const auto tokenizer = make(std::move(v));
  CHECK(tokenizer->encode("a\u4e2d\u6587a\xFF") == Ids{259, 0, 259, 0});
}

TEST_CASE("what is left of an unused piece without pieces of its own is the unknown token") {
  Vocabulary v = sentencepiece_vocabulary({"x", "ab", "bx", "abx"});
  std::replace(v.types.begin(), v.types.end(), TokenType::kByte, TokenType::kControl);
  v.types[260] = v.types[262] = TokenType::kUnused;
  v.space_prefix = SpacePrefix::kNever;
  const auto tokenizer = make(v);
  CHECK(tokenizer->encode("xabab") == Ids{259, 0});
  CHECK(tokenizer->encode("abx") == Ids{0, 259});
  CHECK(tokenizer->encode("yabx") == Ids{0, 259});
  // With byte tokens it is its bytes.
  std::fill_n(v.types.begin() + 3, 256, TokenType::kByte);
  CHECK(make(v)->encode("xab") == Ids{259, 3 + 'a', 3 + 'b'});
}

TEST_CASE("merges make the first of equal pieces, in whatever order they are listed") {
  Vocabulary v = byte_level_vocabulary({"a b", "c d"});
  v.merges = {"c d", "a b"};
  v.tokens[258] = "ab";
  for (const TokenType type : {TokenType::kNormal, TokenType::kControl}) {
    v.types[258] = type;
    CHECK(make(v)->encode("abcd", {.parse_special = false}) == Ids{256, 257});
  }
}

// <s>, all bytes (1 to 256), then the tokens given, as GGUF has them.
Vocabulary rwkv_vocabulary(const std::vector<std::string>& tokens) {
  Vocabulary v;
  v.model = "rwkv";
  v.tokens = {"<s>"};
  for (int byte = 0; byte < 256; ++byte) v.tokens.push_back(fmt::format("\\x{:02x}", byte));
  v.tokens.insert(v.tokens.end(), tokens.begin(), tokens.end());
  v.types.assign(v.tokens.size(), TokenType::kNormal);
  v.types[0] = TokenType::kControl;
  return v;
}

TEST_CASE("the longest token is taken at each place, whatever it goes across") {
  Vocabulary v = rwkv_vocabulary(
      {"ab", "abcd", "c d", "\\n\\n", "\\xe4\\xb8\\xad\\xe6", "\\\\n", "d\\'", "[PAD264]"});
  v.types.back() = TokenType::kUnused;
  const auto tokenizer = make(std::move(v));
  const auto byte = [](char c) { return static_cast<unsigned char>(c) + 1; };
  CHECK(tokenizer->encode("abc dabcdab") == Ids{257, 259, 258, 257});
  CHECK(tokenizer->encode("abc") == Ids{257, byte('c')});
  CHECK(tokenizer->encode("\n\n\n") == Ids{260, byte('\n')});
  CHECK(tokenizer->encode("\\nd'") == Ids{262, 263});
  // A token may end inside a character.
  const Ids cut = tokenizer->encode("\u4e2d\u6587");
  CHECK(cut == Ids{261, byte('\x96'), byte('\x87')});
  CHECK(tokenizer->decode(cut) == "\u4e2d\u6587");
  StreamDecoder stream(*tokenizer);
  CHECK(stream.push(261) == "\u4e2d");
  CHECK(stream.push(cut[1]) == "");
  CHECK(stream.push(cut[2]) == "\u6587");
  // No text stands for what fills the table up, nor for <s> unless asked for.
  CHECK(tokenizer->encode("[PAD264]").size() == 8);
  CHECK(tokenizer->encode("a<s>") == Ids{byte('a'), 0});
  CHECK(tokenizer->encode("<s>", {.parse_special = false}).size() == 3);
  CHECK(tokenizer->decode({0, 257}) == "ab");
  CHECK(tokenizer->decode({byte(' '), 257}) == " ab");
}

TEST_CASE("bytes that no token begins with are the unknown token, if there is one") {
  Vocabulary v;
  v.model = "rwkv";
  v.tokens = {"<unk>", "ab"};
  v.types = {TokenType::kUnknown, TokenType::kNormal};
  CHECK(make(v)->encode("abxab") == Ids{1, 1});
  v.unk = 0;
  CHECK(make(v)->encode("abxab") == Ids{1, 0, 1});
}

TEST_CASE("is_end knows every end token") {
  Vocabulary v = byte_level_vocabulary({});
  v.end_tokens = {256, 3};
  const auto tokenizer = make(std::move(v));
  CHECK(tokenizer->is_end(256));
  CHECK(tokenizer->is_end(3));
  CHECK(!tokenizer->is_end(4));
}

}  // namespace
}  // namespace puna::tokenizer
