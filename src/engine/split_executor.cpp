#include "engine/split_executor.h"

#include <algorithm>
#include <utility>

namespace puna::engine {
namespace {

using base::Result;
using base::Task;

class SplitExecutor : public Executor {
 public:
  SplitExecutor(std::unique_ptr<Executor> first, std::unique_ptr<Executor> rest, uint32_t n_handed)
      : first_(std::move(first)),
        rest_(std::move(rest)),
        of_first_(first_->kept_bytes()),
        n_handed_(n_handed) {}

  Task<Result<void>> run(plan::Step step, std::span<float> logits) override {
    PUNA_CO_TRY(co_await run_first(step));
    co_return co_await rest_->run(std::move(step), logits);
  }

  // A step at a time: the first layers need the id that the rest chose.
  Task<Result<void>> decode(plan::Step step, std::vector<OutputSampling> outputs, uint32_t n_steps,
                            OnChosen on_chosen) override {
    if (std::ranges::any_of(outputs, &OutputSampling::once)) n_steps = 1;
    for (uint32_t i = 0; i < n_steps; ++i) {
      PUNA_CO_TRY(co_await run_first(step));
      plan::Step next = plan::next_step(step, step.output_rows);
      bool goes_on = false;
      const auto on_step = [&](std::span<const kernels::Chosen> chosen) {
        std::ranges::transform(chosen, next.tokens.begin(), &kernels::Chosen::id);
        return goes_on = on_chosen(chosen).on;
      };
      PUNA_CO_TRY(co_await rest_->decode(std::move(step), outputs, 1, on_step));
      if (!goes_on) break;
      for (size_t r = 0; r < outputs.size(); ++r) outputs[r].text.push_back(next.tokens[r]);
      step = std::move(next);
    }
    co_return {};
  }

  Result<void> set_pages(uint32_t sequence, uint32_t first, std::span<const uint32_t> pages,
                         std::span<const uint32_t> window_pages) override {
    PUNA_TRY(first_->set_pages(sequence, first, pages, window_pages));
    return rest_->set_pages(sequence, first, pages, window_pages);
  }
  Result<void> copy_page(PagePlace from, PagePlace to) override {
    PUNA_TRY(first_->copy_page(from, to));
    return rest_->copy_page(from, to);
  }
  Result<void> save_state(uint32_t sequence, uint32_t snapshot) override {
    PUNA_TRY(first_->save_state(sequence, snapshot));
    return rest_->save_state(sequence, snapshot);
  }
  Result<void> restore_state(uint32_t snapshot, uint32_t sequence) override {
    PUNA_TRY(first_->restore_state(snapshot, sequence));
    return rest_->restore_state(snapshot, sequence);
  }

  // Both parts know all states and layers; those of the other one are empty.
  KeptBytes kept_bytes() const override {
    KeptBytes out = of_first_;
    const KeptBytes rest = rest_->kept_bytes();
    out.page += rest.page;
    out.window += rest.window;
    for (size_t i = 0; i < rest.states.size(); ++i) out.states[i] += rest.states[i];
    return out;
  }
  bool grows_with_use() const override {
    return first_->grows_with_use() || rest_->grows_with_use();
  }
  Task<Result<void>> read_page(PagePlace page, std::span<std::byte> out) override {
    const size_t n = bytes_of_first(page);
    PUNA_CO_TRY(co_await first_->read_page(page, out.first(n)));
    co_return co_await rest_->read_page(page, out.subspan(n));
  }
  Result<void> write_page(PagePlace page, std::span<const std::byte> bytes) override {
    const size_t n = bytes_of_first(page);
    PUNA_TRY(first_->write_page(page, bytes.first(n)));
    return rest_->write_page(page, bytes.subspan(n));
  }
  Task<Result<void>> read_state(uint32_t snapshot, size_t state,
                                std::span<std::byte> out) override {
    co_return co_await with_state(state).read_state(snapshot, state, out);
  }
  Result<void> write_state(uint32_t snapshot, size_t state,
                           std::span<const std::byte> bytes) override {
    return with_state(state).write_state(snapshot, state, bytes);
  }

  Result<StepTimes> time_step(const plan::Step& step,
                              const kernels::SamplingParams& sampling) override {
    PUNA_TRY(StepTimes times, first_->time_step(step, sampling));
    plan::Step handed = step;
    handed.handed.resize(size_t{n_handed_} * step.n_tokens());
    PUNA_TRY(StepTimes rest, rest_->time_step(handed, sampling));
    times.kernels.insert(times.kernels.end(), rest.kernels.begin(), rest.kernels.end());
    times.step_us += rest.step_us;
    times.encode_us += rest.encode_us;
    return times;
  }

  plan::MemoryUse memory() const override {
    plan::MemoryUse use = first_->memory();
    return use += rest_->memory();
  }
  plan::MemoryUse host_memory() const override {
    plan::MemoryUse use = first_->host_memory();
    return use += rest_->host_memory();
  }
  Task<Result<void>> rest() override {
    PUNA_CO_TRY(co_await first_->rest());
    co_return co_await rest_->rest();
  }
  void poll() override {
    first_->poll();
    rest_->poll();
  }

 private:
  // Fills step.handed.
  Task<Result<void>> run_first(plan::Step& step) {
    std::vector<float> handed(size_t{n_handed_} * step.n_tokens());
    PUNA_CO_TRY(co_await first_->run(step, handed));
    step.handed = std::move(handed);
    co_return {};
  }

  size_t bytes_of_first(PagePlace page) const {
    return static_cast<size_t>(of_first_.page + (page.window ? of_first_.window : 0));
  }
  Executor& with_state(size_t state) { return of_first_.states[state] > 0 ? *first_ : *rest_; }

  std::unique_ptr<Executor> first_, rest_;
  KeptBytes of_first_;
  uint32_t n_handed_;
};

}  // namespace

std::unique_ptr<Executor> join(std::unique_ptr<Executor> first, std::unique_ptr<Executor> rest,
                               uint32_t n_handed) {
  return std::make_unique<SplitExecutor>(std::move(first), std::move(rest), n_handed);
}

}  // namespace puna::engine
