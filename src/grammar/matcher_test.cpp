// Grammars against a plain recogniser, masks against each token tried byte by byte.
#include "grammar/matcher.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tokenizer/test_vocabulary.h"

using namespace puna;
using namespace puna::grammar;

namespace {

// A random grammar in two forms: as the room has it, and as a table that a recogniser fills until
// nothing changes. Rules use each other freely.
class RandomGrammar {
 public:
  explicit RandomGrammar(uint32_t seed) : rng_(seed) {
    Builder builder{Limits{.compile_ms = 0}};
    Expressions& e = builder.expressions();
    // Lexemes that overlap, and some that are empty or long.
    const Expression a = e.literal("a"), b = e.literal("b"), c = e.literal("c");
    const Expression ab = e.choice({a, b});
    const std::vector<std::pair<Expression, std::string>> lexemes = {
        {a, "a"},
        {e.literal("ab"), "ab"},
        {c, "c"},
        {e.repeat(a, 1, kUnbounded), "a+"},
        {e.repeat(ab, 0, 20), "[ab]{0,20}"},
        {e.sequence({b, e.repeat(e.choice({a, c}), 2, 30), b}), "b[ac]{2,30}b"},
    };
    std::vector<Symbol> symbols;
    for (const auto& [expression, name] : lexemes) {
      symbols.push_back(builder.lexeme(expression, name));
      nodes_.push_back({Kind::kLexeme, {}, 0, 0, name});
    }
    const uint32_t n_rules = 2 + below(3);
    const auto first = static_cast<uint32_t>(symbols.size());
    for (uint32_t i = 0; i < n_rules; ++i) {
      symbols.push_back(builder.declare("rule" + std::to_string(i)));
      nodes_.push_back({Kind::kSequence, {}, 0, 0, {}});
    }
    for (uint32_t i = 0; i < n_rules; ++i) {
      const uint32_t body = random(builder, symbols, 3);
      builder.define(symbols[first + i], symbols[body]);
      nodes_[first + i].parts = {body};
    }
    start_ = first;
    auto built = std::move(builder).build(symbols[first]);
    if (built) grammar = *built;
  }

  // Null where no text fits.
  std::shared_ptr<const Grammar> grammar;

