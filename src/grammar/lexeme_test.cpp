// Automata of random expressions against a plain matcher that knows nothing of derivatives.
#include "grammar/lexeme.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"

using namespace puna;
using namespace puna::grammar;

namespace {

// An expression in two forms: as the room has it, and as the set of ends of matches in a text.
using Ends = std::function<std::set<size_t>(std::string_view text, size_t from)>;
struct Pair {
  Expression expression;
  Ends ends;
};

class Pairs {
 public:
  explicit Pairs(Expressions& e) : e_(e) {}

  Pair one(const std::string& of) {
    ByteSet set;
    for (const char c : of) set.add(static_cast<uint8_t>(c));
    return {e_.bytes(set), [of](std::string_view text, size_t from) {
              std::set<size_t> out;
              if (from < text.size() && of.find(text[from]) != std::string::npos)
                out.insert(from + 1);
              return out;
            }};
  }
  Pair sequence(const Pair& a, const Pair& b) {
    return {e_.sequence({a.expression, b.expression}),
            [a = a.ends, b = b.ends](std::string_view text, size_t from) {
              std::set<size_t> out;
              for (const size_t middle : a(text, from)) out.merge(b(text, middle));
              return out;
            }};
  }
  Pair choice(const Pair& a, const Pair& b) {
    return {e_.choice({a.expression, b.expression}),
            [a = a.ends, b = b.ends](std::string_view text, size_t from) {
              std::set<size_t> out = a(text, from);
              out.merge(b(text, from));
              return out;
            }};
  }
  Pair both(const Pair& a, const Pair& b, bool negate) {
    return {negate ? e_.without(a.expression, b.expression) : e_.both(a.expression, b.expression),
            [a = a.ends, b = b.ends, negate](std::string_view text, size_t from) {
              std::set<size_t> out;
              const std::set<size_t> of_b = b(text, from);
              for (const size_t end : a(text, from)) {
                if (of_b.contains(end) != negate) out.insert(end);
              }
              return out;
            }};
  }
  Pair repeat(const Pair& a, uint32_t least, uint32_t most) {
    return {e_.repeat(a.expression, least, most),
            [a = a.ends, least, most](std::string_view text, size_t from) {
              std::set<size_t> out, here{from};
              std::set<std::set<size_t>> seen;
              for (uint32_t n = 0;; ++n) {
                if (n >= least) out.insert(here.begin(), here.end());
                if (n == most || here.empty() || (n >= least && !seen.insert(here).second)) break;
                std::set<size_t> next;
                for (const size_t at : here) next.merge(a(text, at));
                here = next;
              }
              return out;
            }};
  }
  Pair random(std::mt19937& rng, int depth) {
    static const std::string kSets[] = {"a", "b", "c", "ab", "bc", "abc"};
    const auto below = [&](uint32_t n) { return static_cast<uint32_t>(rng() % n); };
    if (depth == 0 || below(5) == 0) return one(kSets[below(6)]);
    switch (below(10)) {
      case 0:
      case 1:
      case 2: {
        const Pair a = random(rng, depth - 1);
        return sequence(a, random(rng, depth - 1));
      }
      case 3:
      case 4: {
        const Pair a = random(rng, depth - 1);
        return choice(a, random(rng, depth - 1));
      }
      case 5: {
        const bool negate = below(2) == 0;
        const Pair a = random(rng, depth - 1);
        return both(a, random(rng, depth - 1), negate);
      }
      case 6: {
        const uint32_t least = below(2);
        return repeat(random(rng, depth - 1), least, kUnbounded);
      }
      case 7: {
        const uint32_t least = below(3), most = least + below(3);
        return repeat(random(rng, depth - 1), least, most);
      }
      case 8: {
        // Enough to be counted.
        const uint32_t least = below(20), most = std::max(least, 17 + below(6));
        return repeat(random(rng, 1), least, most);
      }
      default:
        return repeat(random(rng, depth - 1), 0, 1);
    }
  }

