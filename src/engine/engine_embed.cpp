// Embeddings of engine.h.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "engine/engine.h"
#include "engine/pooling.h"

namespace puna::engine {

using base::ErrorCode;
using base::Result;
using base::Task;

namespace {

// What has been made of a text.
struct Embedded {
  std::span<const int32_t> tokens;
  Span wanted;              // rows that the embedding is made of
  uint32_t n_done = 0;      // tokens that are evaluated
  std::vector<float> rows;  // [wanted, n_out]

  uint32_t n_left() const { return static_cast<uint32_t>(tokens.size()) - n_done; }
};

// A piece of a text in a step.
struct EmbedPiece {
  size_t text;
  uint32_t n_outputs;
};

}  // namespace

Result<void> Engine::check_embedded(std::span<const int32_t> text) const {
  PUNA_TRY(check_tokens(text));
  if (text.empty()) return base::fail(ErrorCode::kInvalidArgument, "A text has no tokens.");
  const auto too_large = [&](ErrorCode code, size_t n_room, std::string why) {
    auto error = base::fail(
        code, fmt::format("A text of {} tokens is too large: {}.", text.size(), std::move(why)));
    error.error().excess = base::Excess{.n = text.size(), .n_room = n_room};
    return error;
  };
  if (text.size() > context_) {
    return too_large(ErrorCode::kInvalidArgument, context_,
                     fmt::format("the context holds {}", context_));
  }
  if (config_.causal || text.size() <= kernels::kMaxStepTokens) return {};
  return too_large(ErrorCode::kUnsupported, kernels::kMaxStepTokens,
                   fmt::format("this model sees a text as a whole, and up to {} tokens of it are "
                               "supported",
                               kernels::kMaxStepTokens));
}

Task<Result<std::vector<std::vector<float>>>> Engine::embed(std::vector<uint32_t> sequences,
                                                            std::vector<std::vector<int32_t>> texts,
                                                            size_t first_number,
                                                            const std::atomic<bool>* cancel) {
  PUNA_CHECK(options_.embeddings && sequences.size() == texts.size());
  const auto number = [&](size_t text) {
    return fmt::format("While reading text {}", first_number + text);
  };
  std::vector<Embedded> all;
  for (size_t i = 0; i < texts.size(); ++i) {
    PUNA_CO_TRY_CONTEXT(check_embedded(texts[i]), number(i));
    const auto n = static_cast<uint32_t>(texts[i].size());
    Embedded& text =
        all.emplace_back(Embedded{texts[i], rows_of(pooling_, config_.causal, n), 0, {}});
    text.rows.reserve(size_t{text.wanted.end - text.wanted.begin} * n_out_);
  }
  Result<void> done;
  for (size_t first = 0; done && first < all.size();) {
    done = check_cancel(cancel);
    if (!done) break;
    plan::Step step;
    std::vector<EmbedPiece> pieces;
    for (size_t i = first; done && i < all.size(); ++i) {
      Embedded& text = all[i];
      const uint32_t room = kernels::kMaxStepTokens - step.n_tokens();
      // One that is not whole begins its step: a text that fits one is not cut.
      if (room < text.n_left() && step.n_tokens() > 0) break;
      const uint32_t n = std::min(room, text.n_left()), from = text.n_done;
      done = co_await cache_->make_room(sequences[i], from + n);
      const uint32_t at = step.n_tokens();
      step.add(sequences[i], text.tokens.subspan(from, n), from);
      const uint32_t begin = std::max(text.wanted.begin, from),
                     end = std::min(text.wanted.end, from + n);
      for (uint32_t t = begin; t < end; ++t) step.output_rows.push_back(at + t - from);
      pieces.push_back({i, end > begin ? end - begin : 0});
      text.n_done += n;
      if (text.n_left() > 0) break;
      first = i + 1;
    }
    if (!done) break;
    std::vector<float> rows(step.output_rows.size() * n_out_);
    done = co_await executor_->run(std::move(step), rows);
    auto next = rows.begin();
    for (const auto& [text, n_outputs] : pieces) {
      const auto end = next + static_cast<ptrdiff_t>(n_outputs) * n_out_;
      all[text].rows.insert(all[text].rows.end(), next, end);
      next = end;
    }
  }
  for (const uint32_t sequence : sequences) cache_->forget(sequence);
  PUNA_CO_TRY(std::move(done));
  std::vector<std::vector<float>> out;
  for (size_t i = 0; i < all.size(); ++i) {
    std::vector<float>& rows = all[i].rows;
    const auto bad = std::ranges::find_if(rows, [](float v) { return !std::isfinite(v); });
    if (bad != rows.end()) {
      const auto row = static_cast<uint32_t>((bad - rows.begin()) / n_out_);
      base::Error error = co_await no_numbers(
          fmt::format("The embedding at position {} holds {}", all[i].wanted.begin + row, *bad));
      PUNA_CO_TRY_CONTEXT(Result<void>(std::unexpected(std::move(error))), number(i));
    }
    out.push_back(pooled(pooling_, std::move(rows), n_out_));
  }
  co_return out;
}

}  // namespace puna::engine
