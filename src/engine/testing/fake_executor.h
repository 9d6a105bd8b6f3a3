// An executor without a model: the token after a text is a function of the text as the cache has
// it, read back through the page table, so that whoever mixes up pages, positions, sequences or
// states gets another text. Steps end when they are told to.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "engine/executor.h"
#include "engine/token_filter.h"

namespace puna::engine::test {

class FakeExecutor : public Executor {
 public:
  struct Options {
    plan::CacheConfig cache;
    uint32_t vocab = 1000;
    bool recurrent = false;
    uint32_t window = 0;               // of what layers with windows see, whose pages are apart
    std::function<bool()> fails = {};  // asked before each step; null: never
    base::ErrorCode error = base::ErrorCode::kDevice;  // of a step that fails
    bool at_once = false;                              // steps never wait, as on the CPU
    bool begins_ahead = false;
  };
  explicit FakeExecutor(Options options)
      : options_(std::move(options)),
        pages_(options_.cache.n_pages, std::vector<int32_t>(kernels::kPageTokens, -1)),
        window_pages_(options_.cache.n_window_pages, pages_.front()),
        table_(size_t{options_.cache.n_sequences} * options_.cache.pages_per_sequence),
        window_table_(table_.size()),
        live_(options_.cache.n_sequences),
        saved_(options_.cache.n_snapshots) {}

  // What comes after a text; of what is allowed, the next id.
  static int32_t next(std::span<const int32_t> text, uint32_t vocab,
                      std::span<const uint32_t> allowed = {}) {
    State state;
    for (const int32_t id : text) state.take(id);
    return state.next(vocab, allowed);
  }

  // Lets the step that waits go on; false when none does.
  bool pump() {
    if (late_.empty()) return false;
    const auto run = std::move(late_.front());
    late_.pop_front();
    run(true);
    return true;
  }
  uint64_t n_tokens() const { return n_tokens_; }    // that were evaluated, ever
  uint32_t most_rows() const { return most_rows_; }  // tokens of the largest step
  uint32_t n_chains() const { return n_chains_; }    // of steps that choose tokens

  base::Task<base::Result<void>> run(plan::Step step, std::span<float>) override {
    PUNA_CHECK(step.output_rows.empty());
    PUNA_CO_TRY(co_await begin(step));
    evaluate(step, {});
    co_return {};
  }
  base::Task<base::Result<void>> decode(plan::Step step, std::vector<OutputSampling> outputs,
                                        uint32_t n_steps, OnChosen on_chosen) override {
    PUNA_CHECK(outputs.size() == step.output_rows.size());
    ++n_chains_;
    // Any number of steps will do.
    if (std::ranges::any_of(outputs, &OutputSampling::once))
      n_steps = std::min<uint32_t>(n_steps, 1 + n_tokens_ % 4);
    for (uint32_t i = 0; i < n_steps; ++i) {
      PUNA_CO_TRY(co_await begin(step));
      const std::vector<kernels::Chosen> chosen = evaluate(step, outputs);
      if (!on_chosen(chosen).on) break;
      std::vector<uint32_t> rows;
      std::vector<int32_t> tokens;
      for (size_t r = 0; r < outputs.size(); ++r) {
        if (outputs[r].once) continue;
        rows.push_back(step.output_rows[r]);
        tokens.push_back(chosen[r].id);
      }
      if (rows.empty()) break;
      std::erase_if(outputs, [](const OutputSampling& output) { return output.once; });
      step = plan::next_step(step, rows);
      step.tokens = std::move(tokens);
    }
    co_return {};
  }
  base::Task<base::Result<void>> rest() override { co_return {}; }

  base::Result<void> set_pages(uint32_t sequence, uint32_t first, std::span<const uint32_t> pages,
                               std::span<const uint32_t> window_pages) override {
    const size_t at = size_t{sequence} * options_.cache.pages_per_sequence + first;
    PUNA_CHECK(first + pages.size() <= options_.cache.pages_per_sequence);
    PUNA_CHECK(window_pages.size() == (window_pages_.empty() ? 0 : pages.size()));
    std::ranges::copy(pages, table_.begin() + static_cast<ptrdiff_t>(at));
    std::ranges::copy(window_pages, window_table_.begin() + static_cast<ptrdiff_t>(at));
    return {};
  }
  base::Result<void> copy_page(PagePlace from, PagePlace to) override {
    PUNA_CHECK(from.all != to.all);
    PUNA_CHECK(from.window.has_value() == !window_pages_.empty());
    pages_[to.all] = pages_[from.all];
    if (!window_pages_.empty()) window_pages_[*to.window] = window_pages_[*from.window];
    return {};
  }
  base::Result<void> save_state(uint32_t sequence, uint32_t snapshot) override {
    saved_[snapshot] = live_[sequence];
    return {};
  }
  base::Result<void> restore_state(uint32_t snapshot, uint32_t sequence) override {
    live_[sequence] = saved_[snapshot];
    return {};
  }
  KeptBytes kept_bytes() const override {
    constexpr uint64_t kBytes = kernels::kPageTokens * sizeof(int32_t);
    return {.page = kBytes, .window = window_pages_.empty() ? 0 : kBytes, .states = {}};
  }
  bool begins_ahead() const override { return options_.begins_ahead; }
  bool grows_with_use() const override { return true; }
  base::Task<base::Result<void>> read_page(PagePlace page, std::span<std::byte> out) override {
    const auto all = std::as_bytes(std::span(pages_[page.all]));
    std::ranges::copy(all, out.begin());
    if (page.window) {
      std::ranges::copy(std::as_bytes(std::span(window_pages_[*page.window])),
                        out.subspan(all.size()).begin());
    }
    co_return {};
  }
  base::Result<void> write_page(PagePlace page, std::span<const std::byte> bytes) override {
    const auto all = std::as_writable_bytes(std::span(pages_[page.all]));
    std::ranges::copy(bytes.first(all.size()), all.begin());
    if (page.window) {
      std::ranges::copy(bytes.subspan(all.size()),
                        std::as_writable_bytes(std::span(window_pages_[*page.window])).begin());
    }
    return {};
  }
  base::Task<base::Result<void>> read_state(uint32_t, size_t, std::span<std::byte>) override {
    co_return {};
  }
  base::Result<void> write_state(uint32_t, size_t, std::span<const std::byte>) override {
    return {};
  }
  base::Result<StepTimes> time_step(const plan::Step&, const kernels::SamplingParams&) override {
    return StepTimes{};
  }
  plan::MemoryUse memory() const override { return {}; }
  void poll() override { pump(); }