 private:
  Expressions& e_;
};

bool accepts(const Lexeme& lexeme, std::string_view text) {
  LexemePlace at{Lexeme::kStart, 0};
  for (const char c : text) {
    at = lexeme.step(at, static_cast<uint8_t>(c));
    if (at.state == Lexeme::kDead) return false;
  }
  return lexeme.accepts(at);
}

Lexeme compiled(Expressions& e, Expression of) {
  Derivatives derivatives(e);
  const Limits limits{.compile_ms = 0};
  bool too_many = false;
  auto lexeme = Lexeme::compile(derivatives, of, "it", limits, Deadline(limits), too_many);
  REQUIRE_MESSAGE(lexeme.has_value(), lexeme.error().text());
  return *std::move(lexeme);
}

}  // namespace

TEST_CASE("The automaton of an expression accepts what the expression matches") {
  std::mt19937 rng(7);
  uint32_t n_counted = 0, n_matched = 0;
  for (int i = 0; i < 400; ++i) {
    Expressions e;
    Pairs pairs(e);
    const Pair pair = pairs.random(rng, 4);
    Derivatives derivatives(e);
    const Limits limits{.lexeme_states = 2000, .compile_ms = 0};
    bool too_many = false;
    const auto lexeme =
        Lexeme::compile(derivatives, pair.expression, "it", limits, Deadline(limits), too_many);
    if (!lexeme) {
      CHECK(lexeme.error().message.find("lexeme_states") != std::string::npos);
      continue;
    }
    n_counted += lexeme->has_counters() ? 1 : 0;
    CHECK(lexeme->nullable() == pair.ends("", 0).contains(0));
    bool some = false;
    for (int k = 0; k < 60; ++k) {
      std::string text;
      const size_t size = k < 30 ? rng() % 7 : rng() % 30;
      const bool runs = rng() % 2 == 0;
      for (size_t n = 0; n < size; ++n) {
        text.push_back(runs && n > 0 && rng() % 8 != 0 ? text.back()
                                                       : static_cast<char>('a' + rng() % 3));
      }
      const bool wanted = pair.ends(text, 0).contains(text.size());
      some |= wanted && !text.empty();
      CHECK_MESSAGE(accepts(*lexeme, text) == wanted, text << " of expression " << i);
    }
    n_matched += some ? 1 : 0;
    if (some) CHECK(lexeme->matches_some());
  }
  CHECK(n_counted > 20);
  CHECK(n_matched > 150);
}

TEST_CASE("Lengths of what matches something else too are counted") {
  Expressions e;
  const Expression word = e.repeat(e.bytes(ByteSet::range('a', 'z')), 1, kUnbounded);
  const Expression more = e.repeat(e.sequence({e.literal("-"), word}), 0, kUnbounded);
  const Expression names = e.sequence({word, more});
  const Lexeme lexeme = compiled(e, e.both(names, e.repeat(e.any_character(), 6, 900)));
  CHECK(lexeme.has_counters());
  CHECK(lexeme.n_states() < 20);
  const auto a = [](size_t n) { return std::string(n, 'a'); };
  const std::vector<std::string> valid = {a(6), "a-a-aa", a(899), a(890) + "-aa"};
  const std::vector<std::string> invalid = {a(5),          "a.com",         a(901),
                                            a(899) + "-a", a(897) + ".com", a(6) + "-"};
  for (const std::string& text : valid) CHECK_MESSAGE(accepts(lexeme, text), text);
  for (const std::string& text : invalid) CHECK_MESSAGE(!accepts(lexeme, text), text);
  // Where an end of the automaton is nearer than one of enough characters, counts are states.
  const Expression hosts = e.sequence({word, e.optional(e.literal(".com"))});
  const Lexeme few = compiled(e, e.both(hosts, e.repeat(e.any_character(), 6, 90)));
  CHECK_FALSE(few.has_counters());
  CHECK(accepts(few, "aa.com"));
  CHECK(accepts(few, a(86) + ".com"));
  CHECK_FALSE(accepts(few, "a.com"));
  // Wherever a text is, it comes to an end.
  std::mt19937 rng(1);
  for (int run = 0; run < 50; ++run) {
    LexemePlace at{Lexeme::kStart, 0};
    for (int n = 0; n < 1000; ++n) {
      std::vector<LexemePlace> next;
      for (const char c : std::string_view("aaa-")) {
        const LexemePlace to = lexeme.step(at, static_cast<uint8_t>(c));
        if (to.state != Lexeme::kDead) next.push_back(to);
      }
      if (next.empty()) break;
      at = next[rng() % next.size()];
    }
    CHECK(lexeme.accepts(at));
  }
}

