#include "service/perplexity/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace puna::service {

using base::ErrorCode;
using base::Result;
using base::Task;

namespace {

// Logits that are held at a time: enough rows for the engine to be fast (of 2^18 tokens, 64).
constexpr uint64_t kLogitBytes = uint64_t{64} << 20;

uint32_t rows_at_once(uint32_t vocab) {
  const uint64_t fit = kLogitBytes / (uint64_t{vocab} * sizeof(float));
  const auto most = uint64_t{kernels::kMaxStepTokens};
  return static_cast<uint32_t>(std::clamp<uint64_t>(fit / 16 * 16, 16, most));
}

std::unexpected<base::Error> refuse(std::string why) {
  return base::fail(ErrorCode::kInvalidArgument, std::move(why));
}

// How many chunks are evaluated.
Result<uint32_t> count_chunks(size_t n_tokens, const PerplexityOptions& options) {
  if (options.n_ctx < kLeastChunk) {
    return refuse(fmt::format("Chunks of {} tokens are asked for, but they have {} or more.",
                              options.n_ctx, kLeastChunk));
  }
  const size_t whole = n_tokens / options.n_ctx;
  if (whole == 0) {
    return refuse(
        fmt::format("The text has {} tokens, but a chunk has {}; a longer text or a smaller --ctx "
                    "is needed.",
                    n_tokens, options.n_ctx));
  }
  if (options.n_chunks.value_or(0) > whole) {
    return refuse(fmt::format("{} chunks are asked for, but the text has {} of {} tokens.",
                              *options.n_chunks, whole, options.n_ctx));
  }
  return options.n_chunks.value_or(static_cast<uint32_t>(whole));
}

// A base is of the same vocabulary, chunks and text.
Result<void> check_base(const BaseFile& base, uint32_t n_vocab, uint32_t n_ctx, uint32_t n_chunks,
                        std::span<const int32_t> tokens) {
  const BaseHeader& header = base.header();
  if (header.n_vocab != n_vocab) {
    return refuse(fmt::format("The base {} is of a vocabulary of {} tokens, but the model has {}.",
                              base.name(), header.n_vocab, n_vocab));
  }
  if (header.n_ctx != n_ctx) {
    return refuse(fmt::format("The base {} has chunks of {} tokens, but --ctx is {}.", base.name(),
                              header.n_ctx, n_ctx));
  }
  if (header.n_chunks < n_chunks) {
    return refuse(fmt::format(
        "The base {} has {} chunks, but the text has {}; --chunks {} compares with those.",
        base.name(), header.n_chunks, n_chunks, header.n_chunks));
  }
  const size_t n = size_t{n_chunks} * n_ctx;
  const auto theirs = std::span(header.tokens).first(n), ours = tokens.first(n);
  const auto [ours_at, theirs_at] = std::ranges::mismatch(ours, theirs);
  if (ours_at == ours.end()) return {};
  return refuse(fmt::format(
      "The base {} is of another text or tokenizer: its token {} is {}, but the text has {}.",
      base.name(), ours_at - ours.begin(), *theirs_at, *ours_at));
}

class Measurement {
 public:
  Measurement(LoadedModel& model, base::ThreadPool& pool, const PerplexityOptions& options)
      : engine_(*model.engine),
        pool_(pool),
        options_(options),
        n_vocab_(engine_.config().vocab),
        row_words_(base_row_words(n_vocab_)),
        logits_(size_t{rows_at_once(n_vocab_)} * n_vocab_),
        statistics_(options.base != nullptr) {
    const size_t words = logits_.size() / n_vocab_ * row_words_;
    if (options.base) base_words_.resize(words);
    if (options.save) saved_words_.resize(words);
  }

  // tokens [n_ctx]
  Task<Result<void>> chunk(uint32_t index, std::span<const int32_t> tokens,
                           std::optional<int32_t> bos) {
    std::vector<int32_t> read(tokens.begin(), tokens.end());
    if (bos) read.front() = *bos;
    const uint32_t first = first_counted(options_.n_ctx);
    engine_.cache().forget(0);
    PUNA_CO_TRY(co_await engine_.prefill(0, {read.begin(), read.begin() + first}));
    const uint32_t at_once = rows_at_once(n_vocab_);
    for (uint32_t at = first; at + 1 < options_.n_ctx; at += at_once) {
      if (options_.cancel && *options_.cancel)
        co_return base::fail(ErrorCode::kCancelled, "Measuring was interrupted.");
      const uint32_t n = std::min(at_once, options_.n_ctx - 1 - at);
      const auto part = std::span(read).subspan(at, n);
      const auto out = std::span(logits_).first(size_t{n} * n_vocab_);
      PUNA_CO_TRY_CONTEXT(co_await engine_.logits_behind(0, {part.begin(), part.end()}, out),
                          fmt::format("While reading chunk {}", index + 1));
      const uint64_t row = uint64_t{index} * n_counted(options_.n_ctx) + (at - first);
      PUNA_CO_TRY(co_await rows(row, tokens.subspan(at + 1, n)));
      PUNA_CO_TRY_CONTEXT(count(tokens.subspan(at + 1, n)),
                          fmt::format("While reading chunk {}", index + 1));
    }
    engine_.cache().forget(0);
    co_return {};
  }