 private:
  // Of a text so far; a recurrent state is one of these.
  struct State {
    uint64_t hash = 0x9e3779b97f4a7c15;
    uint32_t n = 0;
    void take(int32_t id) {
      hash = (hash ^ static_cast<uint32_t>(id)) * 0x100000001b3;
      hash ^= hash >> 29;
      ++n;
    }
    int32_t next(uint32_t vocab, std::span<const uint32_t> allowed) const {
      auto id = static_cast<uint32_t>((hash >> 7) % vocab);
      for (uint32_t i = 0; i < vocab && !allowed.empty(); ++i, id = (id + 1) % vocab) {
        if (allowed[id / 32] >> id % 32 & 1) return static_cast<int32_t>(id);
      }
      return allowed.empty() ? static_cast<int32_t>(id) : kernels::kNoToken;
    }
  };

  // Of what is allowed, that which no bias rules out; empty: all.
  std::vector<uint32_t> bits_of(const OutputSampling& output) const {
    std::vector<uint32_t> out(output.allowed.begin(), output.allowed.end());
    for (const auto& [id, bias] : output.params.logit_bias) {
      if (bias != -std::numeric_limits<float>::infinity()) continue;
      if (out.empty()) out.assign(filter_words(options_.vocab), ~0u);
      out[static_cast<size_t>(id) / 32] &= ~(1u << id % 32);
    }
    return out;
  }

  base::Task<base::Result<void>> begin(const plan::Step& step) {
    if (!options_.at_once) {
      co_await base::await_callback<bool>(
          [&](std::function<void(bool)> done) { late_.push_back(std::move(done)); });
    }
    if (options_.fails && options_.fails())
      co_return base::fail(options_.error, "The device failed.");
    PUNA_CHECK(step.n_tokens() <= options_.cache.step_rows);
    most_rows_ = std::max(most_rows_, step.n_tokens());
    n_tokens_ += step.n_tokens();
    co_return {};
  }

  int32_t& slot(uint32_t sequence, uint32_t position) {
    const size_t at =
        size_t{sequence} * options_.cache.pages_per_sequence + position / kernels::kPageTokens;
    return pages_[table_[at]][position % kernels::kPageTokens];
  }
  int32_t& window_slot(uint32_t sequence, uint32_t position) {
    const size_t at =
        size_t{sequence} * options_.cache.pages_per_sequence + position / kernels::kPageTokens;
    return window_pages_[window_table_[at]][position % kernels::kPageTokens];
  }

  std::vector<kernels::Chosen> evaluate(const plan::Step& step,
                                        std::span<const OutputSampling> outputs) {
    for (uint32_t t = 0; t < step.n_tokens(); ++t) {
      const auto position = static_cast<uint32_t>(step.positions[t]);
      slot(step.sequences[t], position) = step.tokens[t];
      if (!window_pages_.empty()) window_slot(step.sequences[t], position) = step.tokens[t];
      if (!options_.recurrent) continue;
      State& state = live_[step.sequences[t]];
      if (position == 0) state = {};
      PUNA_CHECK(state.n == position);
      state.take(step.tokens[t]);
    }
    std::vector<kernels::Chosen> out;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const uint32_t row = step.output_rows[i];
      const uint32_t sequence = step.sequences[row];
      State state;
      for (int32_t p = 0; p <= step.positions[row]; ++p)
        state.take(slot(sequence, static_cast<uint32_t>(p)));
      // Layers with windows have to see the same, as far as they see.
      const int32_t last = step.positions[row];
      for (int32_t p = last; !window_pages_.empty() && p >= 0; --p) {
        if (last - p >= static_cast<int32_t>(options_.window)) break;
        const auto position = static_cast<uint32_t>(p);
        if (window_slot(sequence, position) != slot(sequence, position)) state.hash = 0;
      }
      // Both have to be right.
      if (options_.recurrent && state.hash != live_[sequence].hash) state.hash = 0;
      out.emplace_back().id = state.next(options_.vocab, bits_of(outputs[i]));
    }
    return out;
  }

  Options options_;
  std::vector<std::vector<int32_t>> pages_, window_pages_;  // by page: the tokens in it
  std::vector<uint32_t> table_, window_table_;
  std::vector<State> live_, saved_;
  std::deque<std::function<void(bool)>> late_;
  uint64_t n_tokens_ = 0;
  uint32_t most_rows_ = 0;
  uint32_t n_chains_ = 0;
};

}  // namespace puna::engine::test