TEST_CASE("No state of an intersection is a dead end") {
  Expressions e;
  const auto text = [&](const char* s) { return e.literal(s); };
  const Expression ab = e.repeat(e.choice({text("a"), text("b")}), 0, kUnbounded);
  // Begins with ab, and has no a.
  const Expression none = e.both(e.sequence({text("ab"), ab}), e.repeat(text("b"), 0, kUnbounded));
  CHECK(compiled(e, none).matches_nothing());
  const Expression some = e.without(ab, e.sequence({ab, text("bb"), ab}));
  const Lexeme lexeme = compiled(e, some);
  CHECK(accepts(lexeme, "abaab"));
  CHECK_FALSE(accepts(lexeme, "abba"));
  // Right after bb nothing can be saved.
  LexemePlace at{Lexeme::kStart, 0};
  at = lexeme.step(at, 'b');
  CHECK(at.state != Lexeme::kDead);
  CHECK(lexeme.step(at, 'b').state == Lexeme::kDead);
}

TEST_CASE("An intersection behind what may be empty may begin with either") {
  Expressions e;
  const auto of = [&](const char* set) {
    ByteSet out;
    for (const char* c = set; *c != 0; ++c) out.add(static_cast<uint8_t>(*c));
    return e.bytes(out);
  };
  const Expression cb = e.repeat(e.sequence({of("c"), of("b")}), 2, 3);
  const Expression rest = e.without(e.repeat(of("a"), 0, 1), cb);
  const Lexeme lexeme = compiled(e, e.repeat(e.sequence({e.repeat(of("abc"), 0, 1), rest}), 0, 1));
  for (const char* text : {"", "a", "b", "c", "aa", "ba"}) CHECK(accepts(lexeme, text));
  for (const char* text : {"ab", "bb", "baa"}) CHECK_FALSE(accepts(lexeme, text));
}

TEST_CASE("Characters are their UTF-8 and nothing else") {
  Expressions e;
  std::mt19937 rng(3);
  const auto encoded = [](char32_t c) {
    std::string out;
    base::utf8_append(out, c);
    return out;
  };
  const Lexeme any = compiled(e, e.any_character());
  for (const char32_t c :
       {0x0, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF})
    CHECK(accepts(any, encoded(c)));
  for (const char* bad : {"", "\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x9F\xBF",
                          "\xED\xA0\x80", "\xED\xBF\xBF", "\xF0\x80\x80\x80", "\xF4\x90\x80\x80",
                          "\xF5\x80\x80\x80", "\xE2\x82", "ab"})
    CHECK_FALSE(accepts(any, bad));
  for (int i = 0; i < 40; ++i) {
    tokenizer::CharSet set;
    const int n_ranges = 1 + static_cast<int>(rng() % 4);
    std::vector<char32_t> edges;
    for (int k = 0; k < n_ranges; ++k) {
      const auto low = static_cast<uint32_t>(rng() % (i % 2 == 0 ? 0x110000 : 0x900));
      const uint32_t high = std::min(low + static_cast<uint32_t>(rng() % 5000), 0x10FFFFu);
      set.add(tokenizer::CharSet(low, high));
      for (const uint32_t edge : {low - 1, low, high, high + 1, (low + high) / 2})
        edges.push_back(edge);
    }
    const Lexeme lexeme = compiled(e, e.characters(set));
    for (const char32_t c : edges) {
      if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) continue;
      CHECK(accepts(lexeme, encoded(c)) == set.contains(c));
    }
  }
}

