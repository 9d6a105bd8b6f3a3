#include "engine/split_executor.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/later.h"
#include "base/log.h"

namespace puna::engine {
namespace {

using base::Result;
using base::Task;

template <class T>
std::vector<T> copy_of(std::span<const T> values) {
  return {values.begin(), values.end()};
}

class SplitExecutor : public Executor, public RingPart {
 public:
  SplitExecutor(std::unique_ptr<Executor> first, std::unique_ptr<Executor> rest, Handed handed)
      : first_(std::move(first)),
        rest_(std::move(rest)),
        of_first_(first_->kept_bytes()),
        handed_(std::move(handed)) {}

  // What the first layers are still to hand over is told to begun_.
  ~SplitExecutor() override {
    for (; waits(); ++n_given_) {
      while (!oldest().ran.await_ready()) first_->poll();
    }
  }

  // A step without outputs is not waited for: the first layers are at one while the rest are at the
  // one before it, and what passes between them is on its way meanwhile.
  Task<Result<void>> run(plan::Step step, std::span<float> logits) override {
    const bool may_wait = step.output_rows.empty() && first_->begins_ahead();
    PUNA_CO_TRY(co_await begin(std::move(step)));
    if (may_wait) co_return {};
    co_return co_await hand_on(logits);
  }

  // By way of the host a step at a time: the first layers need the id that the rest chose.
  Task<Result<void>> decode(plan::Step step, std::vector<OutputSampling> outputs, uint32_t n_steps,
                            OnChosen on_chosen) override {
    if (std::ranges::any_of(outputs, &OutputSampling::once)) n_steps = 1;
    Decode d{std::move(step), std::move(outputs), n_steps, std::move(on_chosen)};
    while (d.n_steps > 0) {
      if constexpr (kSeveralGpus) {
        if (goes_round(d)) {
          PUNA_CO_TRY(co_await go_round(d));
          continue;
        }
      }
      PUNA_CO_TRY(co_await step_by_host(d));
    }
    co_return {};
  }

  // Two parts of a ring are one of a larger ring. What joins all of them drives it.
  RingPart* ring_part() override {
    return kSeveralGpus && first_->ring_part() && rest_->ring_part() ? this : nullptr;
  }
  Result<void> begin_decode(const plan::Step& first,
                            std::span<const OutputSampling> outputs) override {
    return rest_->ring_part()->begin_decode(first, outputs);
  }
  Result<void> begin_step(const plan::Step& step, bool follows) override {
    PUNA_TRY(first_->ring_part()->begin_step(step, follows));
    return rest_->ring_part()->begin_step(step, follows);
  }
  Task<Result<std::vector<kernels::Chosen>>> chosen() override {
    return rest_->ring_part()->chosen();
  }

  Result<void> set_pages(uint32_t sequence, uint32_t first, std::span<const uint32_t> pages,
                         std::span<const uint32_t> window_pages) override {
    PUNA_TRY(first_->set_pages(sequence, first, pages, window_pages));
    return after_begun(
        [this, sequence, first, pages = copy_of(pages), window_pages = copy_of(window_pages)] {
          return rest_->set_pages(sequence, first, pages, window_pages);
        });
  }
  Result<void> copy_page(PagePlace from, PagePlace to) override {
    PUNA_TRY(first_->copy_page(from, to));
    return after_begun([this, from, to] { return rest_->copy_page(from, to); });
  }
  Result<void> save_state(uint32_t sequence, uint32_t snapshot) override {
    PUNA_TRY(first_->save_state(sequence, snapshot));
    return after_begun(
        [this, sequence, snapshot] { return rest_->save_state(sequence, snapshot); });
  }
  Result<void> restore_state(uint32_t snapshot, uint32_t sequence) override {
    PUNA_TRY(first_->restore_state(snapshot, sequence));
    return after_begun(
        [this, snapshot, sequence] { return rest_->restore_state(snapshot, sequence); });
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
    PUNA_CO_TRY(co_await settle());
    PUNA_CO_TRY(co_await first_->read_page(page, out.first(n)));
    co_return co_await rest_->read_page(page, out.subspan(n));
  }
  Result<void> write_page(PagePlace page, std::span<const std::byte> bytes) override {
    const size_t n = bytes_of_first(page);
    PUNA_TRY(first_->write_page(page, bytes.first(n)));
    return after_begun(
        [this, page, bytes = copy_of(bytes.subspan(n))] { return rest_->write_page(page, bytes); });
  }
  Task<Result<void>> read_state(uint32_t snapshot, size_t state,
                                std::span<std::byte> out) override {
    PUNA_CO_TRY(co_await settle());
    co_return co_await with_state(state).read_state(snapshot, state, out);
  }
  Result<void> write_state(uint32_t snapshot, size_t state,
                           std::span<const std::byte> bytes) override {
    if (of_first_.states[state] > 0) return first_->write_state(snapshot, state, bytes);
    return after_begun([this, snapshot, state, bytes = copy_of(bytes)] {
      return rest_->write_state(snapshot, state, bytes);
    });
  }