  const PerplexityStatistics& statistics() const { return statistics_; }

 private:
  // Scores the logits of rows [first, first + next.size()), and saves them; next: the tokens behind
  // each.
  Task<Result<void>> rows(uint64_t first, std::span<const int32_t> next) {
    const size_t words = next.size() * row_words_;
    if (options_.base)
      PUNA_CO_TRY(co_await options_.base->read(first, std::span(base_words_).first(words)));
    scores_.resize(next.size());
    pool_.run(static_cast<uint32_t>(next.size()), 1, [&](uint32_t begin, uint32_t end) {
      for (uint32_t i = begin; i < end; ++i) score_row(i, next[i]);
    });
    if (options_.save)
      PUNA_CO_TRY(options_.save->write(std::as_bytes(std::span(saved_words_).first(words))));
    co_return {};
  }

  void score_row(uint32_t i, int32_t next) {
    const auto logits = std::span(logits_).subspan(size_t{i} * n_vocab_, n_vocab_);
    const double sum = log_sum(logits);
    if (options_.save)
      make_base_row(logits, sum, std::span(saved_words_).subspan(i * row_words_, row_words_));
    if (options_.base) {
      const auto words = std::span(base_words_).subspan(i * row_words_, row_words_);
      scores_[i] = score(logits, sum, next, base_row(words, n_vocab_));
    } else {
      scores_[i] = score(logits, sum, next);
    }
  }

  Result<void> count(std::span<const int32_t> next) {
    for (size_t i = 0; i < next.size(); ++i) {
      const TokenScore& score = scores_[i];
      if (!std::isfinite(score.nll)) {
        return refuse(fmt::format(
            "The text has token {}, which the model gives no probability at all there (a logit of "
            "-inf); its perplexity is infinite.",
            next[i]));
      }
      if (!std::isfinite(score.kl)) {
        return refuse(
            "The model gives no probability at all (a logit of -inf) to a token that the base "
            "holds for possible; the divergence is infinite.");
      }
      statistics_.add(score);
    }
    return {};
  }

  engine::Engine& engine_;
  base::ThreadPool& pool_;
  const PerplexityOptions& options_;
  uint32_t n_vocab_;
  size_t row_words_;
  std::vector<float> logits_;                       // [rows, n_vocab] of a step
  std::vector<uint16_t> base_words_, saved_words_;  // [rows, row_words]
  std::vector<TokenScore> scores_;                  // [rows]
  PerplexityStatistics statistics_;
};

}  // namespace

std::vector<int32_t> perplexity_tokens(const tokenizer::Tokenizer& tokenizer,
                                       std::string_view text) {
  return tokenizer.encode(text, {.add_special = true, .parse_special = false});
}

Task<Result<PerplexityStatistics>> measure_perplexity(LoadedModel& model,
                                                      std::vector<int32_t> tokens,
                                                      base::ThreadPool& pool,
                                                      PerplexityOptions options) {
  PUNA_CO_TRY(const uint32_t n_chunks, count_chunks(tokens.size(), options));
  const uint32_t n_ctx = options.n_ctx, n_vocab = model.engine->config().vocab;
  tokens.resize(size_t{n_chunks} * n_ctx);
  if (options.base) PUNA_CO_TRY(check_base(*options.base, n_vocab, n_ctx, n_chunks, tokens));
  if (options.save)
    PUNA_CO_TRY(write_base_header({n_ctx, n_vocab, n_chunks, tokens}, *options.save));
  std::optional<int32_t> bos;
  if (model.tokenizer && model.tokenizer->vocabulary().add_bos)
    bos = model.tokenizer->vocabulary().bos;
  Measurement measurement(model, pool, options);
  for (uint32_t i = 0; i < n_chunks; ++i) {
    const auto chunk = std::span(tokens).subspan(size_t{i} * n_ctx, n_ctx);
    PUNA_CO_TRY(co_await measurement.chunk(i, chunk, bos));
    if (options.on_chunk) options.on_chunk(i + 1, n_chunks, measurement.statistics());
  }
  co_return measurement.statistics();
}

}  // namespace puna::service
