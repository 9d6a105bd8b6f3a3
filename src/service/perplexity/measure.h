// The perplexity of a model over a text, chunk by chunk, and its divergence from a base. Read next:
// score.h (what is computed), base_file.h.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>

#include "base/thread_pool.h"
#include "io/byte_sink.h"
#include "service/model.h"
#include "service/perplexity/base_file.h"
#include "service/perplexity/score.h"

namespace puna::service {

// The tokens of a text as they are cut into chunks: with what the tokenizer puts around a text;
// markers like <|im_start|> are plain text.
std::vector<int32_t> perplexity_tokens(const tokenizer::Tokenizer& tokenizer,
                                       std::string_view text);

struct PerplexityOptions {
  uint32_t n_ctx = 512;                   // tokens of a chunk
  std::optional<uint32_t> n_chunks = {};  // the first ones only; none = all whole ones
  BaseFile* base = nullptr;               // to compare with
  io::ByteSink* save = nullptr;  // gets the base that this run makes; finish() is the caller's
  const std::atomic<bool>* cancel = nullptr;
  // After each chunk, with what came so far.
  std::function<void(uint32_t n_done, uint32_t n_chunks, const PerplexityStatistics&)> on_chunk =
      {};
};

// Cuts `tokens` into chunks of n_ctx and evaluates each by itself, with BOS in place of its first
// token where the tokenizer puts one in front of a text; the positions of its second half count
// (base_file.h). What is left of the text behind the last whole chunk does not. Holds the logits of
// some rows at a time. `pool` computes with the rows of a step. The model's engine was loaded for
// all logits, with a context of at least n_ctx; its sequence 0 is forgotten.
//
// Errors: kInvalidArgument for chunks below kLeastChunk, fewer tokens than a chunk or than n_chunks
// of them, a base of other sizes, chunks or tokens, and a token in the text or the base that this
// model gives no probability at all; kCancelled; those of the engine, the base and the sink.
base::Task<base::Result<PerplexityStatistics>> measure_perplexity(LoadedModel& model,
                                                                  std::vector<int32_t> tokens,
                                                                  base::ThreadPool& pool,
                                                                  PerplexityOptions options);

}  // namespace puna::service