  bool accepts(const std::string& text) {
    // ends_[node][from]: where matches end.
    std::vector<std::vector<std::set<size_t>>> ends(nodes_.size(),
                                                    std::vector<std::set<size_t>>(text.size() + 1));
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t id = 0; id < nodes_.size(); ++id) {
        for (size_t from = 0; from <= text.size(); ++from) {
          std::set<size_t> now = match(ends, id, text, from);
          if (now.size() == ends[id][from].size()) continue;
          ends[id][from] = std::move(now);
          changed = true;
        }
      }
    }
    return ends[start_][0].contains(text.size());
  }

 private:
  enum class Kind : uint8_t { kLexeme, kSequence, kChoice, kRepeat };
  struct Node {
    Kind kind;
    std::vector<uint32_t> parts;
    uint32_t least, most;
    std::string lexeme;
  };

  uint32_t below(uint32_t n) { return static_cast<uint32_t>(rng_() % n); }

  uint32_t random(Builder& builder, std::vector<Symbol>& symbols, int depth) {
    if (depth == 0 || below(4) == 0) return below(6 + 2);
    std::vector<uint32_t> parts;
    std::vector<Symbol> inner;
    const uint32_t kind = below(3);
    for (uint32_t n = kind == 2 ? 1 : below(4); n > 0; --n) {
      parts.push_back(random(builder, symbols, depth - 1));
      inner.push_back(symbols[parts.back()]);
    }
    if (kind == 0) {
      symbols.push_back(builder.sequence(inner));
      nodes_.push_back({Kind::kSequence, parts, 0, 0, {}});
    } else if (kind == 1) {
      symbols.push_back(builder.choice(inner));
      nodes_.push_back({Kind::kChoice, parts, 0, 0, {}});
    } else {
      const uint32_t least = below(3);
      const uint32_t most = below(3) == 0 ? kUnbounded : least + below(3);
      symbols.push_back(builder.repeat(inner[0], least, most));
      nodes_.push_back({Kind::kRepeat, parts, least, most, {}});
    }
    return static_cast<uint32_t>(symbols.size() - 1);
  }

  static bool fits(const std::string& lexeme, std::string_view text) {
    const auto all = [&](const char* of) {
      return text.find_first_not_of(of) == std::string_view::npos;
    };
    if (lexeme == "a+") return !text.empty() && all("a");
    if (lexeme == "[ab]{0,20}") return text.size() <= 20 && all("ab");
    if (lexeme == "b[ac]{2,30}b") {
      return text.size() >= 4 && text.size() <= 32 && text.front() == 'b' && text.back() == 'b' &&
             text.substr(1, text.size() - 2).find_first_not_of("ac") == std::string_view::npos;
    }
    return text == lexeme;
  }

  std::set<size_t> match(const std::vector<std::vector<std::set<size_t>>>& ends, size_t id,
                         const std::string& text, size_t from) const {
    const Node& node = nodes_[id];
    std::set<size_t> out;
    switch (node.kind) {
      case Kind::kLexeme:
        for (size_t to = from; to <= text.size(); ++to) {
          if (fits(node.lexeme, std::string_view(text).substr(from, to - from))) out.insert(to);
        }
        break;
      case Kind::kSequence: {
        out = {from};
        for (const uint32_t part : node.parts) {
          std::set<size_t> next;
          for (const size_t at : out) next.insert(ends[part][at].begin(), ends[part][at].end());
          out = next;
        }
        break;
      }
      case Kind::kChoice:
        for (const uint32_t part : node.parts)
          out.insert(ends[part][from].begin(), ends[part][from].end());
        break;
      case Kind::kRepeat: {
        std::set<size_t> here{from};
        for (uint32_t n = 0; n <= node.least + text.size() + 1; ++n) {
          if (n >= node.least) out.insert(here.begin(), here.end());
          if (n == node.most) break;
          std::set<size_t> next;
          for (const size_t at : here)
            next.insert(ends[node.parts[0]][at].begin(), ends[node.parts[0]][at].end());
          here = next;
        }
        break;
      }
    }
    return out;
  }

  std::mt19937 rng_;
  std::vector<Node> nodes_;
  uint32_t start_ = 0;
};

std::string random_text(std::mt19937& rng, size_t most) {
  std::string out;
  for (size_t n = rng() % (most + 1); n > 0; --n) out.push_back(static_cast<char>('a' + rng() % 3));
  return out;
}

// All texts up to three bytes, some longer ones, one that is there twice, one without text.
std::shared_ptr<const GrammarVocabulary> small_vocabulary() {
  std::vector<std::string> texts{"", "a", "b", "c", "a", "aaaa", "abab", "baab", "bacab", "ccccc"};
  for (const char a : {'a', 'b', 'c'}) {
    for (const char b : {'a', 'b', 'c'}) {
      texts.push_back({a, b});
      for (const char c : {'a', 'b', 'c'}) texts.push_back({a, b, c});
    }
  }
  texts.emplace_back("</s>");
  const auto end = static_cast<int32_t>(texts.size() - 1);
  texts.back() = "";
  return std::make_shared<const GrammarVocabulary>(texts, std::vector<int32_t>{end}, nullptr);
}

bool allows(std::span<const uint32_t> bits, uint32_t id) {
  return (bits[id / 32] >> id % 32 & 1) != 0;
}

std::vector<int32_t> ids_of(std::span<const uint32_t> bits, uint32_t n_tokens) {
  std::vector<int32_t> out;
  for (uint32_t id = 0; id < n_tokens; ++id) {
    if (allows(bits, id)) out.push_back(static_cast<int32_t>(id));
  }
  return out;
}

}  // namespace

