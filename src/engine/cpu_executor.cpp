#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/clock.h"
#include "engine/cpu_loader.h"
#include "engine/executor.h"
#include "kernels/sample/sample_cpu.h"
#include "plan/cpu_program.h"

namespace puna::engine {
namespace {

using base::Result;
using base::Task;

// How long others wait for their turn at most, but for one step.
constexpr double kTurnMs = 10;

class CpuExecutor : public Executor {
 public:
  CpuExecutor(std::unique_ptr<plan::CpuProgram> program, plan::CacheConfig cache,
              base::ThreadPool& pool, GiveWay give_way)
      : program_(std::move(program)),
        cache_(cache),
        pool_(pool),
        samplers_(static_cast<size_t>(pool.n_threads())),
        pages_(size_t{cache.n_sequences} * cache.pages_per_sequence),
        window_pages_(cache.n_window_pages > 0 ? pages_.size() : 0),
        give_way_(std::move(give_way)) {}

  Task<Result<void>> run(plan::Step step, std::span<float> logits) override {
    program_->run(step, tables(), logits);
    co_return {};
  }

  Task<Result<void>> decode(plan::Step step, std::vector<OutputSampling> outputs, uint32_t n_steps,
                            OnChosen on_chosen) override {
    const uint32_t vocab = program_->graph().vocab;
    logits_.resize(outputs.size() * vocab);
    std::vector<kernels::Chosen> chosen(outputs.size());
    // A call costs nothing here.
    if (std::ranges::any_of(outputs, &OutputSampling::once)) n_steps = 1;
    base::Timer since_rest;
    for (uint32_t i = 0; i < n_steps; ++i) {
      program_->run(step, tables(), logits_);
      step = plan::next_step(step, step.output_rows);
      const auto choose = [&](uint32_t begin, uint32_t end) {
        kernels::CpuSampler& sampler = samplers_[static_cast<size_t>(base::thread_index())];
        for (uint32_t r = begin; r < end; ++r) {
          chosen[r] = sampler.choose(outputs[r].params,
                                     std::span(logits_).subspan(size_t{r} * vocab, vocab),
                                     outputs[r].text, static_cast<uint32_t>(step.positions[r]),
                                     outputs[r].allowed, outputs[r].state);
        }
      };
      pool_.run(static_cast<uint32_t>(outputs.size()), 1, std::ref(choose));
      for (size_t r = 0; r < outputs.size(); ++r) {
        outputs[r].text.push_back(chosen[r].id);
        step.tokens[r] = chosen[r].id;
      }
      if (!on_chosen(chosen).on) break;
      if (since_rest.ms() < kTurnMs) continue;
      PUNA_CO_TRY(co_await rest());
      since_rest = {};
    }
    co_return {};
  }

  Task<Result<void>> rest() override {
    if (!give_way_) co_return {};
    co_await base::await_callback<bool>(
        [&](const std::function<void(bool)>& done) { give_way_([done] { done(true); }); });
    co_return {};
  }

  Result<void> set_pages(uint32_t sequence, uint32_t first, std::span<const uint32_t> pages,
                         std::span<const uint32_t> window_pages) override {
    const size_t at = size_t{sequence} * cache_.pages_per_sequence + first;
    std::ranges::copy(pages, pages_.begin() + static_cast<ptrdiff_t>(at));
    if (window_pages.empty()) return {};
    std::ranges::copy(window_pages, window_pages_.begin() + static_cast<ptrdiff_t>(at));
    return {};
  }
  Result<void> copy_page(PagePlace from, PagePlace to) override {
    const auto source = parts(from), target = parts(to);
    for (size_t i = 0; i < source.size(); ++i)
      std::copy(source[i].begin(), source[i].end(), target[i].begin());
    return {};
  }

  Result<void> save_state(uint32_t sequence, uint32_t snapshot) override {
    program_->save_state(sequence, snapshot);
    return {};
  }
  Result<void> restore_state(uint32_t snapshot, uint32_t sequence) override {
    program_->restore_state(snapshot, sequence);
    return {};
  }

  KeptBytes kept_bytes() const override {
    KeptBytes out;
    for (const std::span<std::byte> part : program_->page(0, false)) out.page += part.size();
    for (const std::span<std::byte> part : program_->page(0, true)) out.window += part.size();
    for (const plan::StateSpec& state : program_->graph().states)
      out.states.push_back(state.n * sizeof(float));
    return out;
  }
  bool grows_with_use() const override { return true; }
  Task<Result<void>> read_page(PagePlace page, std::span<std::byte> out) override {
    for (const std::span<std::byte> part : parts(page)) {
      std::copy(part.begin(), part.end(), out.begin());
      out = out.subspan(part.size());
    }
    co_return {};
  }
  Result<void> write_page(PagePlace page, std::span<const std::byte> bytes) override {
    for (const std::span<std::byte> part : parts(page)) {
      std::copy_n(bytes.begin(), part.size(), part.begin());
      bytes = bytes.subspan(part.size());
    }
    return {};
  }
  Task<Result<void>> read_state(uint32_t snapshot, size_t state,
                                std::span<std::byte> out) override {
    const auto from = program_->saved_state(static_cast<plan::StateId>(state), snapshot);
    std::copy(from.begin(), from.end(), out.begin());
    co_return {};
  }
  Result<void> write_state(uint32_t snapshot, size_t state,
                           std::span<const std::byte> bytes) override {
    const auto to = program_->saved_state(static_cast<plan::StateId>(state), snapshot);
    std::copy_n(bytes.begin(), to.size(), to.begin());
    return {};
  }

  Result<StepTimes> time_step(const plan::Step& step, const kernels::SamplingParams&) override {
    const plan::Graph& graph = program_->graph();
    size_t n = step.output_rows.size() * graph.n_out();
    if (!graph.hands_over.empty()) n = 0;
    for (plan::ValueId v : graph.hands_over) n += size_t{step.n_tokens()} * graph.values[v].columns;
    std::vector<float> logits(n);
    return time_kernels(*program_, step, tables(), logits);
  }

  plan::MemoryUse memory() const override { return program_->memory(); }
  void poll() override {}

 private:
  plan::CpuProgram::Pages tables() const { return {pages_, window_pages_}; }
  std::vector<std::span<std::byte>> parts(PagePlace page) {
    std::vector<std::span<std::byte>> out = program_->page(page.all, false);
    if (!page.window) return out;
    const auto of_windows = program_->page(*page.window, true);
    out.insert(out.end(), of_windows.begin(), of_windows.end());
    return out;
  }

  std::unique_ptr<plan::CpuProgram> program_;
  plan::CacheConfig cache_;
  base::ThreadPool& pool_;
  std::vector<kernels::CpuSampler> samplers_;   // one a thread
  std::vector<uint32_t> pages_, window_pages_;  // the page tables
  GiveWay give_way_;
  std::vector<float> logits_;  // of the last step
};

}  // namespace

Task<Result<std::unique_ptr<Executor>>> load_cpu(const formats::ModelFile& file, plan::Graph graph,
                                                 plan::CacheConfig cache, CpuOptions options,
                                                 base::ThreadPool& pool, LoadHooks hooks) {
  PUNA_CO_TRY(auto program,
              co_await load_cpu_program(file, std::move(graph), cache, options, pool, hooks));
  co_return std::make_unique<CpuExecutor>(std::move(program), cache, pool,
                                          std::move(options.give_way));
}

}  // namespace puna::engine