  Result<StepTimes> time_step(const plan::Step& step,
                              const kernels::SamplingParams& sampling) override {
    PUNA_TRY(base::run_until(settle(), [this] { poll(); }));
    PUNA_TRY(StepTimes times, first_->time_step(step, sampling));
    plan::Step handed = step;
    handed.handed = values_of(0, step.n_tokens());
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
    PUNA_CO_TRY(co_await settle());
    PUNA_CO_TRY(co_await first_->rest());
    co_return co_await rest_->rest();
  }
  void poll() override {
    first_->poll();
    rest_->poll();
  }

 private:
  struct Decode {
    plan::Step step;  // the next one
    std::vector<OutputSampling> outputs;
    uint32_t n_steps;  // that are left
    OnChosen on_chosen;
  };

  // What the step before `next` has chosen.
  static void take(Decode& d, plan::Step next, std::span<const kernels::Chosen> chosen) {
    std::ranges::transform(chosen, next.tokens.begin(), &kernels::Chosen::id);
    d.n_steps = d.on_chosen(chosen).on ? d.n_steps - 1 : 0;
    for (size_t r = 0; r < d.outputs.size(); ++r) d.outputs[r].text.push_back(next.tokens[r]);
    d.step = std::move(next);
  }

  Task<Result<void>> step_by_host(Decode& d) {
    plan::Step next = plan::next_step(d.step, d.step.output_rows);
    PUNA_CO_TRY(co_await begin(std::move(d.step)));
    auto handed = co_await take_handed();
    if (!handed) co_return given(std::unexpected(std::move(handed.error())));
    const auto on_step = [&](std::span<const kernels::Chosen> chosen) {
      take(d, std::move(next), chosen);
      return d.n_steps > 0;
    };
    co_return given(co_await rest_->decode(*std::move(handed), d.outputs, 1, on_step));
  }

  // Where the last device chooses all tokens, and what may be chosen is the same for each. Steps
  // begin before the host has heard of the ones before them, and recurrent states could not be
  // taken back. A prompt takes long, and a GPU does not wait for long without the host.
  bool goes_round(const Decode& d) {
    const auto by_host = [](const OutputSampling& output) {
      return output.once || output.moves || output.params.on_host();
    };
    return !broken_ && ring_part() && of_first_.states.empty() &&
           d.step.n_tokens() == d.outputs.size() && std::ranges::none_of(d.outputs, by_host);
  }
  // Ends with steps left where a part has waited in vain: they go by way of the host.
  Task<Result<void>> go_round(Decode& d) {
    PUNA_CO_TRY(co_await settle());
    PUNA_CO_TRY(begin_decode(d.step, d.outputs));
    plan::Step next = d.step;
    bool follows = false;
    uint32_t n_ahead = 0;  // steps that were begun and not heard of
    Result<void> done;
    const auto fail = [&](base::Error error) {
      broken_ = true;  // parts may not count alike any more
      if (done) done = std::unexpected(std::move(error));
    };
    while (true) {
      if (!broken_ && n_ahead < std::min(kAhead, d.n_steps)) {
        if (auto begun = begin_step(next, std::exchange(follows, true)); !begun) {
          fail(std::move(begun.error()));
        } else {
          ++n_ahead;
          next = plan::next_step(next, next.output_rows);
        }
        continue;
      }
      if (n_ahead == 0) co_return done;
      const auto ids = co_await chosen();
      --n_ahead;
      if (!ids) {
        fail(ids.error());
      } else if (ids->empty()) {
        if (!std::exchange(broken_, true)) {
          base::log_warning(
              "A GPU has waited in vain for another; what they hand over goes by way of the host "
              "from now on.");
        }
      } else if (!broken_ && d.n_steps > 0) {
        take(d, plan::next_step(d.step, d.step.output_rows), *ids);
      }
    }
  }