TEST_CASE("A grammar accepts what its rules derive, ambiguous and recursive ones too") {
  std::mt19937 rng(5);
  uint32_t n_grammars = 0, n_accepted = 0, n_refused = 0;
  for (uint32_t seed = 0; seed < 220; ++seed) {
    RandomGrammar random(seed);
    if (!random.grammar) continue;
    ++n_grammars;
    for (int i = 0; i < 12; ++i) {
      const std::string text = random_text(rng, i < 6 ? 3 : 8);
      const bool wanted = random.accepts(text);
      (wanted ? n_accepted : n_refused) += 1;
      CHECK_MESSAGE(accepts(random.grammar, text) == wanted, seed << " " << text);
      if (!wanted) continue;
      for (size_t n = 0; n < text.size(); ++n)
        CHECK(accepts_prefix(random.grammar, text.substr(0, n)));
    }
  }
  CHECK(n_grammars > 100);
  CHECK(n_accepted > 300);
  CHECK(n_refused > 300);
}

TEST_CASE("A mask has each token that bytes let pass and no other, on every path") {
  const auto vocabulary = small_vocabulary();
  const uint32_t n = vocabulary->n_tokens();
  uint32_t n_masks = 0, n_ends = 0;
  for (uint32_t seed = 0; seed < 120; ++seed) {
    const RandomGrammar random(seed);
    if (!random.grammar) continue;
    // A cache so small that masks are thrown away.
    const auto masks =
        std::make_shared<Masks>(vocabulary, seed % 2 == 0 ? 2000 : Masks::kMostBytes);
    std::mt19937 rng(seed);
    Matcher matcher(random.grammar, masks);
    std::string text;
    for (int step = 0; step < 20; ++step) {
      const auto bits = matcher.allowed();
      ++n_masks;
      for (uint32_t id = 0; id < n; ++id) {
        const bool is_end = vocabulary->is_end(static_cast<int32_t>(id));
        const std::string token(vocabulary->text(id));
        const bool wanted = is_end ? accepts(random.grammar, text)
                                   : !token.empty() && accepts_prefix(random.grammar, text + token);
        CHECK_MESSAGE(allows(bits, id) == wanted, seed << ": " << text << " + " << token);
      }
      CHECK(matcher.may_end() == accepts(random.grammar, text));
      const std::vector<int32_t> ids = ids_of(bits, n);
      REQUIRE_FALSE(ids.empty());
      CHECK(matcher.done() == (ids.size() == 1 && vocabulary->is_end(ids[0])));
      const int32_t id = ids[rng() % ids.size()];
      matcher.take(id);
      if (vocabulary->is_end(id)) {
        ++n_ends;
        CHECK(matcher.may_end());
        CHECK(matcher.done());
        CHECK(ids_of(matcher.allowed(), n).empty());
        break;
      }
      text += vocabulary->text(static_cast<uint32_t>(id));
    }
  }
  CHECK(n_masks > 600);
  CHECK(n_ends > 15);
}

