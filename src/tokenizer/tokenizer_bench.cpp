// Speed of both tokenizers with the small vocabularies of tests/fixtures; run in the root of the
// repository.
#include <benchmark/benchmark.h>

#include <fstream>
#include <sstream>

#include "base/json.h"
#include "tokenizer/tokenizer.h"

namespace puna::tokenizer {
namespace {

std::string read_file(const char* path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Vocabulary read_vocabulary(const char* path) {
  Vocabulary v;
  const auto json = base::Json::parse(read_file(path));
  if (!json) return v;
  v.model = json->find("model")->string();
  v.pre = "smollm";
  v.space_prefix = SpacePrefix::kNever;
  for (const auto& token : json->find("tokens")->items()) v.tokens.push_back(token.string());
  for (const auto& type : json->find("types")->items())
    v.types.push_back(static_cast<TokenType>(type.integer()));
  if (const auto* scores = json->find("scores")) {
    for (const auto& score : scores->items())
      v.scores.push_back(static_cast<float>(score.number()));
  }
  if (const auto* merges = json->find("merges")) {
    for (const auto& merge : merges->items()) v.merges.push_back(merge.string());
  }
  return v;
}

// About a megabyte of English-like words and code-like lines with many different identifiers.
std::string mixed_text() {
  std::string text;
  uint32_t state = 1;
  const auto random = [&](uint32_t n) {
    state = state * 1664525 + 1013904223;
    return (state >> 16) % n;
  };
  const char* words[] = {"the",  "and",     "there",   "ending",  "begin", "stays",
                         "rain", "matters", "returns", "nothing", "often", "piece"};
  while (text.size() < 1'000'000) {
    for (uint32_t i = 0, n = 4 + random(12); i < n; ++i)
      text.append(words[random(12)]).push_back(' ');
    text += ".\n    if (value_" + std::to_string(random(5000)) + " == ";
    for (uint32_t i = 0, n = 2 + random(8); i < n; ++i)
      text.push_back(static_cast<char>('a' + random(26)));
    text += ") {\n\treturn x;\n    }\n";
  }
  return text;
}

void encode(benchmark::State& state, const char* path, const std::string& text) {
  const auto tokenizer = Tokenizer::create(read_vocabulary(path));
  if (!tokenizer) return state.SkipWithError(tokenizer.error().text().c_str());
  for (auto _ : state) benchmark::DoNotOptimize((*tokenizer)->encode(text));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(text.size()));
}

void decode(benchmark::State& state, const char* path, const std::string& text) {
  const auto tokenizer = Tokenizer::create(read_vocabulary(path));
  if (!tokenizer) return state.SkipWithError(tokenizer.error().text().c_str());
  const auto ids = (*tokenizer)->encode(text);
  for (auto _ : state) benchmark::DoNotOptimize((*tokenizer)->decode(ids));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(text.size()));
}

constexpr const char* kByteLevel = "tests/fixtures/tokenizer/byte_level.json";
constexpr const char* kSentencePiece = "tests/fixtures/tokenizer/sentencepiece.json";

BENCHMARK_CAPTURE(encode, byte_level_mixed, kByteLevel, mixed_text())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(encode, sentencepiece_mixed, kSentencePiece, mixed_text())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(encode, byte_level_one_word, kByteLevel, std::string(1'000'000, 'a'))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(encode, sentencepiece_one_word, kSentencePiece, std::string(1'000'000, 'a'))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decode, byte_level_mixed, kByteLevel, mixed_text())
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decode, sentencepiece_mixed, kSentencePiece, mixed_text())
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace puna::tokenizer

BENCHMARK_MAIN();
