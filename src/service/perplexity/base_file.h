// Log-probabilities of a model over a text, kept to compare others with: the base of a KL
// divergence. The file is llama.cpp's (llama-perplexity --kl-divergence-base, read by
// --kl-divergence), so that either program reads what the other wrote. Little-endian:
//   "_logits_", i32 n_ctx, i32 n_vocab, i32 n_chunks, i32 tokens[n_chunks][n_ctx], then a row for
//   each counted position (n_counted(n_ctx) a chunk, in order): f32 scale, f32 lowest,
//   u16 codes[n_vocab], and u16 0 where n_vocab is odd.
// ln p(i) = lowest + scale * codes[i]; what lies 16 or more below the likeliest has code 0.
// Source: llama.cpp, tools/perplexity/perplexity.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "io/byte_sink.h"
#include "io/byte_source.h"

namespace puna::service {

// Of a chunk's positions the first half is only read; each of the others but the last says
// something about the token behind it.
constexpr uint32_t first_counted(uint32_t n_ctx) { return n_ctx / 2; }
constexpr uint32_t n_counted(uint32_t n_ctx) { return n_ctx - 1 - first_counted(n_ctx); }
constexpr uint32_t kLeastChunk = 4;  // tokens

struct BaseHeader {
  uint32_t n_ctx = 0;  // tokens of a chunk
  uint32_t n_vocab = 0;
  uint32_t n_chunks = 0;
  std::vector<int32_t> tokens = {};  // [n_chunks, n_ctx], as the text has them
};

// The log-probabilities of one position.
struct BaseRow {
  float scale = 0;
  float lowest = 0;
  std::span<const uint16_t> codes;  // [n_vocab]

  float log_probability(size_t id) const { return lowest + scale * codes[id]; }
};

// Words of 16 bits that a row takes.
constexpr size_t base_row_words(uint32_t n_vocab) { return 4 + (size_t{n_vocab} + 1) / 2 * 2; }
BaseRow base_row(std::span<const uint16_t> words, uint32_t n_vocab);
// Fills `words` [base_row_words()] from logits [n_vocab] and the logarithm of the sum of their
// exponentials; one of them at least is finite, none NaN.
void make_base_row(std::span<const float> logits, double log_sum, std::span<uint16_t> words);

base::Result<void> write_base_header(const BaseHeader& header, io::ByteSink& sink);

class BaseFile {
 public:
  // Reads the header. Errors: kCorrupt for another kind of file, sizes out of range, a length that
  // is not the header's, and tokens outside the vocabulary; those of the source.
  static base::Task<base::Result<BaseFile>> open(std::unique_ptr<io::ByteSource> source);

  const BaseHeader& header() const { return header_; }
  const std::string& name() const { return source_->name(); }
  // Reads rows [first, first + words.size() / base_row_words()), counted over all chunks. Errors:
  // kCorrupt for a row whose numbers are none; those of the source.
  base::Task<base::Result<void>> read(uint64_t first, std::span<uint16_t> words);

 private:
  std::unique_ptr<io::ByteSource> source_;
  BaseHeader header_;
  uint64_t rows_at_ = 0;  // offset of the first row
};

}  // namespace puna::service