TEST_CASE("Masks inside strings are right at every count of characters") {
  std::mt19937 rng(9);
  std::vector<std::string> texts;
  static constexpr std::string_view kPieces[] = {
      "a", "bc", "\xC3\xA9", "\xE6\x97\xA5", "\\",   "\"",      ",",
      " ", "0",  "Z",        "\n",           "\xC3", "\x97\xA5"};
  for (int i = 0; i < 240; ++i) {
    std::string text;
    for (size_t n = 1 + rng() % 5; n > 0; --n)
      text += kPieces[rng() % (i % 2 == 0 ? 4 : std::size(kPieces))];
    texts.push_back(text);
  }
  texts.emplace_back();
  const auto vocabulary = std::make_shared<const GrammarVocabulary>(
      texts, std::vector<int32_t>{static_cast<int32_t>(texts.size() - 1)}, nullptr);
  for (const auto& [least, most] :
       {std::pair(0u, kUnbounded), {0u, 7u}, {3u, 9u}, {6u, 6u}, {5u, kUnbounded}, {0u, 40u}}) {
    Builder builder{Limits{.compile_ms = 0}};
    Expressions& e = builder.expressions();
    tokenizer::CharSet special;
    for (const char32_t c : {U'"', U'\\'}) special.add(tokenizer::CharSet(c, c));
    special.negate();
    const Expression unit =
        e.choice({e.characters(special), e.sequence({e.literal("\\"), e.any_character()})});
    const Expression string =
        e.sequence({e.literal("\""), e.repeat(unit, least, most), e.literal("\"")});
    const Symbol item = builder.lexeme(string);
    const auto start = builder.sequence(
        {item, builder.repeat(builder.sequence({builder.literal(","), item}), 0, kUnbounded)});
    auto grammar = std::move(builder).build(start);
    REQUIRE(grammar.has_value());
    const auto masks = std::make_shared<Masks>(vocabulary);
    masks->warm(**grammar);
    for (int run = 0; run < 3; ++run) {
      Matcher matcher(*grammar, masks);
      std::string text;
      for (int step = 0; step < 12; ++step) {
        const auto bits = matcher.allowed();
        std::vector<int32_t> ids;
        for (uint32_t id = 0; id + 1 < vocabulary->n_tokens(); ++id) {
          const std::string token(vocabulary->text(id));
          CHECK_MESSAGE(allows(bits, id) == accepts_prefix(*grammar, text + token),
                        most << ": " << text << " + " << token);
          if (allows(bits, id)) ids.push_back(static_cast<int32_t>(id));
        }
        if (ids.empty()) break;
        const int32_t id = ids[rng() % ids.size()];
        matcher.take(id);
        text += vocabulary->text(static_cast<uint32_t>(id));
      }
    }
  }
}

TEST_CASE("Undo and fork lead to the same masks as the way there") {
  const auto vocabulary = small_vocabulary();
  const uint32_t n = vocabulary->n_tokens();
  for (uint32_t seed = 0; seed < 80; ++seed) {
    const RandomGrammar random(seed);
    if (!random.grammar) continue;
    const auto masks = std::make_shared<Masks>(vocabulary);
    std::mt19937 rng(seed);
    Matcher matcher(random.grammar, masks);
    std::vector<std::vector<int32_t>> known;  // masks behind so many tokens
    for (int step = 0; step < 40; ++step) {
      const std::vector<int32_t> ids = ids_of(matcher.allowed(), n);
      if (known.size() == matcher.n_taken()) known.push_back(ids);
      CHECK(known[matcher.n_taken()] == ids);
      if (ids.empty() || rng() % 3 == 0) {
        const auto back = static_cast<uint32_t>(rng() % (matcher.n_taken() + 1));
        matcher.undo(back);
        CHECK(ids_of(matcher.allowed(), n) == known[matcher.n_taken()]);
        known.resize(matcher.n_taken() + 1);
        continue;
      }
      const int32_t id = ids[rng() % ids.size()];
      const auto fork = matcher.fork();
      fork->take(id);
      CHECK(ids_of(matcher.allowed(), n) == ids);
      // Sometimes without a mask between.
      matcher.take(id);
      CHECK(ids_of(fork->allowed(), n) == ids_of(matcher.allowed(), n));
      CHECK(fork->may_end() == matcher.may_end());
      CHECK(fork->done() == matcher.done());
    }
  }
}

TEST_CASE("Behind a token that is not allowed nothing is, until it is undone") {
  Builder builder;
  const auto start = builder.literal("ab");
  auto grammar = std::move(builder).build(start);
  REQUIRE(grammar.has_value());
  Matcher matcher(*grammar, std::make_shared<Masks>(small_vocabulary()));
  const uint32_t n = small_vocabulary()->n_tokens();
  const auto before = ids_of(matcher.allowed(), n);
  for (const int32_t id :
       {0, 2, static_cast<int32_t>(n) - 1, static_cast<int32_t>(n), -1, 1 << 30}) {
    matcher.take(id);
    CHECK(ids_of(matcher.allowed(), n).empty());
    CHECK(matcher.forced().empty());
    CHECK_FALSE(matcher.may_end());
    CHECK(matcher.done());
    matcher.take(1);
    CHECK(ids_of(matcher.allowed(), n).empty());
    matcher.undo(2);
    CHECK(ids_of(matcher.allowed(), n) == before);
  }
}

