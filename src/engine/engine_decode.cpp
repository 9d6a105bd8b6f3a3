// Engine: one step or a chain of them, in which the rows choose tokens.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/engine.h"
#include "kernels/sample/sample.h"

namespace puna::engine {

using base::ErrorCode;
using base::Result;
using base::Task;
using kernels::Chosen;

namespace {

// The first step of a decode, and how its tokens are chosen.
struct FirstStep {
  bool windowed = false;  // MediaKinds
  plan::Step step;
  std::vector<OutputSampling> outputs;
  // Bits of filters that go on before they are chosen by, which the outputs refer to.
  std::vector<std::vector<uint32_t>> bits;
  // Those that are others in each step.
  struct Moving {
    TokenFilter* filter;
    size_t bits;
  };
  std::vector<Moving> moving;
  uint32_t vocab = 0;

  // Adds a row behind what the cache holds of its sequence. Drafts that its filter does not let
  // pass go, with those behind them.
  void add(BatchRow& row, std::span<const int32_t> cached) {
    const auto first = static_cast<uint32_t>(cached.size());
    add_rows(step, row.sequence, row.tokens, first, row.media, windowed);
    if (!row.chooses) return;
    std::vector<int32_t> text;
    if (row.sampling.looks_back() > 0) {
      text.assign(cached.begin(), cached.end());
      text.insert(text.end(), row.tokens.begin(), row.tokens.end());
    }
    const bool tries = row.filter && !row.drafts.empty();  // the filter goes on, and comes back
    if (tries) row.n_steady = 0;
    uint32_t n_taken = 0;
    for (size_t i = 0;; ++i) {
      OutputSampling output{row.sampling, text, row.once()};
      output.state = row.state;
      output.n_steady = row.n_steady;
      output.moves = row.moves;
      if (output.moves) {
        moving.push_back({row.filter, bits.size()});
        std::vector<uint32_t>& own = bits.emplace_back(filter_words(vocab));
        put_bits(*row.filter, own);
        output.allowed = own;
      } else {
        if (row.filter)
          output.allowed = row.filter->allowed().value_or(std::span<const uint32_t>());
        if (tries || !output.once)
          output.allowed = bits.emplace_back(output.allowed.begin(), output.allowed.end());
      }
      if (tries && i < row.drafts.size()) {
        if (lets_pass(*row.filter, output.allowed, row.drafts[i])) {
          ++n_taken;
        } else {
          row.drafts.resize(i);
        }
      }
      step.output_rows.push_back(step.n_tokens() - 1);
      outputs.push_back(std::move(output));
      if (i == row.drafts.size()) break;
      const int32_t draft = row.drafts[i];
      add_rows(step, row.sequence, std::span(&draft, 1), first + row.tokens.size() + i, row.media,
               windowed);
      if (row.sampling.looks_back() > 0) text.push_back(draft);
    }
    if (n_taken > 0) row.filter->undo(n_taken);
  }

  // What the filters allow now, for the step that follows.
  void move() {
    for (const Moving& one : moving) put_bits(*one.filter, bits[one.bits]);
  }

