// What a container knows about its tokens; the input of Tokenizer::create. Containers fill it,
// tokenizers read it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace puna::tokenizer {

// As GGUF's tokenizer.ggml.token_type.
enum class TokenType : uint8_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6
};

struct Vocabulary {
  std::string model;  // "gpt2" (byte-level BPE), "llama" (SentencePiece BPE), ...
  std::string pre;    // pre-tokenizer name of "gpt2" models: "smollm", "llama-bpe", ...
  std::vector<std::string> tokens;  // by id, as stored (byte-level or with U+2581 for spaces)
  std::vector<float> scores;        // by id, empty when the model has none
  std::vector<TokenType> types;     // by id, empty means all normal
  std::vector<std::string>
      merges;  // "left right", in rank order; emptied once a tokenizer is made of them
  std::optional<int32_t> bos, eos, eot, unk, pad;
  bool add_bos = false;
  bool add_eos = false;
  bool add_space_prefix = true;  // SentencePiece only
  std::vector<int32_t>
      end_tokens;  // every id that ends a turn: eos, eot and the like, without duplicates
};

}  // namespace puna::tokenizer
