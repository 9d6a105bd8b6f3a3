#include "grammar/json_schema/languages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "grammar/lazy.h"
#include "grammar/lexeme.h"

namespace puna::grammar {

namespace {

ByteSet set_of(std::string_view members) {
  ByteSet out;
  for (const char c : members) out.add(static_cast<uint8_t>(c));
  return out;
}

Expression hex_digit(Expressions& e) { return e.bytes(set_of("0123456789abcdefABCDEF")); }

// The escapes of two characters: what stands behind the backslash, and what it means.
constexpr std::string_view kShortEscapes = "\"\\/bfnrt";
constexpr std::string_view kShortMeant = "\"\\/\b\f\n\r\t";

}  // namespace

Languages::Languages(Expressions& expressions, const Limits& limits, const Deadline& deadline)
    : e_(expressions),
      limits_(limits),
      deadline_(deadline),
      derivatives_(expressions),
      any_(e_.repeat(e_.any_character(), 0, kUnbounded)),
      any_json_(any_json()) {
  for (uint32_t byte = 0; byte < written_.size(); ++byte) {
    const char c = static_cast<char>(byte);
    const size_t short_at = kShortMeant.find(c);
    std::vector<Expression> ways;
    if (byte >= ' ' && c != '"' && c != '\\') {
      ways.push_back(e_.literal(std::string_view(&c, 1)));
    } else if (short_at != std::string_view::npos) {
      ways.push_back(e_.literal(fmt::format("\\{}", kShortEscapes[short_at])));
    }
    if (byte < ' ') {
      const std::string digits = fmt::format("{:02x}", byte);
      const char upper = fmt::format("{:X}", byte % 16)[0];
      ways.push_back(e_.sequence({e_.literal("\\u00"), e_.literal(digits.substr(0, 1)),
                                  e_.bytes(set_of(std::string{digits[1], upper}))}));
    }
    written_[byte] = e_.choice(ways);
  }
}

Expression Languages::both(Expression a, Expression b) {
  if (a == any_) return b;
  if (b == any_) return a;
  return e_.both(a, b);
}

base::Result<bool> Languages::is_nothing(Expression of) {
  if (e_.is_nothing(of)) return true;
  if (e_.nullable(of)) return false;
  if (const auto known = nothings_.find(of.id); known != nothings_.end()) return known->second;
  bool too_many_states = false;
  const auto lexeme = Lexeme::compile(derivatives_, of, "", limits_, deadline_, too_many_states);
  // What has so many states is not looked through; the grammar may be made of its parts.
  if (!lexeme && !too_many_states) return std::unexpected(lexeme.error());
  const bool nothing = lexeme && lexeme->matches_nothing();
  nothings_.emplace(of.id, nothing);
  return nothing;
}

bool Languages::contains(Expression of, std::string_view text) {
  derivatives_.count_from(kUnbounded);
  for (const char c : text) of = derivatives_.derive(of, static_cast<uint8_t>(c), {});
  return derivatives_.nullable(of, {});
}

// Half of a pair of \u escapes means nothing, so none is written.
Expression Languages::any_json() {
  const Expression hex = hex_digit(e_);
  const Expression d = e_.bytes(set_of("dD"));
  const auto unicode = [&](std::initializer_list<Expression> digits) {
    return e_.sequence({e_.literal("\\u"), e_.sequence(digits)});
  };
  const Expression first = e_.bytes(set_of("0123456789abcefABCEF"));
  const Expression below_pairs = e_.bytes(set_of("01234567"));
  const Expression high = unicode({d, e_.bytes(set_of("89abAB")), hex, hex});
  const Expression low = unicode({d, e_.bytes(set_of("cdefCDEF")), hex, hex});
  tokenizer::CharSet plain(' ', tokenizer::CharSet::kLast);
  tokenizer::CharSet special('"', '"');
  special.add(tokenizer::CharSet('\\', '\\'));
  special.negate();
  plain.intersect(special);
  const Expression one = e_.choice(
      {e_.characters(plain), e_.sequence({e_.literal("\\"), e_.bytes(set_of(kShortEscapes))}),
       unicode({first, hex, hex, hex}), unicode({d, below_pairs, hex, hex}),
       e_.sequence({high, low})});
  return e_.repeat(one, 0, kUnbounded);
}

base::Result<Expression> Languages::avoiding(Expression of, std::span<const std::string> texts) {
  if (texts.empty()) return of;
  if (!std::ranges::equal(avoided_, texts)) {
    avoided_.assign(texts.begin(), texts.end());
    without_avoided_.clear();
  }
  if (const auto known = without_avoided_.find(of.id); known != without_avoided_.end())
    return known->second;
  Expression out = e_.both(of, lacking(e_, texts));
  bool too_many_states = false;
  const auto lexeme = Lexeme::compile(derivatives_, out, "", limits_, deadline_, too_many_states);
  if (!lexeme && !too_many_states) return std::unexpected(lexeme.error());
  if (!lexeme) {
    std::array<Expression, 256> kept;
    for (uint32_t byte = 0; byte < kept.size(); ++byte) {
      const char c = static_cast<char>(byte);
      const auto begins = [&](const std::string& text) { return text.front() == c; };
      kept[byte] =
          std::ranges::any_of(texts, begins) ? e_.nothing() : e_.literal(std::string_view(&c, 1));
    }
    out = e_.substitute(of, kept);
  }
  without_avoided_.emplace(of.id, out);
  return out;
}

Expression Languages::as_json(Expression of) {
  const Expression quote = e_.literal("\"");
  return e_.sequence({quote, of == any_ ? any_json_ : e_.substitute(of, written_), quote});
}

}  // namespace puna::grammar
