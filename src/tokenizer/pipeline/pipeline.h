// What a tokenizer.json says, part by part, for files that none of the quicker models carries out:
// the steps that cut text, the model's settings and the steps that turn tokens into text, as
// Hugging Face's library has them. Containers fill it. Read next: pipeline_tokenizer.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tokenizer/vocabulary.h"

namespace puna::tokenizer {

// What becomes of the matches that cut a text.
enum class SplitBehavior : uint8_t {
  kRemoved,
  kIsolated,
  kMergedWithPrevious,
  kMergedWithNext,
  kContiguous,  // neighbouring matches are one piece
};

// A pre-tokenizer; each cuts the pieces of the one before.
struct PreTokenizerStep {
  enum class Kind : uint8_t {
    kSplit,       // at `text`: an expression (see regex/regex.h) or, unless `expression`, itself
    kByteLevel,   // prefix, GPT-2's expression if `expression`, then every byte as a character
    kMetaspace,   // spaces become `text`; prefix; cut in front of each if `split`
    kWhitespace,  // keeps runs of word characters and runs of others that are no white space
    kWhitespaceSplit,
    kPunctuation,
    kDigits,
    kBert,
    kUnicodeScripts,
    kFixedLength,  // pieces of `length` characters
  };
  Kind kind;
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool expression = false;
  bool invert = false;
  bool split = true;
  SpacePrefix prefix = SpacePrefix::kNever;
  uint32_t length = 0;
  std::string text{};
  bool operator==(const PreTokenizerStep&) const = default;
};

// A decoder; each takes the texts that the one before made of the tokens.
struct DecoderStep {
  enum class Kind : uint8_t {
    kByteLevel,
    kByteFallback,
    kFuse,
    kMetaspace,  // `from` becomes a space; `prefix`: the first token loses them
    kWordPiece,  // `from` is the prefix of pieces inside a word
    kBpe,        // `from` is the suffix of pieces that end a word
    kCtc,        // `from` is the padding, `to` the end of a word
    kStrip,      // at most `start` and `stop` times `from` at the ends
    kReplace,    // `from`, an expression if `expression`, becomes `to`
  };
  Kind kind;
  bool expression = false;
  bool prefix = false;
  bool clean_up = false;  // English punctuation loses the space before it
  uint32_t start = 0, stop = 0;
  std::string from{}, to{};
  bool operator==(const DecoderStep&) const = default;
};

struct Pipeline {
  enum class Model : uint8_t { kBpe, kUnigram, kWordPiece, kWordLevel };
  Model model = Model::kBpe;
  std::vector<bool> in_model;  // by id: a token of the model, and no added token alone
  std::vector<PreTokenizerStep> steps;
  bool has_decoder = false;  // without one tokens are joined with spaces
  std::vector<DecoderStep> decoder;

  bool byte_fallback = false;      // BPE, Unigram
  bool fuse_unknown = false;       // BPE
  bool whole_words = false;        // BPE: ignore_merges
  std::string inside_prefix{};     // BPE, WordPiece: of pieces that do not begin a word
  std::string end_suffix{};        // BPE: of pieces that end one
  uint32_t most_characters = 100;  // WordPiece: a longer word is unknown
  std::vector<std::pair<std::string, std::string>> merges{};  // BPE, in the order of their ranks
};

}  // namespace puna::tokenizer
