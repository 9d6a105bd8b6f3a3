#include "formats/world_vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "formats/gguf_vocabulary.h"
#include "formats/hf/special_tokens.h"
#include "formats/hf_tokenizer/parts.h"
#include "tokenizer/python_literal.h"

namespace puna::formats {

using base::ErrorCode;
using base::Json;
using base::Result;
using tokenizer::TokenType;
using tokenizer::Vocabulary;

namespace {

constexpr const char* kTextEnd = "<s>";          // token 0, which the file leaves out
constexpr const char* kTurnEnd = "\\n\\n";       // as GGUF has it
constexpr const char* kTemplate = "rwkv-world";  // one of chat/built_in.cpp

std::optional<uint32_t> number(std::string_view text) {
  uint32_t value = 0;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [at, error] = std::from_chars(begin, end, value);
  if (text.empty() || error != std::errc() || at != end) return std::nullopt;
  return value;
}

// 'text', "text", b'bytes' or b"bytes".
std::optional<std::string> bytes_of(std::string_view literal) {
  const bool is_bytes = literal.starts_with('b');
  if (is_bytes) literal.remove_prefix(1);
  if (literal.size() < 2 || literal.front() != literal.back()) return std::nullopt;
  if (literal.front() != '\'' && literal.front() != '"') return std::nullopt;
  return tokenizer::read_python_literal(literal.substr(1, literal.size() - 2), is_bytes);
}

std::unexpected<base::Error> bad(size_t line, std::string_view text, std::string_view problem) {
  return base::fail(ErrorCode::kCorrupt,
                    fmt::format("Line {} of {}, {}, {}.", line, kWorldVocabulary,
                                Json(text.substr(0, 100)).dump(), problem));
}

// ID LITERAL BYTES, of which the literal may have spaces.
Result<std::string> read_line(size_t line, std::string_view text) {
  const size_t first = text.find(' '), last = text.rfind(' ');
  const auto id = number(text.substr(0, first));
  if (first == last || !id) return bad(line, text, "is not an id, a token and its length");
  if (*id != line)
    return bad(line, text, fmt::format("should have the id {}, one more than that before", line));
  const auto bytes = bytes_of(text.substr(first + 1, last - first - 1));
  if (!bytes) return bad(line, text, "has no text or bytes as Python writes them");
  if (number(text.substr(last + 1)) != bytes->size())
    return bad(line, text, fmt::format("has a token of {} bytes", bytes->size()));
  return tokenizer::python_bytes(*bytes);
}

}  // namespace

Result<HfTokenizer> read_world_vocabulary(std::string_view text, const HfTokenizerFiles& files) {
  HfTokenizer out;
  Vocabulary& v = out.vocabulary;
  v.model = "rwkv";
  v.space_prefix = tokenizer::SpacePrefix::kNever;
  v.tokens.emplace_back(kTextEnd);
  for (size_t line = 1; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (one.ends_with('\r')) one.remove_suffix(1);
    if (one.empty() && text.empty()) break;
    PUNA_TRY(std::string token, read_line(line, one));
    v.tokens.push_back(std::move(token));
  }
  if (v.tokens.size() == 1)
    return base::fail(ErrorCode::kCorrupt, fmt::format("{} has no tokens.", kWorldVocabulary));
  v.types.assign(v.tokens.size(), TokenType::kNormal);
  v.types[0] = TokenType::kControl;
  v.bos = v.eos = 0;
  v.eot = hf::find_token(v, kTurnEnd);
  PUNA_TRY(const Json config, read_tokenizer_config(files));
  // The file knows no names of special tokens, of which the others tell.
  Json flags = Json::object();
  for (const char* key : {"add_bos_token", "add_eos_token"}) {
    if (const Json* value = config.find(key)) flags.set(key, *value);
  }
  HfTokenizerFiles unnamed = files;
  unnamed.special_tokens = {};
  hf::read_special_tokens(unnamed, flags, v);
  PUNA_TRY(out.chat_template, read_chat_template(files, config));
  if (out.chat_template.empty()) out.chat_template = kTemplate;
  return out;
}

}  // namespace puna::formats