TEST_CASE("Texts as one expression are those texts, whatever their number") {
  Expressions e;
  std::vector<std::string> texts{"", "a", "ab", "abc", "b"};
  std::mt19937 rng(11);
  for (int i = 0; i < 2000; ++i) texts.push_back("word" + std::to_string(rng()));
  const Lexeme lexeme = compiled(e, e.literals(texts));
  for (const std::string& text : texts) CHECK(accepts(lexeme, text));
  for (const char* other : {"word", "word1", "abcd", "c", "word00"})
    CHECK_FALSE(accepts(lexeme, other));
  // More states than the limit, but no more than the texts have bytes.
  CHECK(lexeme.n_states() > 4096);
}

TEST_CASE("A count costs no states where it can be told from the text") {
  Expressions e;
  const auto literal = [&](const char* text) { return e.literal(text); };
  const Expression plain = e.characters([] {
    tokenizer::CharSet set;
    set.add(tokenizer::CharSet('"', '"'));
    set.add(tokenizer::CharSet('\\', '\\'));
    set.negate();
    return set;
  }());
  const Expression unit = e.choice({plain, e.sequence({literal("\\"), e.any_character()})});
  const auto string_of = [&](uint32_t least, uint32_t most) {
    return compiled(e, e.sequence({literal("\""), e.repeat(unit, least, most), literal("\"")}));
  };
  const Lexeme few = string_of(0, kUnbounded), many = string_of(3, 1'000'000);
  CHECK(many.n_states() < few.n_states() + 12);
  const auto in_quotes = [](size_t n) { return "\"" + std::string(n, 'x') + "\""; };
  CHECK_FALSE(accepts(many, in_quotes(2)));
  CHECK(accepts(many, in_quotes(3)));
  CHECK(accepts(many, in_quotes(1'000'000)));
  CHECK_FALSE(accepts(many, in_quotes(1'000'001)));
  CHECK(accepts(many, "\"\\\"\xC3\xA9\\\\\""));
  CHECK_FALSE(accepts(many, "\"\\\"\xC3\xA9\""));
}

TEST_CASE("Repeated repetitions are one where no number is left out") {
  Expressions e;
  const Expression a = e.literal("a");
  const auto r = [&](Expression of, uint32_t least, uint32_t most) {
    return e.repeat(of, least, most);
  };
  CHECK(r(r(r(a, 0, 1000), 0, 1000), 0, 1000) == r(a, 0, 1'000'000'000));
  CHECK(r(r(a, 1, 3), 0, 5) == r(a, 0, 15));
  CHECK(r(r(a, 2, 3), 2, 4) == r(a, 4, 12));
  CHECK(r(r(a, 5, 5), 3, 3) == r(a, 15, 15));
  CHECK(r(r(a, 2, 3), 0, 2) != r(a, 0, 6));
  CHECK(r(r(a, 5, 6), 1, 3) != r(a, 5, 18));
  CHECK(r(e.choice({e.empty(), a}), 2, 3) == r(a, 0, 3));
}

TEST_CASE("More states than the limit are refused by its name") {
  Expressions e;
  Derivatives derivatives(e);
  const Expression any = e.choice({e.literal("a"), e.literal("b")});
  const Expression of =
      e.sequence({e.repeat(any, 0, kUnbounded), e.literal("a"), e.repeat(any, 13, 13)});
  const Limits limits{.compile_ms = 0};
  bool too_many = false;
  const auto lexeme =
      Lexeme::compile(derivatives, of, "rule \"x\"", limits, Deadline(limits), too_many);
  REQUIRE_FALSE(lexeme.has_value());
  CHECK(too_many);
  CHECK(lexeme.error().code == base::ErrorCode::kInvalidArgument);
  CHECK(lexeme.error().message ==
        "The states of rule \"x\" are more than 4096, which is the limit lexeme_states.");
}
