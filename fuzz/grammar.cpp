// Grammars from hostile bytes: the first byte picks the front end, the second how a text goes on;
// the rest is a regular expression or GBNF. Whatever it is, it is an error or a grammar, and then a
// mask has just the tokens with which a text that fits can go on, or none and the name of a limit.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "grammar/gbnf.h"
#include "grammar/matcher.h"
#include "grammar/regex.h"

namespace {

using namespace puna::grammar;

// Every byte, some longer texts, an end token.
std::shared_ptr<const GrammarVocabulary> vocabulary() {
  std::vector<std::string> texts;
  for (int byte = 0; byte < 256; ++byte) texts.emplace_back(1, static_cast<char>(byte));
  for (const char* text : {"ab", "aaa", "\": ", "}}", ", \"", "abc\"", "\n\n", " \t ",
                           "\xC3\xA9"
                           "a"})
    texts.emplace_back(text);
  texts.emplace_back();
  const auto end = static_cast<int32_t>(texts.size() - 1);
  return std::make_shared<const GrammarVocabulary>(texts, std::vector<int32_t>{end}, nullptr);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto kTokens = vocabulary();
  if (size < 2) return 0;
  const Limits limits{.text_bytes = 4096,
                      .depth = 64,
                      .rules = 10'000,
                      .lexeme_states = 500,
                      .expressions = 100'000,
                      .compile_ms = 1000,
                      .mask_steps = 200'000};
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto grammar = data[0] % 2 == 0 ? gbnf_grammar(text, limits) : regex_grammar(text, limits);
  if (!grammar) {
    PUNA_CHECK(!grammar.error().message.empty());
    return 0;
  }
  const auto masks = std::make_shared<Masks>(kTokens, size_t{1} << 20);
  Matcher matcher(*grammar, masks);
  uint32_t random = data[1];
  std::string written;
  for (int step = 0; step < 8; ++step) {
    const auto bits = matcher.allowed();
    if (matcher.error()) {
      PUNA_CHECK(std::ranges::none_of(bits, [](uint32_t word) { return word != 0; }));
      PUNA_CHECK(!matcher.may_end() && !matcher.done());
      break;
    }
    std::vector<int32_t> allowed;
    for (uint32_t id = 0; id < kTokens->n_tokens(); ++id) {
      const bool is_end = kTokens->is_end(static_cast<int32_t>(id));
      const bool is_allowed = (bits[id / 32] >> id % 32 & 1) != 0;
      PUNA_CHECK(is_allowed ==
                 (is_end ? accepts(*grammar, written)
                         : accepts_prefix(*grammar, written + std::string(kTokens->text(id)))));
      if (is_allowed && !is_end) allowed.push_back(static_cast<int32_t>(id));
    }
    PUNA_CHECK(matcher.may_end() == accepts(*grammar, written));
    if (allowed.empty()) break;
    random = random * 1664525 + 1013904223;
    const int32_t id = allowed[random / 65536 % allowed.size()];
    matcher.take(id);
    written += kTokens->text(static_cast<uint32_t>(id));
  }
  return 0;
}
