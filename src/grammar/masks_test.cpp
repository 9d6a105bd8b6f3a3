// Masks that take whole subtrees of tokens at once, against each token tried byte by byte.
#include "grammar/masks.h"

#include <doctest/doctest.h>

#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/json_schema/json_schema.h"
#include "grammar/matcher.h"
#include "grammar/regex.h"

using namespace puna;
using namespace puna::grammar;

namespace {

// Texts of pieces: of one kind mostly, so that subtrees of it are many; and cut characters.
std::shared_ptr<const GrammarVocabulary> vocabulary() {
  static constexpr std::string_view kPieces[] = {
      "a", "b",  "z",  "0",        "\xC3\xA9", "\xE6\x97\xA5", "\xF0\x9F\x98\x80", ".",
      "@", "\"", "\n", "\x97\xA5", "\xC3",     "\xE6\x97",     "\xED\xA0\x80",     "\xF0\x9F"};
  static constexpr size_t kFew[] = {3, 4, 7, 9, std::size(kPieces)};
  std::mt19937 rng(7);
  std::vector<std::string> texts;
  for (size_t i = 0; i < 400; ++i) {
    std::string text;
    for (size_t n = 1 + rng() % 6; n > 0; --n) text += kPieces[rng() % kFew[i % std::size(kFew)]];
    texts.push_back(text);
  }
  texts.emplace_back();
  const auto end = static_cast<int32_t>(texts.size() - 1);
  return std::make_shared<const GrammarVocabulary>(texts, std::vector<int32_t>{end}, nullptr);
}

// Holds each mask along a few texts of the grammar against each token tried.
void check_masks(const std::shared_ptr<const GrammarVocabulary>& tokens,
                 const std::shared_ptr<const Grammar>& grammar, std::string_view name, int runs,
                 int steps, std::mt19937& rng) {
  const auto masks = std::make_shared<Masks>(tokens);
  for (int run = 0; run < runs; ++run) {
    Matcher matcher(grammar, masks);
    std::string text;
    for (int step = 0; step < steps; ++step) {
      const auto bits = matcher.allowed();
      std::vector<int32_t> ids;
      for (uint32_t id = 0; id + 1 < tokens->n_tokens(); ++id) {
        const std::string token(tokens->text(id));
        const bool allowed = (bits[id / 32] >> id % 32 & 1) != 0;
        CHECK_MESSAGE(allowed == accepts_prefix(grammar, text + token),
                      name << ": " << text << " + " << token);
        if (allowed) ids.push_back(static_cast<int32_t>(id));
      }
      if (ids.empty()) break;
      const int32_t id = ids[rng() % ids.size()];
      matcher.take(id);
      text += tokens->text(static_cast<uint32_t>(id));
    }
  }
}

}  // namespace

TEST_CASE("Masks of expressions whose states repeat are those of their bytes") {
  const auto tokens = vocabulary();
  struct Row {
    const char* regex;
    uint32_t lexeme_states;  // with fewer an expression becomes rules over its parts
  };
  static constexpr Row kRows[] = {
      {"\"[^\"\\n]*\"", 4096},
      {"\"[^\"\\n]{2,20}\"", 4096},
      {"[^@]{0,12}@[^z]*", 4096},
      {"[a-z0-9.]{1,8}@[a-z0-9.]{1,30}\\.[a-z]{2,6}", 60},
      {"[a-z0-9.]{1,30}@[a-z]{1,3}", 4096},
      {"[a-z]+[0-9.]*", 4096},
      {"(?:[a-z]|\\u00e9|@@)*", 4096},
      {"[^\\x00-\\x7F]{3,9}a*", 4096},
      {"[\\u0080-\\u07FF]*[a-z]{4,}", 4096},
      {"[^\\u65e5]{1,9}", 4096},
      {"[\\s\\S]*", 4096},
      {"[\\s\\S]{3,7}", 4096},
  };
  std::mt19937 rng(3);
  for (const Row& row : kRows) {
    const auto grammar =
        regex_grammar(row.regex, {.lexeme_states = row.lexeme_states, .compile_ms = 0});
    REQUIRE_MESSAGE(grammar.has_value(), row.regex << ": " << grammar.error().text());
    check_masks(tokens, *grammar, row.regex, 3, 8, rng);
  }
}

TEST_CASE("Masks of texts of a pattern and a length are those of their bytes") {
  const auto tokens = vocabulary();
  static constexpr const char* kSchemas[] = {
      R"({"type": "string", "pattern": "^\\S+$", "minLength": 3, "maxLength": 20})",
      R"({"type": "string", "pattern": "^[az]+(@[ab0.]+)*$", "maxLength": 70})",
      R"({"type": "string", "pattern": "z.*\\.", "minLength": 9, "maxLength": 60})",
      R"({"type": "string", "pattern": "^([^@]*@)?[a0]*\\.z{3}$", "minLength": 30, "maxLength": 90})",
      R"({"type": "string", "pattern": "^[^@]+@[^@]+$", "minLength": 12})",
  };
  JsonSchemaOptions options;
  options.limits.compile_ms = 0;
  std::mt19937 rng(5);
  for (const char* schema : kSchemas) {
    const auto grammar = compile_json_schema_text(schema, options);
    REQUIRE_MESSAGE(grammar.has_value(), schema << ": " << grammar.error().text());
    check_masks(tokens, *grammar, schema, 3, 40, rng);
  }
}