TEST_CASE("What has to come next is forced, as far as no longer token leaves a choice") {
  // Encodes by the longest token.
  std::vector<std::string> texts{"{", "\"", "na", "me", "name", "\":", ":", "1", "2", "}", "\":1"};
  const auto encode = [texts](std::string_view text) {
    std::vector<int32_t> out;
    while (!text.empty()) {
      size_t best = texts.size();
      for (size_t i = 0; i < texts.size(); ++i) {
        if (text.starts_with(texts[i]) &&
            (best == texts.size() || texts[i].size() > texts[best].size()))
          best = i;
      }
      if (best == texts.size()) return std::vector<int32_t>();
      out.push_back(static_cast<int32_t>(best));
      text.remove_prefix(texts[best].size());
    }
    return out;
  };
  texts.emplace_back("");
  const auto vocabulary =
      std::make_shared<const GrammarVocabulary>(texts, std::vector<int32_t>{11}, encode);
  Builder builder;
  const Symbol digit = builder.choice({builder.literal("1"), builder.literal("2")});
  const auto start = builder.sequence({builder.literal("{\"name\":"), digit, builder.literal("}")});
  auto grammar = std::move(builder).build(start);
  REQUIRE(grammar.has_value());
  Matcher matcher(*grammar, std::make_shared<Masks>(vocabulary));
  const auto text_of = [&](const std::vector<int32_t>& ids) {
    std::string out;
    for (const int32_t id : ids) out += texts[static_cast<size_t>(id)] + "|";
    return out;
  };
  // `":` is not, for the model may write `":1` at once.
  const std::vector<int32_t> forced = matcher.forced();
  CHECK(text_of(forced) == "{|\"|name|");
  CHECK(matcher.n_taken() == 0);
  for (const int32_t id : forced) {
    CHECK(allows(matcher.allowed(), static_cast<uint32_t>(id)));
    matcher.take(id);
  }
  CHECK(matcher.forced().empty());
  CHECK(text_of(ids_of(matcher.allowed(), vocabulary->n_tokens())) == "\"|\":|\":1|");
  matcher.take(5);
  CHECK(matcher.forced().empty());
  matcher.take(7);
  // Nothing follows, so nothing is longer.
  CHECK(text_of(matcher.forced()) == "}|");
  matcher.take(9);
  CHECK(matcher.forced().empty());
  CHECK(matcher.done());
  CHECK(text_of(ids_of(matcher.allowed(), vocabulary->n_tokens())) == "|");
}

TEST_CASE("What is forced has no space that the tokenizer puts before a text") {
  for (const auto prefix :
       {tokenizer::SpacePrefix::kAlways, tokenizer::SpacePrefix::kUnlessSpace,
        tokenizer::SpacePrefix::kFirstUnlessSpace, tokenizer::SpacePrefix::kNever}) {
    CAPTURE(static_cast<int>(prefix));
    tokenizer::Vocabulary from =
        tokenizer::sentencepiece_vocabulary({"\u2581{", "name", "na", "me", "\":", "\u2581", "{",
                                             "\"", "n", "a", "m", "e", ":", "1", "}"});
    from.space_prefix = prefix;
    const auto tokenizer = tokenizer::Tokenizer::create(std::move(from));
    REQUIRE_MESSAGE(tokenizer.has_value(), tokenizer.error().text());
    const auto vocabulary = GrammarVocabulary::create(**tokenizer);
    REQUIRE(vocabulary.has_value());
    Builder builder;
    const auto whole = builder.literal("{\"name\":1}");
    auto grammar = std::move(builder).build(whole);
    REQUIRE(grammar.has_value());
    const Matcher start(*grammar, std::make_shared<Masks>(*vocabulary));
    const auto matcher = start.fork();
    std::string text;
    for (const int32_t id : matcher->forced()) {
      REQUIRE(allows(matcher->allowed(), static_cast<uint32_t>(id)));
      matcher->take(id);
      text += std::string((*vocabulary)->text(static_cast<uint32_t>(id))) + "|";
    }
    CHECK(text == "{|\"|name|\":|1|}|");
    CHECK(matcher->done());
  }
}
