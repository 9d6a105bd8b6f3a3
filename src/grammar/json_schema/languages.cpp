#include "grammar/json_schema/languages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "grammar/alive.h"
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

// Where two lexemes are that read the same text.
using Places = std::array<LexemePlace, 2>;
struct PlacesHash {
  size_t operator()(const Places& at) const {
    uint64_t out = 0;
    for (const LexemePlace& place : at) {
      for (const uint32_t part : {place.state, place.count}) {
        out = (out ^ part) * 0x9E3779B97F4A7C15;
        out ^= out >> 29;
      }
    }
    return static_cast<size_t>(out);
  }
};

// The count from which on no state of a lexeme has too few.
uint32_t enough_for_all(const Lexeme& lexeme) {
  uint32_t out = 0;
  for (uint32_t id = 0; id < lexeme.n_states(); ++id) out = std::max(out, lexeme.state(id).least);
  return out;
}

// The place with a count that says no more than what depends on it.
LexemePlace with_plain_count(const Lexeme& lexeme, uint32_t enough, LexemePlace at) {
  const Lexeme::State& state = lexeme.state(at.state);
  if (!state.has_counter) return {at.state, 0};
  return {at.state, state.most == kUnbounded ? std::min(at.count, enough) : at.count};
}

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
  PUNA_TRY(const std::optional<Expression> exactly, product(of, lacking(e_, texts)));
  Expression out = exactly.value_or(of);
  if (!exactly) {
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

base::Result<Expression> Languages::without(Expression of, Expression others) {
  const auto [known, is_new] =
      without_.try_emplace(uint64_t{of.id} << 32 | others.id, e_.without(of, others));
  if (!is_new) return known->second;
  PUNA_TRY(const std::optional<Expression> exactly, product(of, e_.complement(others)));
  if (exactly) known->second = *exactly;
  return known->second;
}

// Counts are parts of the states here, which are made by steps of what is compiled: some hundred
// times quicker than by derivatives of an intersection, which cannot count either.
base::Result<std::optional<Expression>> Languages::product(Expression a, Expression b) {
  const ByteClasses classes = derivatives_.survey(e_.sequence({a, b})).classes;
  std::vector<ByteSet> members(classes.any.size());
  for (uint32_t byte = 0; byte < classes.of.size(); ++byte)
    members[classes.of[byte]].add(static_cast<uint8_t>(byte));
  std::vector<Lexeme> lexemes;
  std::array<uint32_t, 2> enough{};
  for (const Expression each : {a, b}) {
    bool too_many_states = false;
    auto lexeme = Lexeme::compile(derivatives_, each, "", limits_, deadline_, too_many_states);
    if (!lexeme && too_many_states) return std::nullopt;
    if (!lexeme) return std::unexpected(std::move(lexeme.error()));
    enough[lexemes.size()] = enough_for_all(*lexeme);
    lexemes.push_back(*std::move(lexeme));
  }
  const LexemePlace start{Lexeme::kStart, 0};
  std::vector<Places> places(1, Places{start, start});
  std::unordered_map<Places, uint32_t, PlacesHash> ids;
  ids.emplace(places.front(), 0);
  std::vector<AutomatonState> states;
  for (uint32_t id = 0; id < places.size(); ++id) {
    if (places.size() > limits_.lexeme_states) return std::nullopt;
    if (id % 256 == 0) PUNA_TRY(deadline_.check());
    const Places at = places[id];
    AutomatonState& state = states.emplace_back();
    state.accepts = lexemes[0].accepts(at[0]) && lexemes[1].accepts(at[1]);
    for (size_t cls = 0; cls < members.size(); ++cls) {
      Places to{};
      for (size_t i = 0; i < to.size(); ++i)
        to[i] = with_plain_count(lexemes[i], enough[i], lexemes[i].step(at[i], classes.any[cls]));
      if (to[0].state == Lexeme::kDead || to[1].state == Lexeme::kDead) continue;
      const auto [known, is_new] = ids.try_emplace(to, static_cast<uint32_t>(places.size()));
      if (is_new) places.push_back(to);
      auto edge = std::ranges::find(state.next, known->second, &AutomatonState::Edge::to);
      if (edge == state.next.end()) edge = state.next.insert(edge, {ByteSet(), known->second});
      edge->bytes |= members[cls];
    }
  }
  keep_alive(states, &AutomatonState::next);
  return states.empty() ? e_.nothing() : e_.automaton(states, 0);
}

Expression Languages::as_json(Expression of) {
  const Expression quote = e_.literal("\"");
  return e_.sequence({quote, of == any_ ? any_json_ : e_.substitute(of, written_), quote});
}

}  // namespace puna::grammar