 private:
  // A bit for each token, also where all may come next.
  void put_bits(TokenFilter& filter, std::vector<uint32_t>& out) const {
    if (const auto allowed = filter.allowed()) {
      std::ranges::copy(*allowed, out.begin());
      return;
    }
    std::ranges::fill(out, ~uint32_t{0});
    if (vocab % 32 != 0) out.back() >>= 32 - vocab % 32;
  }
  // Whether a draft may come next and leaves a choice behind it; then the filter has taken it.
  static bool lets_pass(TokenFilter& filter, std::span<const uint32_t> allowed, int32_t draft) {
    const auto id = static_cast<uint32_t>(draft);
    if (!allowed.empty() && (allowed[id / 32] >> id % 32 & 1) == 0) return false;
    filter.take(draft);
    if (!filter.done() && filter.forced().empty() && allows_any(filter.allowed())) return true;
    filter.undo(1);
    return false;
  }
};

// How many of a row's drafts stand, by what was chosen in their places.
size_t n_standing(const BatchRow& row, std::span<const Chosen> chosen) {
  size_t n = 0;
  while (n < row.drafts.size() && chosen[n].id == row.drafts[n]) ++n;
  return n;
}

}  // namespace

Result<void> Engine::check_batch(std::span<const BatchRow> rows, uint32_t n_steps) const {
  const auto refuse = [](std::string why) {
    return base::fail(ErrorCode::kInvalidArgument, std::move(why));
  };
  size_t n_choices = 0;
  for (const BatchRow& row : rows) n_choices += row.chooses ? 1 + row.drafts.size() : 0;
  if (rows.empty() || n_choices > kernels::kMaxBatch) {
    return refuse(fmt::format("A batch has {} rows, which choose {} tokens, but 1 to {} can be.",
                              rows.size(), n_choices, kernels::kMaxBatch));
  }
  size_t n_tokens = 0;
  std::vector<bool> taken(cache_->n_sequences());
  for (const BatchRow& row : rows) {
    PUNA_TRY(check_sampling(row.sampling));
    if (row.sequence >= taken.size()) {
      return refuse(fmt::format("There is no sequence {}; the engine was loaded with {}.",
                                row.sequence, taken.size()));
    }
    if (taken[row.sequence])
      return refuse(fmt::format("Sequence {} is in a batch twice.", row.sequence));
    taken[row.sequence] = true;
    PUNA_TRY(check_tokens(row.tokens, cache_->n_tokens(row.sequence), row.media));
    if (row.tokens.empty())
      return refuse(fmt::format("Sequence {} goes on with no tokens.", row.sequence));
    if (!row.chooses && n_steps > 1)
      return refuse(fmt::format("Sequence {} chooses no token for a second step.", row.sequence));
    PUNA_TRY(check_drafts(row));
    if (row.moves && std::ranges::any_of(rows, &BatchRow::once)) {
      return refuse(
          fmt::format("Sequence {} goes on beside one whose token is chosen once.", row.sequence));
    }
    n_tokens += row.tokens.size() + row.drafts.size();
    const uint32_t n_own = row.once() ? std::min(n_steps, 1u) : n_steps;
    const size_t end =
        cache_->n_tokens(row.sequence) + row.tokens.size() + row.drafts.size() + n_own;
    if (n_own == 0 || end - 1 > context_) {
      return refuse(
          fmt::format("Sequence {} would have {} tokens after {} steps, but the context holds {}.",
                      row.sequence, end, n_own, context_));
    }
  }
  if (n_tokens <= step_rows_) return {};
  return refuse(
      fmt::format("A batch has {} tokens, but a step takes at most {}.", n_tokens, step_rows_));
}

Result<void> Engine::check_drafts(const BatchRow& row) const {
  if (row.drafts.empty()) return {};
  PUNA_TRY(check_tokens(row.drafts));
  if (row.drafts.size() > options_.n_drafts) {
    return base::fail(
        ErrorCode::kInvalidArgument,
        fmt::format("Sequence {} has {} drafts; the engine was loaded for {} at most.",
                    row.sequence, row.drafts.size(), options_.n_drafts));
  }
  if (recurrent_) {
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("Sequence {} has drafts, but the model has recurrent states, "
                                  "which cannot be taken back to before a draft that is wrong.",
                                  row.sequence));
  }
  if (!row.chooses || row.sampling.mirostat.version != 0) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("Sequence {} has drafts, but {}.", row.sequence,
                                  row.chooses ? "mirostat goes by all that was chosen before"
                                              : "chooses no token"));
  }
  return {};
}

Task<Result<void>> Engine::decode(std::vector<BatchRow> rows, uint32_t n_steps,
                                  OnChosen on_chosen) {
  PUNA_CO_TRY(check_batch(rows, n_steps));
  const auto trim = [&] {
    for (const BatchRow& row : rows) cache_->trim(row.sequence);
  };
  FirstStep first;
  first.windowed = media_.windowed;
  first.vocab = config().vocab;
  for (BatchRow& row : rows) {
    first.add(row, cache_->tokens(row.sequence));
    const size_t end = cache_->n_tokens(row.sequence) + row.tokens.size() + row.drafts.size() +
                       (row.once() ? 0 : n_steps - 1);
    if (auto room = co_await cache_->make_room(row.sequence, static_cast<uint32_t>(end)); !room) {
      trim();
      co_return room;
    }
  }
  std::vector<Chosen> standing;
  const auto evaluated = [&](std::span<const Chosen> chosen) {
    standing.clear();
    for (BatchRow& row : rows) {
      if (row.tokens.empty()) continue;  // it was chosen once
      cache_->append(row.sequence, row.tokens);
      row.tokens.clear();
      if (!row.chooses) continue;
      const size_t n = n_standing(row, chosen);
      cache_->append(row.sequence, std::span(row.drafts).first(n));
      standing.insert(standing.end(), chosen.begin(),
                      chosen.begin() + static_cast<ptrdiff_t>(n) + 1);
      if (!row.once()) row.tokens = {chosen.front().id};
      chosen = chosen.subspan(1 + row.drafts.size());
    }
  };
  Result<void> done;
  if (first.outputs.empty()) {
    done = co_await executor_->run(std::move(first.step), {});
    if (done) evaluated({});
  } else {
    const auto on_step = [&](std::span<const Chosen> chosen) {
      evaluated(chosen);
      const bool decided =
          std::ranges::none_of(standing, [](const Chosen& c) { return c.id == kernels::kNoToken; });
      const GoesOn goes = on_chosen(standing);
      if (!goes.on || !decided) return GoesOn(false);
      first.move();
      return goes;
    };
    done = co_await executor_->decode(std::move(first.step), std::move(first.outputs), n_steps,
                                      on_step);
  }
  trim();
  co_return done;
}

}  // namespace puna::engine
