// The tokenizers under arbitrary vocabularies and texts: no crash, and decode(encode(text)) == text
// where every byte has a piece. Input: one byte of choices, then lines up to an empty one are
// pieces or merges, the rest is text.
#include "tokenizer/tokenizer.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace {

using puna::tokenizer::SpacePrefix;
using puna::tokenizer::StreamDecoder;
using puna::tokenizer::Tokenizer;
using puna::tokenizer::TokenType;
using puna::tokenizer::Vocabulary;

constexpr const char* kPre[] = {"gpt-2",  "smollm", "llama-bpe", "qwen2",
                                "qwen35", "gpt-4o", "tekken",    "deepseek-v3"};

void add(Vocabulary& v, std::string token, TokenType type) {
  v.tokens.push_back(std::move(token));
  v.types.push_back(type);
  if (v.model == "llama") v.scores.push_back(-static_cast<float>(v.tokens.size() % 97));
}

// The bytes, written as each model writes them.
void add_bytes(Vocabulary& v) {
  char32_t next = 0x100;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    std::string token;
    if (v.model == "llama") {
      constexpr char kHex[] = "0123456789ABCDEF";
      token = std::string("<0x") + kHex[byte >> 4] + kHex[byte & 15] + ">";
    } else {
      const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
      puna::base::utf8_append(token, printable ? byte : next++);
    }
    add(v, token, v.model == "llama" ? TokenType::kByte : TokenType::kNormal);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const uint8_t choices = data[0];
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  Vocabulary v;
  v.model = choices & 1 ? "llama" : "gpt2";
  v.pre = kPre[choices >> 1 & 7];
  v.space_prefix = (choices & 16) != 0 ? SpacePrefix::kAlways : SpacePrefix::kNever;
  v.unk = 0;
  if ((choices & 32) == 0) add_bytes(v);
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    std::string line(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line.empty()) break;
    const auto type = static_cast<TokenType>(line[0] >= '1' && line[0] <= '6' ? line[0] - '0' : 1);
    if (v.model == "gpt2" && type == TokenType::kNormal && line.find(' ') != std::string::npos) {
      v.merges.push_back(line);
      line.erase(line.find(' '), 1);
    }
    add(v, line, type);
  }
  const bool has_bytes = (choices & 32) == 0;
  const bool spaces_escaped = v.model == "llama";
  const bool normalizes = !spaces_escaped && v.pre.starts_with("qwen");  // NFC
  auto tokenizer = Tokenizer::create(std::move(v));
  if (!tokenizer) return 0;
  for (const bool parse_special : {false, true}) {
    const auto ids =
        (*tokenizer)->encode(rest, {.add_special = true, .parse_special = parse_special});
    std::string streamed;
    StreamDecoder stream(**tokenizer, /*special=*/true);
    for (const int32_t id : ids) streamed += stream.push(id);
    streamed += stream.finish();
    if (streamed != (*tokenizer)->decode(ids, /*special=*/true)) std::abort();
    const bool exact = has_bytes && !normalizes &&
                       !(spaces_escaped && rest.find("\xE2\x96\x81") != std::string_view::npos);
    if (exact && streamed != rest) std::abort();
  }
  return 0;
}
