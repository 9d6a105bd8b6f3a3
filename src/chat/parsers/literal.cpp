#include "chat/parsers/literal.h"

#include <charconv>
#include <string>

#include "base/utf8.h"

namespace puna::chat {
namespace {

using base::Json;

constexpr int kMaxDepth = 60;
constexpr std::string_view kGemmaQuote = "<|\"|>";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) {
  return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' || static_cast<uint8_t>(c) >= 0x80;
}

}  // namespace

void LiteralReader::skip_space() {
  const size_t first = text_.find_first_not_of(" \t\r\n");
  text_.remove_prefix(first == std::string_view::npos ? text_.size() : first);
}

bool LiteralReader::skip(char c) { return skip(std::string_view(&c, 1)); }

bool LiteralReader::skip(std::string_view literal) {
  skip_space();
  if (!text_.starts_with(literal)) return false;
  text_.remove_prefix(literal.size());
  return true;
}

bool LiteralReader::at_end() {
  skip_space();
  return text_.empty();
}

std::string_view LiteralReader::word() {
  skip_space();
  size_t n = 0;
  while (n < text_.size() &&
         (is_letter(text_[n]) ||
          (n > 0 && (is_digit(text_[n]) || text_[n] == '.' || text_[n] == '-'))))
    ++n;
  const std::string_view out = text_.substr(0, n);
  text_.remove_prefix(n);
  return out;
}

std::optional<Json> LiteralReader::value() { return value(0); }
std::optional<Json> LiteralReader::members(char close) { return members(close, 0); }

std::optional<Json> LiteralReader::value(int depth) {
  if (depth > kMaxDepth || at_end()) return std::nullopt;
  if (skip('{')) return members('}', depth + 1);
  if (skip('[')) return list(']', depth + 1);
  if (style_ == LiteralStyle::kPython && skip('(')) return list(')', depth + 1);
  const char c = text_.front();
  if (is_digit(c) || c == '-') return number();
  if (auto text = string()) return Json(*std::move(text));
  const std::string_view name = word();
  if (name == "true" || name == "True") return Json(true);
  if (name == "false" || name == "False") return Json(false);
  if (name == "null" || name == "None") return Json();
  return std::nullopt;
}

std::optional<Json> LiteralReader::list(char close, int depth) {
  Json out = Json::array();
  while (!skip(close)) {
    if (!out.items().empty() && !skip(',')) return std::nullopt;
    if (skip(close)) break;
    auto item = value(depth);
    if (!item) return std::nullopt;
    out.push(*std::move(item));
  }
  return out;
}

std::optional<std::string> LiteralReader::key() {
  if (auto text = string()) return text;
  if (style_ != LiteralStyle::kGemma) return std::nullopt;
  const std::string_view bare = word();
  if (bare.empty()) return std::nullopt;
  return std::string(bare);
}

std::optional<Json> LiteralReader::members(char close, int depth) {
  Json out = Json::object();
  while (!skip(close)) {
    if (!out.members().empty() && !skip(',')) return std::nullopt;
    if (skip(close)) break;
    skip_space();
    auto name = key();
    if (!name || !skip(':')) return std::nullopt;
    auto item = value(depth);
    if (!item) return std::nullopt;
    out.set(*std::move(name), *std::move(item));
  }
  return out;
}

std::optional<Json> LiteralReader::number() {
  const size_t n = std::min(text_.find_first_not_of("+-.0123456789eE"), text_.size());
  const auto parsed = Json::parse(text_.substr(0, n));
  if (!parsed || !parsed->is_number()) return std::nullopt;
  text_.remove_prefix(n);
  return *parsed;
}

std::optional<std::string> LiteralReader::string() {
  if (style_ == LiteralStyle::kPython) {
    if (text_.starts_with('\'') || text_.starts_with('"')) return quoted(text_.front());
    return std::nullopt;
  }
  if (!text_.starts_with(kGemmaQuote)) return std::nullopt;
  const size_t end = text_.find(kGemmaQuote, kGemmaQuote.size());
  if (end == std::string_view::npos) return std::nullopt;
  std::string out(text_.substr(kGemmaQuote.size(), end - kGemmaQuote.size()));
  text_.remove_prefix(end + kGemmaQuote.size());
  return out;
}

// One backslash escape; the backslash is the first byte.
bool LiteralReader::escape(std::string& out) {
  if (text_.size() < 2) return false;
  static constexpr std::string_view kKnown = "\\'\"/abfnrtv0\n";
  static constexpr std::string_view kMeaning("\\'\"/\a\b\f\n\r\t\v\0", 12);
  const char c = text_[1];
  if (const size_t known = kKnown.find(c); known != std::string_view::npos) {
    if (c != '\n') out += kMeaning[known];
    text_.remove_prefix(2);
    return true;
  }
  const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
  if (digits == 0) {  // as Python does, an unknown escape stands for itself
    out += '\\';
    text_.remove_prefix(1);
    return true;
  }
  const auto hex = [&](size_t at, uint32_t& value) {
    if (text_.size() < at + digits) return false;
    const char* first = text_.data() + at;
    const auto [end, error] = std::from_chars(first, first + digits, value, 16);
    return error == std::errc() && end == first + digits;
  };
  uint32_t value = 0;
  if (!hex(2, value)) return false;
  text_.remove_prefix(2 + digits);
  uint32_t low = 0;
  if (value >= 0xD800 && value < 0xDC00 && text_.starts_with("\\u") && hex(2, low) &&
      low >= 0xDC00 && low < 0xE000) {  // two halves, as JSON writes them
    value = 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00);
    text_.remove_prefix(6);
  }
  if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return false;
  base::utf8_append(out, value);
  return true;
}

std::optional<std::string> LiteralReader::quoted(char quote) {
  std::string out;
  text_.remove_prefix(1);
  while (!text_.empty() && text_.front() != quote) {
    if (text_.front() == '\\') {
      if (!escape(out)) return std::nullopt;
    } else {
      out += text_.front();
      text_.remove_prefix(1);
    }
  }
  if (text_.empty()) return std::nullopt;
  text_.remove_prefix(1);
  return out;
}

}  // namespace puna::chat
