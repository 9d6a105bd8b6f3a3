// What grammars cost with the vocabulary of a GGUF file, on one thread. compare.py runs it beside
// other libraries.
//   puna_grammar_bench FILE.gguf CASES.json [TOKENS.json]
// CASES: [{"name", "kind": "schema", "gbnf" or "regex", "grammar", "texts": [...]}]. Each text is
// cut into tokens by the model's tokenizer; a mask is made before each. Writes {"n_tokens",
// "vocabulary_ms", "vocabulary_mib", "cases": [{"name", "compile_ms", "warm_ms", "n_tokens",
// "first": {...}, "again": {...}, "refused", "forced"}]}: microseconds of masks as "median", "p99",
// "most", from a cold cache and from one that has seen the texts; tokens that the grammar refused;
// tokens of the texts that were forced.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <sstream>

#include "base/json.h"
#include "base/task.h"
#include "formats/open.h"
#include "grammar/gbnf.h"
#include "grammar/json_schema/json_schema.h"
#include "grammar/matcher.h"
#include "grammar/regex.h"
#include "grammar/rules.h"
#include "tokenizer/tokenizer.h"

namespace puna {
namespace {

// Time of this thread on a core: other programs on the machine do not count.
double now_us() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

base::Json figures(std::vector<double> us) {
  std::ranges::sort(us);
  const auto at = [&](double part) {
    return us[std::min(us.size() - 1, static_cast<size_t>(part * static_cast<double>(us.size())))];
  };
  base::Json out = base::Json::object();
  out.set("median", at(0.5));
  out.set("p99", at(0.99));
  out.set("most", us.back());
  return out;
}

base::Result<std::shared_ptr<const grammar::Grammar>> compile(const base::Json& row) {
  const grammar::Limits limits{.compile_ms = 0};
  PUNA_TRY(const std::string text, row.get_string("grammar"));
  PUNA_TRY(const std::string kind, row.get_string("kind"));
  if (kind == "schema")
    return grammar::compile_json_schema_text(text, {.strict = false, .limits = limits});
  return kind == "gbnf" ? grammar::gbnf_grammar(text, limits)
                        : grammar::regex_grammar(text, limits);
}

struct Pass {
  std::vector<double> us;
  int64_t n_refused = 0, n_forced = 0, n_tokens = 0;
};

void walk(grammar::Matcher matcher, const std::vector<int32_t>& ids, Pass& pass) {
  for (const int32_t id : ids) {
    const auto forced = matcher.forced();
    const double start = now_us();
    const auto bits = matcher.allowed();
    pass.us.push_back(now_us() - start);
    const auto at = static_cast<size_t>(id);
    if ((bits[at / 32] >> at % 32 & 1) == 0) {
      ++pass.n_refused;
      return;
    }
    ++pass.n_tokens;
    pass.n_forced += !forced.empty() && forced.front() == id ? 1 : 0;
    matcher.take(id);
  }
  if (!matcher.may_end()) ++pass.n_refused;
}

base::Result<base::Json> measure(const base::Json& row, const tokenizer::Tokenizer& tokenizer,
                                 std::shared_ptr<const grammar::GrammarVocabulary> vocabulary) {
  base::Json out = base::Json::object();
  PUNA_TRY(const std::string name, row.get_string("name"));
  out.set("name", name);
  const double start = now_us();
  const auto compiled = compile(row);
  if (!compiled) {
    out.set("error", compiled.error().text());
    return out;
  }
  const double end = now_us();
  out.set("compile_ms", (end - start) / 1e3);
  const auto masks = std::make_shared<grammar::Masks>(std::move(vocabulary));
  masks->warm(**compiled);
  out.set("warm_ms", (now_us() - end) / 1e3);
  out.set("n_rules", (*compiled)->n_rules());
  out.set("n_lexemes", (*compiled)->n_lexemes());
  std::vector<std::vector<int32_t>> texts;
  for (const base::Json& text : row.find("texts")->items()) {
    texts.push_back(
        tokenizer.encode(text.string(), {.add_special = false, .parse_special = false}));
  }
  Pass pass;
  for (const char* which : {"first", "again"}) {
    pass = Pass();
    for (const auto& ids : texts) walk(grammar::Matcher(*compiled, masks), ids, pass);
    out.set(which, figures(pass.us));
  }
  out.set("n_tokens", pass.n_tokens);
  out.set("refused", pass.n_refused);
  out.set("forced", pass.n_forced);
  out.set("masks_mib", static_cast<double>(masks->size_bytes()) / (1 << 20));
  return out;
}

base::Json ids_of(const tokenizer::Tokenizer& tokenizer, const base::Json& texts) {
  base::Json out = base::Json::array();
  for (const base::Json& text : texts.items()) {
    base::Json ids = base::Json::array();
    for (const int32_t id :
         tokenizer.encode(text.string(), {.add_special = false, .parse_special = false}))
      ids.push(id);
    out.push(std::move(ids));
  }
  return out;
}

void write_tokens(const char* path, const tokenizer::Tokenizer& tokenizer,
                  const grammar::GrammarVocabulary& vocabulary, const base::Json& rows) {
  base::Json out = base::Json::object(), tokens = base::Json::array(), end = base::Json::array();
  for (uint32_t id = 0; id < vocabulary.n_tokens(); ++id) {
    std::string hex;
    for (const char c : vocabulary.text(id)) hex += fmt::format("{:02x}", static_cast<uint8_t>(c));
    tokens.push(hex);
  }
  for (const int32_t id : vocabulary.end_tokens()) end.push(id);
  base::Json cases = base::Json::object();
  for (const base::Json& row : rows.items())
    cases.set(row.find("name")->string(), ids_of(tokenizer, *row.find("texts")));
  out.set("tokens", std::move(tokens));
  out.set("end", std::move(end));
  out.set("cases", std::move(cases));
  std::ofstream(path) << out.dump();
}

base::Result<base::Json> run(const char* model, const char* cases, const char* tokens) {
  PUNA_TRY(formats::ModelFile file, base::run_until(formats::open_model(model), [] {}));
  PUNA_TRY(const auto tokenizer, tokenizer::Tokenizer::create(std::move(file.vocabulary)));
  const double start = now_us();
  PUNA_TRY(const auto vocabulary, grammar::GrammarVocabulary::create(*tokenizer));
  base::Json out = base::Json::object();
  out.set("n_tokens", vocabulary->n_tokens());
  out.set("vocabulary_ms", (now_us() - start) / 1e3);
  out.set("vocabulary_mib", static_cast<double>(vocabulary->size_bytes()) / (1 << 20));
  out.set("trie_nodes", vocabulary->trie().n_nodes());
  PUNA_TRY(const base::Json rows, base::Json::parse(read_file(cases)));
  if (tokens != nullptr) write_tokens(tokens, *tokenizer, *vocabulary, rows);
  base::Json results = base::Json::array();
  for (const base::Json& row : rows.items()) {
    PUNA_TRY(base::Json result, measure(row, *tokenizer, vocabulary));
    results.push(std::move(result));
  }
  out.set("cases", std::move(results));
  return out;
}

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    fmt::print(stderr, "usage: puna_grammar_bench FILE.gguf CASES.json [TOKENS.json]\n");
    return 2;
  }
  const auto out = run(argv[1], argv[2], argc > 3 ? argv[3] : nullptr);
  if (!out) {
    fmt::print(stderr, "error: {}\n", out.error().text());
    return 1;
  }
  fmt::print("{}\n", out->dump(1));
  return 0;
}

}  // namespace
}  // namespace puna

int main(int argc, char** argv) { return puna::main(argc, argv); }
