#include "tokenizer/pre_tokenizers.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

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

constexpr Expressions kDeepSeekCoder = {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)",
                                        R"([一-龥ࠀ-一가-퟿]+)", R"(\p{N})"};
// The letters of Latin, Greek, Cyrillic and a few smaller scripts, as the models' files list them;
// by number where another character looks the same.
constexpr Expressions kDeepSeekLlm = {
    R"([\r\n])",
    R"(\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-)"
    "\u1F7D"
    R"(ᾀ-ᾴᾶ-ᾼ)"
    "\u1FBE"
    R"(ῂ-ῄῆ-ῌῐ-)"
    "\u1FD3"
    R"(ῖ-)"
    "\u1FDB"
    R"(ῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ)"
    "\u2126"
    R"(ℨ)"
    "\u212A"
    R"(-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+)",
    R"(\s?[!-/:-~！-／：-～‘-‟　-。]+)",
    R"(\s+$)",
    R"([一-龥ࠀ-一가-퟿]+)",
    R"(\p{N}+)"};
constexpr Expressions kFalcon = {R"([\p{P}\$\+<=>\^~\|`]+)", PUNA_GPT2_WORDS, "[0-9][0-9][0-9]"};
constexpr Expressions kBailing = {
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)"};
constexpr Expressions kSeedCoder = {
    PUNA_CONTRACTIONS
    R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|)" PUNA_LINES_AND_SPACES};
constexpr Expressions kMiniCpm5 = {
    R"(\p{N}{1,3})", PUNA_CONTRACTIONS
    R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|)" PUNA_LINES_AND_SPACES};
constexpr Expressions kBloom = {R"( ?[^(\s|.,!?…。，、।۔،)]+)"};
constexpr Expressions kViking = {R"( ?[^(\s|.,!?…。，、।۔،)]+)", R"(\p{N})"};

#undef PUNA_GPT2_WORDS
#undef PUNA_LINES_AND_SPACES
#undef PUNA_CONTRACTIONS

// Rule and flags of a name as its tokenizer.json has them; names that share a rule stand together,
// the first one being what a tokenizer.json of this rule is called.
constexpr PreTokenizer kTable[] = {
    {"smollm", kSmolLm},
    {"starcoder", kSmolLm},
    {"refact", kSmolLm},
    {"codeshell", kSmolLm},
    {"exaone", kSmolLm},
    {"minerva-7b", kSmolLm},
    {"command-r", kSmolLm, /*whole_words=*/false, /*nfc=*/true},

    {"gpt-2", kGpt2},
    {"default", kGpt2},
    {"", kGpt2},
    {"phi-2", kGpt2},
    {"granite-docling", kGpt2},
    {"roberta-bpe", kGpt2},
    {"modern-bert", kGpt2},
    {"jina-v1-en", kGpt2},
    {"jina-v2-es", kGpt2},
    {"jina-v2-de", kGpt2},
    {"jina-v2-code", kGpt2},
    {"jais", kGpt2},
    {"trillion", kGpt2},
    {"exaone4", kGpt2},
    {"gigachat", kGpt2},
    {"a.x-4.0", kGpt2},
    {"mellum", kGpt2},
    {"olmo", kGpt2, /*whole_words=*/false, /*nfc=*/true},
    {"mpt", kGpt2, /*whole_words=*/false, /*nfc=*/true},

    {"llama-bpe", kLlama3, /*whole_words=*/true},
    {"llama3", kLlama3, /*whole_words=*/true},
    {"llama-v3", kLlama3, /*whole_words=*/true},
    {"falcon3", kLlama3, /*whole_words=*/true},
    {"falcon-h1", kLlama3, /*whole_words=*/true},
    {"lfm2", kLlama3, /*whole_words=*/true},
    {"pixtral", kLlama3, /*whole_words=*/true},
    {"midm-2.0", kLlama3, /*whole_words=*/true},
    {"dbrx", kLlama3},
    {"smaug-bpe", kLlama3},
    {"glm4", kLlama3},
    {"chatglm-bpe", kLlama3},

    {"qwen2", kQwen2, /*whole_words=*/false, /*nfc=*/true},
    {"deepseek-r1-qwen", kQwen2, /*whole_words=*/false, /*nfc=*/true},
    {"stablelm2", kQwen2, /*whole_words=*/false, /*nfc=*/true},
    {"megrez", kQwen2, /*whole_words=*/false, /*nfc=*/true},
    {"hunyuan", kQwen2},
    {"grok-2", kQwen2},
    {"qwen35", kQwen35, /*whole_words=*/false, /*nfc=*/true},

    {"gpt-4o", kGpt4o},
    {"llama4", kGpt4o},
    {"kanana2", kGpt4o},
    {"minimax-m2", kGpt4o},
    {"tekken", kTekken, /*whole_words=*/true},

    {"deepseek-llm", kDeepSeekLlm},
    {"deepseek-coder", kDeepSeekCoder},
    {"deepseek-v3", kDeepSeek3},
    {"hunyuan-dense", kDeepSeek3},
    {"joyai-llm", kDeepSeek3},

    {"falcon", kFalcon},
    {"bailingmoe", kBailing},
    {"bailingmoe2", kBailing},
    {"llada-moe", kBailing},
    {"seed-coder", kSeedCoder},
    {"minicpm5", kMiniCpm5, /*whole_words=*/true},
    {"bloom", kBloom},
    {"gpt3-finnish", kBloom},
    {"poro-chat", kBloom},
    {"viking", kViking},
};

}  // namespace

std::span<const PreTokenizer> pre_tokenizers() { return kTable; }

base::Result<const PreTokenizer*> find_pre_tokenizer(std::string_view name) {
  std::string known;
  for (const PreTokenizer& row : kTable) {
    if (row.name == name) return &row;
    if (!row.name.empty()) known.append(known.empty() ? "" : ", ").append(row.name);
  }
  return base::fail(
      base::ErrorCode::kUnsupported,
      fmt::format("The pre-tokenizer \"{}\" is not supported (known are {}).", name, known));
}

const PreTokenizer* recognise_pre_tokenizer(std::span<const std::string> expressions,
                                            bool whole_words, bool nfc) {
  const auto it = std::find_if(std::begin(kTable), std::end(kTable), [&](const PreTokenizer& row) {
    return row.whole_words == whole_words && row.nfc == nfc &&
           std::ranges::equal(row.expressions, expressions);
  });
  return it == std::end(kTable) ? nullptr : &*it;
}

}  // namespace puna::tokenizer