  // A step that the first layers have begun.
  struct Begun {
    plan::Step step;
    std::span<float> values;  // that they hand over
    base::Later<Result<void>> ran;
  };

  // Whether the rest were not given all of them, and the first of those.
  bool waits() const { return n_given_ < n_begun_; }
  Begun& oldest() { return begun_[n_given_ % begun_.size()]; }

  // The first layers begin a step; then the rest are given the one before it, if they were not yet.
  Task<Result<void>> begin(plan::Step step) {
    const bool one_waits = waits();
    const size_t i = n_begun_++ % begun_.size();
    Begun& begun = begun_[i];
    begun.values = values_of(i, step.n_tokens());
    begun.step = std::move(step);
    base::deliver(first_->run(begun.step, begun.values), begun.ran.callback());
    if (one_waits) PUNA_CO_TRY(co_await hand_on({}));
    co_return {};
  }

  // Gives the rest the oldest step that they were not given; without room for logits none are made.
  Task<Result<void>> hand_on(std::span<float> logits) {
    auto handed = co_await take_handed();
    if (!handed) co_return given(std::unexpected(std::move(handed.error())));
    if (logits.empty()) handed->output_rows.clear();
    co_return given(co_await rest_->run(*std::move(handed), logits));
  }
  // That step, with what the first layers have made of it. given() follows.
  Task<Result<plan::Step>> take_handed() {
    Begun& begun = oldest();
    PUNA_CO_TRY(co_await begun.ran);
    begun.step.handed = begun.values;
    co_return std::move(begun.step);
  }
  // The rest have taken it, or failed to: they go on with what was to come after it.
  Result<void> given(Result<void> done) {
    ++n_given_;
    for (const auto& what : std::exchange(later_, {})) PUNA_TRY(what());
    return done;
  }
  // Nothing waits any longer.
  Task<Result<void>> settle() {
    while (waits()) PUNA_CO_TRY(co_await hand_on({}));
    co_return {};
  }

  // What the rest do behind the steps that the first layers have begun.
  Result<void> after_begun(std::function<Result<void>()> what) {
    if (!waits()) return what();
    later_.push_back(std::move(what));
    return {};
  }

  // Of step i of Handed.
  std::span<float> values_of(size_t i, uint32_t n_tokens) const {
    PUNA_CHECK(n_tokens <= handed_.n_rows);
    const std::span<std::byte> bytes = handed_.memory->bytes();
    const std::span<float> all(reinterpret_cast<float*>(bytes.data()),
                               bytes.size() / sizeof(float));
    return all.subspan(i * handed_.n_rows * handed_.n, size_t{n_tokens} * handed_.n);
  }

  size_t bytes_of_first(PagePlace page) const {
    return static_cast<size_t>(of_first_.page + (page.window ? of_first_.window : 0));
  }
  Executor& with_state(size_t state) { return of_first_.states[state] > 0 ? *first_ : *rest_; }

  std::unique_ptr<Executor> first_, rest_;
  KeptBytes of_first_;
  Handed handed_;
  // In turn. Two are under way at most; the rest have copied what was handed to them in a step when
  // they have taken the next one.
  std::array<Begun, Handed::kSteps> begun_;
  uint64_t n_begun_ = 0, n_given_ = 0;  // steps
  std::vector<std::function<Result<void>()>> later_;
  bool broken_ = false;  // the ring of parts, if there is one
};

}  // namespace

Result<Handed> Handed::allocate(uint32_t n, uint32_t n_rows) {
  Handed out{.memory = {}, .n = n, .n_rows = n_rows};
  PUNA_TRY(out.memory, gpu::HostMemory::allocate(kSteps * n_rows * uint64_t{n} * sizeof(float)));
  return out;
}

std::unique_ptr<Executor> join(std::unique_ptr<Executor> first, std::unique_ptr<Executor> rest,
                               Handed handed) {
  return std::make_unique<SplitExecutor>(std::move(first), std::move(rest), std::move(handed));
}

}  // namespace puna::engine
