// What the grammars of calls of tools cost with the vocabulary of a GGUF file, on one thread: of
// each family that calls tools, with three tools or those of a file.
//   puna_call_grammars FILE.gguf [TOOLS.json] [REPEATS]
// TOOLS: a list as of /v1/chat/completions. Writes a row a family and kind of request: milliseconds
// to compile, median of the repeats and most; of the first mask, and the median of those of a text
// that calls no tool; how many of its tokens had the mask of the one before.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <sstream>

#include "base/json.h"
#include "base/task.h"
#include "chat/parsers.h"
#include "formats/open.h"
#include "grammar/masks.h"
#include "grammar/matcher.h"
#include "service/call_grammar.h"
#include "tokenizer/tokenizer.h"

namespace puna {
namespace {

constexpr const char* kTools = R"([
  {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1,
    "maximum": 31}, "unit": {"enum": ["celsius", "fahrenheit"]}}, "required": ["city"],
    "additionalProperties": false}}},
  {"type": "function", "function": {"name": "search", "parameters": {"type": "object",
    "properties": {"query": {"type": "string", "maxLength": 200}, "limit": {"type": "integer"},
    "tags": {"type": "array", "items": {"type": "string"}}}, "required": ["query"]}}},
  {"type": "function", "function": {"name": "now"}}])";
constexpr const char* kText =
    "The weather of a place is what its sky and its air are like at some time: whether it rains, "
    "how warm it is (in degrees), and which way the wind blows. See <b>also</b>: climate.\n\n"
    "1. Is 3 < 4? Yes.\n2. \"Quoted\" text, and [links](https://example.org/a?b=c).\n";

// Time of this thread on a core: other programs on the machine do not count.
double now_ms() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

struct Kind {
  const char* name;
  service::ToolChoice choice;
};

base::Result<void> measure(const chat::ReplyStyle& style, const Kind& kind, const base::Json& tools,
                           const tokenizer::Tokenizer& tokenizer,
                           const std::shared_ptr<grammar::Masks>& masks, int repeats) {
  const service::CallRules rules{.style = style,
                                 .tools = tools,
                                 .choice = kind.choice,
                                 .form = {},
                                 .limits = grammar::Limits{.compile_ms = 0}};
  std::vector<double> compile_ms;
  std::shared_ptr<const grammar::Grammar> grammar;
  for (int i = 0; i < repeats; ++i) {
    const double start = now_ms();
    PUNA_TRY(grammar, service::compile_calls(rules, tokenizer));
    compile_ms.push_back(now_ms() - start);
  }
  grammar::Matcher matcher(grammar, masks);
  const double start = now_ms();
  const auto first = matcher.allowed();
  const double first_ms = now_ms() - start;
  std::vector<uint32_t> before(first.begin(), first.end());
  std::vector<double> mask_ms{first_ms};
  size_t n_same = 0, n_tokens = 0;
  const std::vector<int32_t> ids = tokenizer.encode(kText, {.add_special = false});
  for (const int32_t id : ids) {
    if (kind.choice.required) break;
    ++n_tokens;
    const double begin = now_ms();
    matcher.take(id);
    const auto bits = matcher.allowed();
    mask_ms.push_back(now_ms() - begin);
    if (matcher.done()) {
      return base::fail(base::ErrorCode::kUnsupported,
                        fmt::format("{}: the text is not free at its token {}.", style.name, id));
    }
    n_same += std::ranges::equal(bits, before) ? 1 : 0;
    before.assign(bits.begin(), bits.end());
  }
  fmt::print("{:10} {:9} {:8.1f} {:8.1f} {:8} {:9.2f} {:9.1f} {:9.1f} {:6}/{}\n", style.name,
             kind.name, median(compile_ms), *std::ranges::max_element(compile_ms),
             grammar->n_lexemes(), first_ms, 1e3 * median(mask_ms),
             1e3 * *std::ranges::max_element(mask_ms), n_same, n_tokens);
  return {};
}

base::Result<void> run(const char* model, const char* tools_file, int repeats) {
  PUNA_TRY(formats::ModelFile file, base::run_until(formats::open_model(model), [] {}));
  PUNA_TRY(const auto tokenizer, tokenizer::Tokenizer::create(std::move(file.vocabulary)));
  PUNA_TRY(auto vocabulary, grammar::GrammarVocabulary::create(*tokenizer));
  std::stringstream text;
  if (tools_file != nullptr) {
    text << std::ifstream(tools_file, std::ios::binary).rdbuf();
  } else {
    text << kTools;
  }
  PUNA_TRY(const base::Json tools, base::Json::parse(text.str()));
  fmt::print("{} tokens, {} tools, {} repeats\n", vocabulary->n_tokens(), tools.items().size(),
             repeats);
  fmt::print("{:10} {:9} {:>8} {:>8} {:>8} {:>9} {:>9} {:>9} {:>8}\n", "family", "calls", "comp ms",
             "most", "lexemes", "first ms", "mask us", "most", "same");
  const Kind kinds[] = {{"auto", {}}, {"required", {.required = true}}};
  for (const chat::ReplyStyle& style : chat::reply_styles()) {
    if (!style.frame) continue;
    // As each model has its own.
    const auto masks = std::make_shared<grammar::Masks>(vocabulary);
    for (const Kind& kind : kinds)
      PUNA_TRY(measure(style, kind, tools, *tokenizer, masks, repeats));
  }
  return {};
}

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    fmt::print(stderr, "usage: puna_call_grammars FILE.gguf [TOOLS.json] [REPEATS]\n");
    return 2;
  }
  const auto done = run(argv[1], argc > 2 ? argv[2] : nullptr, argc > 3 ? std::atoi(argv[3]) : 5);
  if (done) return 0;
  fmt::print(stderr, "error: {}\n", done.error().text());
  return 1;
}

}  // namespace
}  // namespace puna

int main(int argc, char** argv) { return puna::main(argc, argv); }
