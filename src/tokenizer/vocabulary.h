// What a container knows about its tokens; the input of Tokenizer::create. Containers fill it,
// tokenizers read it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace puna::tokenizer {

struct Pipeline;

// As GGUF's tokenizer.ggml.token_type.
enum class TokenType : uint8_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6
};

// A step that rewrites text before it is cut into words; named as tokenizer.json names them.
struct NormalizerStep {
  enum class Kind : uint8_t {
    kNfc,
    kNfd,
    kNfkc,
    kNfkd,
    kLowercase,
    kStripAccents,    // takes marks away
    kBertClean,       // takes control characters away, makes every white space a space
    kBertChinese,     // puts spaces around CJK characters
    kBertAccents,     // NFD without nonspacing marks
    kReplace,         // every `from` becomes `to`
    kReplaceMatches,  // every match of the expression `from` (see regex/regex.h) becomes `to`
    kPrepend,         // `to` in front, unless the text is empty
    kStripLeft,       // no white space at the beginning
    kStripRight,      // nor at the end
    kCollapseSpaces,  // one space for each run, none at the ends
    kCharsmap,        // `from`: sentencepiece's precompiled_charsmap
    kPrecompiled,     // the same as Hugging Face's library applies it
    kNmt,             // takes control characters away, makes odd white space a space
    kByteLevel,       // every byte as a character of GPT-2's map
  };
  Kind kind;
  std::string from{}, to{};
  bool operator==(const NormalizerStep&) const = default;
};

// When a space goes in front of text whose pieces mark the beginnings of words.
enum class SpacePrefix : uint8_t {
  kNever,
  kAlways,            // in front of every text between special tokens
  kUnlessSpace,       // the same, unless it begins with one
  kFirstUnlessSpace,  // at the very beginning only
};

// Where text is cut into words that no piece goes across, before the model sees it.
enum class WordSplit : uint8_t {
  kNone,
  kSpaces,      // in front of every space
  kWhiteSpace,  // at white space of every kind, which is lost; each word gets the prefix
};

// What a token that is found in text asks for, beyond standing there.
struct TokenRules {
  int32_t id = -1;
  bool left_spaces = false;   // takes the white space before it
  bool right_spaces = false;  // and after it
  bool single_word = false;   // is no token inside a word
  bool normalized = false;    // is looked for after the normalizer, and normalized itself
  bool operator==(const TokenRules&) const = default;
};

struct Vocabulary {
  std::string model;  // "gpt2" (byte-level BPE), "llama" (SentencePiece BPE), "gemma4" (the same,
                      // by merges), "t5" (unigram), "bert" (WordPiece), "rwkv"
                      // (the longest token), "pipeline" (what `pipeline` says)
  std::string pre;    // pre-tokenizer name of "gpt2" models: "smollm", "llama-bpe", ...; kCustomPre
                      // when `splits` says it
  std::vector<std::string> tokens;  // by id, as stored (byte-level or with U+2581 for spaces)
  std::vector<float> scores;        // by id, empty when the model has none
  std::vector<TokenType> types;     // by id, empty means all normal
  std::vector<std::string>
      merges;  // "left right", in rank order; emptied once a tokenizer is made of them
  std::optional<int32_t> bos, eos, eot, unk, pad;
  bool add_bos = false;
  bool add_eos = false;
  SpacePrefix space_prefix =
      SpacePrefix::kAlways;  // but for "gpt2": there only kUnlessSpace counts
  std::vector<int32_t>
      end_tokens;  // every id that ends a turn: eos, eot and the like, without duplicates

  std::vector<NormalizerStep> normalizer;  // besides what `pre` brings
  std::vector<TokenRules> rules;           // of tokens that have any, by id
  // Read with pre == kCustomPre:
  std::vector<std::string>
      splits;                // expressions, see split.h; each cuts the pieces of the one before
  bool whole_words = false;  // see PreTokenizer
  WordSplit word_split = WordSplit::kNone;  // of models that mark spaces
  // What encode puts before and after the text beside bos and eos: [bos, before..., text, after...,
  // eos].
  std::vector<int32_t> before, after;
  std::shared_ptr<const Pipeline> pipeline;  // of "pipeline" models, see pipeline/pipeline.h
  // The tokenizer.json this comes from, kept only where the keys of GGUF cannot say all of it.
  std::string huggingface_json;
};

// The name of a pre-tokenizer that has none.
inline constexpr const char* kCustomPre = "custom";

}  // namespace puna::tokenizer
