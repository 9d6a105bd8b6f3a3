#include "tokenizer/pre_tokenizers.h"

namespace puna::tokenizer {

namespace {

using Expressions = std::string_view[];

// The expression of GPT-2, which Hugging Face's ByteLevel applies unless told not to.
#define PUNA_GPT2_WORDS \
  R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"
// What Llama 3 (from GPT-4's cl100k) and most later models end with: punctuation, line ends,
// spaces.
#define PUNA_LINES_AND_SPACES R"(\s*[\r\n]+|\s+(?!\S)|\s+)"
#define PUNA_CONTRACTIONS R"((?i:'s|'t|'re|'ve|'m|'ll|'d))"

constexpr Expressions kGpt2 = {PUNA_GPT2_WORDS};
// Digits stand alone, then GPT-2. The digits' first step is Digits(individual_digits) in
// tokenizer.json.
constexpr Expressions kSmolLm = {R"(\p{N})", PUNA_GPT2_WORDS};
constexpr Expressions kLlama3 = {
    PUNA_CONTRACTIONS
    R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" PUNA_LINES_AND_SPACES};
constexpr Expressions kQwen2 = {
    PUNA_CONTRACTIONS
    R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" PUNA_LINES_AND_SPACES};
constexpr Expressions kQwen35 = {
    PUNA_CONTRACTIONS
    R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)" PUNA_LINES_AND_SPACES};
constexpr Expressions kGpt4o = {
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)" PUNA_CONTRACTIONS
    R"(?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)" PUNA_CONTRACTIONS
    R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" PUNA_LINES_AND_SPACES};
constexpr Expressions kTekken = {
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" PUNA_LINES_AND_SPACES};
constexpr Expressions kDeepSeek3 = {
    R"(\p{N}{1,3})", R"([一-龥぀-ゟ゠-ヿ]+)",
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|)" PUNA_LINES_AND_SPACES};

#undef PUNA_GPT2_WORDS
#undef PUNA_LINES_AND_SPACES
#undef PUNA_CONTRACTIONS

// Rule and flags of a name as its tokenizer.json has them; names that share a rule stand together.
constexpr PreTokenizer kTable[] = {
    {"smollm", kSmolLm},
    {"starcoder", kSmolLm},
    {"refact", kSmolLm},
    {"command-r", kSmolLm},
    {"codeshell", kSmolLm},

    {"gpt-2", kGpt2},
    {"default", kGpt2},
    {"", kGpt2},
    {"olmo", kGpt2},
    {"mpt", kGpt2},
    {"phi-2", kGpt2},

    {"llama-bpe", kLlama3, /*whole_words=*/true},
    {"llama3", kLlama3, /*whole_words=*/true},
    {"llama-v3", kLlama3, /*whole_words=*/true},
    {"falcon3", kLlama3, /*whole_words=*/true},
    {"falcon-h1", kLlama3, /*whole_words=*/true},
    {"lfm2", kLlama3, /*whole_words=*/true},
    {"pixtral", kLlama3, /*whole_words=*/true},
    {"dbrx", kLlama3},
    {"smaug-bpe", kLlama3},

    {"qwen2", kQwen2},
    {"stablelm2", kQwen2},
    {"deepseek-r1-qwen", kQwen2},
    {"qwen35", kQwen35},

    {"gpt-4o", kGpt4o},
    {"llama4", kGpt4o},
    {"tekken", kTekken, /*whole_words=*/true},
    {"deepseek-v3", kDeepSeek3},
};

}  // namespace

std::span<const PreTokenizer> pre_tokenizers() { return kTable; }

const PreTokenizer* find_pre_tokenizer(std::string_view name) {
  for (const PreTokenizer& row : kTable) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace puna::tokenizer
