// Runs steps on a gpu::Device: writes the step (gpu_step_writer.h), replays the plan's dispatches,
// reads logits or ids back. Decoding keeps several steps in flight: the chosen id never leaves the
// GPU on its way into the next step, and reaches the host one or more steps late.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/later.h"
#include "engine/batch_classes.h"
#include "engine/cpu_loader.h"
#include "engine/executor.h"
#include "engine/gpu_handover.h"
#include "engine/gpu_host_calls.h"
#include "engine/gpu_kept.h"
#include "engine/gpu_loader.h"
#include "engine/gpu_ranges.h"
#include "engine/gpu_ring_part.h"
#include "engine/gpu_step_writer.h"
#include "engine/gpu_undo.h"
#include "engine/output_order.h"
#include "kernels/sample/sample.h"
#include "kernels/sample/sample_cpu.h"
#include "plan/gpu_program.h"

namespace puna::engine {
namespace {

using base::Result;
using base::Task;
using plan::GpuProgram;
using Part = plan::GpuProgram::Part;

// Steps of a decode are submitted in chains, so that submits and read-backs are few (H200, 1B:
// 1,338 tokens a second at depth 2048 instead of 1,313, the same at depth 0). Two chains under way
// hide recording and read-back behind the GPU's work. A chain grows while it takes no longer than a
// person would notice.
constexpr size_t kInFlight = 2;
constexpr uint32_t kMaxChain = kernels::kChosenSteps;
// Where what may be chosen has been the same for so many times as long, a chain takes as many
// steps: what is dropped where it changes is an eighth of that at most.
constexpr uint32_t kSteadyParts = 16;
// From the end of a decode in which outputs are chosen once until the next one is under way, a GPU
// has nothing to do: a round trip of ids and commands of about so long, and what the host takes
// between, which is measured. Its steps take so many times as long as the pause.
constexpr double kRoundTripMs = 0.1, kMostPauseMs = 1;
constexpr double kPauses = 19;
using ChainIds = std::array<uint32_t, kMaxChain * kernels::kMaxBatch>;  // [step % kMaxChain][row]

// Of the buffer that logits come back by, and what is kept of a text, piece after piece.
constexpr uint64_t kLeastReadbackBytes = uint64_t{1} << 20;

// Outputs whose logits, or embeddings, are read back at once.
uint32_t readback_rows(const plan::GpuPlan& plan, uint32_t n_out) {
  constexpr uint32_t kManyFloats = 1 << 21;
  return std::min(plan.head_rows(), std::max(plan::kHeadRows, kManyFloats / n_out));
}

uint64_t readback_bytes(const plan::GpuPlan& plan, uint32_t n_out) {
  return std::max(kLeastReadbackBytes,
                  readback_rows(plan, n_out) * uint64_t{n_out} * sizeof(float));
}

class GpuExecutor : public Executor {
 public:
  GpuExecutor(gpu::Device& device, std::unique_ptr<GpuProgram> program, plan::CacheConfig cache,
              uint32_t n_out, double chain_ms)
      : device_(device),
        program_(std::move(program)),
        cache_(cache),
        n_out_(n_out),
        chain_ms_(chain_ms),
        writer_(device, *program_, cache.context(), n_out) {}

  ~GpuExecutor() override {
    if (logits_readback_.value != 0) device_.destroy_buffer(logits_readback_);
    for (Slot& slot : slots_) {
      if (slot.readback.value != 0) device_.destroy_buffer(slot.readback);
    }
  }

  // The host computes a part of each step.
  Result<void> take_host(std::unique_ptr<plan::CpuProgram> program) {
    host_ = std::make_unique<GpuHostCalls>(device_, *program_, std::move(program));
    return host_->create_readback();
  }

  Result<void> create_readbacks() {
    PUNA_TRY(logits_readback_,
             device_.create_buffer(readback_bytes(program_->plan(), n_out_),
                                   gpu::BufferUse::kReadback, "logits read-back"));
    for (Slot& slot : slots_) {
      PUNA_TRY(slot.readback,
               device_.create_buffer(sizeof(slot.ids), gpu::BufferUse::kReadback, "ids read-back"));
    }
    return {};
  }

  // It is a part of a model.
  Result<void> hand_over(LinkEnds ends) {
    PUNA_TRY(handover_, GpuHandover::create(device_, *program_, std::move(ends)));
    return {};
  }

  Task<Result<void>> run(plan::Step step, std::span<float> logits) override {
    const kernels::StepShape shape = writer_.shape_of(step);
    list_.clear();
    if (handover_ && handover_->take(step.handed, step.n_tokens(), list_)) {
      PUNA_CO_TRY(writer_.rows(step, shape));
    } else {
      PUNA_CO_TRY(writer_.step(step, shape));
    }
    PUNA_CO_TRY(co_await record(Part::kBody, shape));
    if (!program_->plan().outputs.empty())
      co_return co_await handover_->give(logits, step.n_tokens(), list_);
    if (step.output_rows.empty()) {
      PUNA_CO_TRY(const gpu::SubmitId submitted, device_.submit(list_));
      // The device has the next step while it is at this one, and no more: a prompt that is not
      // wanted any longer is not evaluated to its end.
      if (const auto before = std::exchange(last_submit_, submitted))
        co_return co_await done(*before);
      co_return {};
    }
    // The first group of outputs rides with the body; the head runs again for each further one.
    const uint32_t at_once = readback_rows(program_->plan(), n_out_);
    for (size_t first = 0; first < step.output_rows.size(); first += at_once) {
      const auto n =
          static_cast<uint32_t>(std::min<size_t>(at_once, step.output_rows.size() - first));
      PUNA_CO_TRY(writer_.outputs(std::span(step.output_rows).subspan(first, n)));
      PUNA_CO_TRY(co_await record(Part::kHead, {.n_tokens = step.n_tokens(), .n_outputs = n}));
      const uint64_t bytes = n * uint64_t{n_out_} * sizeof(float);
      list_.copy(program_->buffer(program_->plan().logits), program_->plan().logits.offset,
                 logits_readback_, 0, bytes);
      PUNA_CO_TRY(device_.submit(list_));
      list_.clear();
      PUNA_CO_TRY(
          co_await read_back(device_, logits_readback_,
                             std::as_writable_bytes(logits.subspan(first * n_out_, n * n_out_))));
    }
    co_return {};
  }

  Task<Result<void>> decode(plan::Step step, std::vector<OutputSampling> outputs, uint32_t n_steps,
                            OnChosen on_chosen) override {
    PUNA_CHECK(!outputs.empty() && outputs.size() <= kernels::kMaxBatch &&
               outputs.size() == step.output_rows.size());
    const OutputOrder order(step, outputs);
    if (order.once()) n_steps = std::min(n_steps, steps_with(order));
    PUNA_CO_TRY(writer_.sampling(step, std::span(outputs).first(order.n_on_device)));
    PUNA_CO_TRY(writer_.step(step, writer_.shape_of(step), order.n_go_on));
    PUNA_CO_TRY(writer_.outputs(step.output_rows));
    if (std::ranges::any_of(outputs, &OutputSampling::moves)) {
      PUNA_CHECK(!order.once());
      co_return co_await decode_moving(std::move(step), order, std::move(outputs), n_steps,
                                       std::move(on_chosen));
    }

    // A step that the host has a part in is submitted piece by piece and by itself: the host is
    // busy with it while it is under way, and none has to be undone.
    const size_t in_flight = host_ ? 1 : kInFlight;
    uint32_t longest = host_ ? 1 : kMaxChain;
    if (has_state())
      longest = steps_to_undo(longest, order.n_go_on, program_->plan().body.back().max_rows);
    size_t submitted = 0, delivered = 0;  // chains
    Undo undo(step, std::span(step.output_rows).first(order.n_go_on));
    const bool reads = step.n_tokens() > outputs.size();  // a prompt
    uint32_t n_chain = 1, first = 0;
    const uint32_t n_steady = least_steady(outputs);
    std::optional<base::Error> error;
    bool stopped = false;
    base::Timer since_last;
    while (delivered < submitted || (!stopped && n_steps > 0)) {
      if (!stopped && n_steps > 0 && submitted - delivered < in_flight) {
        Slot& slot = slots_[submitted % kInFlight];
        slot.first = first;
        slot.n_steps = std::min(n_chain, n_steps);
        first += slot.n_steps;
        n_steps -= slot.n_steps;
        if (auto ok = co_await submit_chain(slot, submitted % kInFlight, step, order); !ok) {
          error = std::move(ok.error());
          stopped = true;
        } else {
          ++submitted;
        }
        if (order.once()) {
          // While the others have their steps, the host is at what is chosen once.
          n_chain = longest;
          if (first == 1 && since_once_) pause_ms_ = std::min(since_once_->ms(), kMostPauseMs);
        }
        continue;
      }
      const size_t chain = delivered % kInFlight;
      Slot& slot = slots_[delivered++ % kInFlight];
      if (!stopped) undo.begin(chain);
      if (auto ok = co_await slot.read; !ok && !error) error = std::move(ok.error());
      const double ms_per_step = since_last.ms() / slot.n_steps;
      since_last = {};
      std::vector<kernels::Chosen> by_host;
      if (slot.first == 0 && order.on_host()) {
        auto chosen = co_await choose_on_host(order, outputs);
        if (!chosen && !error) error = std::move(chosen.error());
        if (chosen) by_host = *std::move(chosen);
      }
      if (error) stopped = true;
      if (!reads) step_ms_ = ms_per_step;
      if (!order.once()) {
        uint32_t most = std::min(longest, 2 * slot.n_steps);
        if (n_steady > 0) most = std::clamp((n_steady + first) / kSteadyParts, 1u, most);
        n_chain = static_cast<uint32_t>(
            std::clamp(chain_ms_ / std::max(ms_per_step, 0.01), 1.0, static_cast<double>(most)));
      }
      for (uint32_t i = 0; i < slot.n_steps && !stopped; ++i) {
        const std::vector<kernels::Chosen> chosen = chosen_by_device(slot, i, order);
        if (slot.first + i == 0 && order.once()) {
          stopped = !on_chosen(order.of_caller(chosen, by_host)).on;
          host_ms_ = since_last.ms();
        } else {
          stopped = !on_chosen(chosen).on;  // overrun is dropped
        }
        undo.ran(chosen);
        if (stopped) undo.wanted = i + 1 < slot.n_steps || delivered < submitted;
      }
    }
    if (error) co_return std::unexpected(*std::move(error));
    if (undo.wanted) PUNA_CO_TRY(run_again(undo));
    since_once_.reset();
    if (order.once()) since_once_.emplace();
    co_return {};
  }

  Task<Result<void>> link(LinkEnds ends) override {
    if constexpr (kSeveralGpus) {
      if (!host_) {
        PUNA_CO_TRY(ring_part_,
                    co_await GpuRingPart::create(device_, *program_, writer_, std::move(ends)));
        co_return {};
      }
    }
    co_return co_await Executor::link(std::move(ends));
  }
  RingPart* ring_part() override { return ring_part_.get(); }

  Task<Result<void>> rest() override {
    if (!last_submit_) co_return {};
    co_return co_await done(*std::exchange(last_submit_, std::nullopt));
  }

  Result<void> set_pages(uint32_t sequence, uint32_t first, std::span<const uint32_t> pages,
                         std::span<const uint32_t> window_pages) override {
    const uint64_t at = uint64_t{sequence} * cache_.pages_per_sequence + first;
    PUNA_TRY(device_.write_buffer(program_->buffer(program_->plan().pages), at * sizeof(uint32_t),
                                  std::as_bytes(pages)));
    if (window_pages.empty()) return {};
    return device_.write_buffer(program_->buffer(*program_->plan().window_pages),
                                at * sizeof(uint32_t), std::as_bytes(window_pages));
  }

  // By way of the arena, which holds nothing between steps: WebGPU copies between buffers only.
  Result<void> copy_page(PagePlace from, PagePlace to) override {
    const kernels::Slice& arena = program_->plan().arena;
    const gpu::BufferId between = program_->buffer(arena);
    const std::vector<GpuRange> source = page_ranges(*program_, from);
    const std::vector<GpuRange> target = page_ranges(*program_, to);
    list_.clear();
    for (size_t i = 0; i < source.size(); ++i) {
      for (uint64_t at = 0; at < source[i].bytes; at += arena.bytes) {
        const uint64_t n = std::min(arena.bytes, source[i].bytes - at);
        list_.copy(source[i].buffer, source[i].offset + at, between, 0, n);
        list_.copy(between, 0, target[i].buffer, target[i].offset + at, n);
      }
    }
    return submit();
  }

  Result<void> save_state(uint32_t sequence, uint32_t snapshot) override {
    list_.clear();
    copy_state(sequence, snapshot, /*restore=*/false);
    return submit();
  }
  Result<void> restore_state(uint32_t snapshot, uint32_t sequence) override {
    list_.clear();
    copy_state(sequence, snapshot, /*restore=*/true);
    return submit();
  }

  bool begins_ahead() const override { return host_ == nullptr; }
  bool grows_with_use() const override { return false; }
  KeptBytes kept_bytes() const override {
    KeptBytes out;
    for (const GpuRange& range : page_ranges(*program_, {.all = 0})) out.page += range.bytes;
    if (cache_.n_window_pages > 0) {
      for (const GpuRange& range : page_ranges(*program_, {.all = 0, .window = 0}))
        out.window += range.bytes;
      out.window -= out.page;
    }
    for (const plan::GpuPlan::State& s : program_->plan().states)
      out.states.push_back(s.slot_bytes);
    return out;
  }
  Task<Result<void>> read_page(PagePlace page, std::span<std::byte> out) override {
    co_return co_await read_kept(page_ranges(*program_, page), out);
  }
  Result<void> write_page(PagePlace page, std::span<const std::byte> bytes) override {
    for (const GpuRange& range : page_ranges(*program_, page)) {
      const auto n = static_cast<size_t>(range.bytes);
      PUNA_TRY(device_.write_buffer(range.buffer, range.offset, bytes.first(n)));
      bytes = bytes.subspan(n);
    }
    return {};
  }
  Task<Result<void>> read_state(uint32_t snapshot, size_t state,
                                std::span<std::byte> out) override {
    std::vector<GpuRange> ranges(1, saved_range(*program_, snapshot, state));
    co_return co_await read_kept(std::move(ranges), out);
  }
  Result<void> write_state(uint32_t snapshot, size_t state,
                           std::span<const std::byte> bytes) override {
    const GpuRange range = saved_range(*program_, snapshot, state);
    if (range.bytes == 0) return {};
    return device_.write_buffer(range.buffer, range.offset, bytes);
  }

  Result<StepTimes> time_step(const plan::Step& step,
                              const kernels::SamplingParams& sampling) override {
    const std::vector<OutputSampling> outputs(step.output_rows.size(), {sampling, {}});
    PUNA_TRY(writer_.sampling(step, outputs));
    const kernels::StepShape shape = writer_.shape_of(step);
    PUNA_TRY(writer_.step(step, shape));
    PUNA_TRY(writer_.outputs(step.output_rows));
    PUNA_TRY(StepTimes times, time_kernels(device_, *program_, shape));
    if (host_) host_->add_times(shape, times);
    return times;
  }

  plan::MemoryUse memory() const override {
    plan::MemoryUse use = program_->plan().memory;
    use.staging = gpu_staging_bytes(program_->plan(), n_out_);
    return use;
  }
  plan::MemoryUse host_memory() const override {
    return host_ ? host_->memory() : plan::MemoryUse{};
  }
  void poll() override { device_.poll(); }

 private:
  // A chain of steps under way.
  struct Slot {
    gpu::BufferId readback;
    uint32_t first = 0, n_steps = 0;  // of the decode's steps
    ChainIds ids{};
    base::Later<Result<void>> read;
  };

  // Appends a part of a step to the list; where the host computes something in the middle of it,
  // what comes before has run then, and what the list held is submitted.
  Task<Result<void>> record(Part part, kernels::StepShape shape) {
    size_t first = 0;
    for (const plan::GpuPlan::HostCall& call : program_->host_calls(part, shape)) {
      program_->record(part, shape, first, call.n_before - first, list_);
      PUNA_CO_TRY(
          co_await host_->run(call, part == Part::kBody ? shape.n_tokens : shape.n_outputs, list_));
      list_.clear();
      first = call.n_before;
    }
    program_->record(part, shape, first, SIZE_MAX, list_);
    co_return {};
  }

  static uint32_t least_steady(std::span<const OutputSampling> outputs) {
    uint32_t out = 0;
    for (const OutputSampling& output : outputs) {
      if (output.n_steady > 0) out = out == 0 ? output.n_steady : std::min(out, output.n_steady);
    }
    return out;
  }

  // The rest of a decode in which what may be chosen is other after each token. The host has to
  // hear of a token before the next one can be chosen, but not before its step begins: the body of
  // that step runs while the token is on its way to the host, and the head follows with the bits.
  // The last body is in vain where the decode ends before n_steps; what it left in the cache lies
  // behind the text, and recurrent states are copied back. A body that the host has a part in is
  // not begun before.
  Task<Result<void>> decode_moving(plan::Step step, const OutputOrder& order,
                                   std::vector<OutputSampling> outputs, uint32_t n_steps,
                                   OnChosen on_chosen) {
    const bool reads = step.n_tokens() > outputs.size();  // a prompt
    const uint32_t n_rows = order.n_go_on;
    list_.clear();
    PUNA_CO_TRY(co_await record(Part::kBody, writer_.shape_of(step)));
    base::Timer since_last;
    for (uint32_t i = 0;; ++i) {
      Slot& slot = slots_[i % kInFlight];
      slot.first = i;
      slot.n_steps = 1;
      const kernels::StepShape shape = writer_.shape_of(step);
      PUNA_CO_TRY(co_await record(Part::kHead, shape));
      PUNA_CO_TRY(co_await record(Part::kSample, shape));
      PUNA_CO_TRY(submit_choices(slot));
      const bool is_last = i + 1 == n_steps;
      const bool ahead = !is_last && !host_;
      plan::Step next = plan::next_step(step, std::span(step.output_rows).first(n_rows));
      const auto begun = ahead ? begin_ahead(next, n_rows) : Result<void>();
      PUNA_CO_TRY(co_await slot.read);
      PUNA_CO_TRY(Result<void>(begun));
      if (i > 0 || !reads) step_ms_ = since_last.ms();
      since_last = {};
      const GoesOn goes = on_chosen(chosen_by_device(slot, 0, order));
      if (!goes.on || is_last) {
        if (ahead) PUNA_CO_TRY(take_back(next, n_rows));
        break;
      }
      if (goes.last) n_steps = i + 2;
      PUNA_CO_TRY(writer_.choices(outputs));
      list_.clear();
      step = std::move(next);
      if (!ahead) PUNA_CO_TRY(co_await record(Part::kBody, writer_.shape_of(step)));
    }
    since_once_.reset();
    co_return {};
  }
  // The body of a step whose tokens the device is still to choose, and taking it back.
  Result<void> begin_ahead(const plan::Step& next, uint32_t n_rows) {
    list_.clear();
    copy_states(next, n_rows, /*chain=*/0, /*restore=*/false);
    program_->record(Part::kBody, writer_.shape_of(next), list_);
    return submit();
  }
  Result<void> take_back(const plan::Step& next, uint32_t n_rows) {
    if (!has_state()) return {};
    list_.clear();
    copy_states(next, n_rows, /*chain=*/0, /*restore=*/true);
    return submit();
  }

  // How many steps a decode has in which some outputs are chosen once.
  uint32_t steps_with(const OutputOrder& order) const {
    const size_t n_on_host = order.of.size() - order.n_on_device;
    if (order.n_go_on == 0 || n_on_host > readback_rows(program_->plan(), n_out_)) return 1;
    if (host_) return 1;          // which has no time to choose while the others have their steps
    if (step_ms_ == 0) return 2;  // not known yet
    const double for_device = std::ceil(kPauses * (kRoundTripMs + pause_ms_) / step_ms_);
    const double for_host = 1 + std::round(host_ms_ / step_ms_);
    return static_cast<uint32_t>(
        std::min(std::max(for_device, for_host), static_cast<double>(kMaxChain)));
  }

  // Of step i of a chain, the outputs whose token the device chooses.
  static std::vector<kernels::Chosen> chosen_by_device(const Slot& slot, uint32_t i,
                                                       const OutputOrder& order) {
    const uint32_t n = slot.first + i == 0 ? order.n_on_device : order.n_go_on;
    const auto ids =
        std::span(slot.ids).subspan((slot.first + i) % kMaxChain * size_t{kernels::kMaxBatch}, n);
    std::vector<kernels::Chosen> out(n);
    for (uint32_t r = 0; r < n; ++r) out[r].id = static_cast<int32_t>(ids[r]);
    return out;
  }

  // The logits of outputs of the last step, from `first` on, on their way to host_logits_.
  void copy_logits(size_t first, size_t n) {
    const uint64_t row_bytes = n_out_ * sizeof(float);
    const kernels::Slice& logits = program_->plan().logits;
    list_.copy(program_->buffer(logits), logits.offset + first * row_bytes, logits_readback_, 0,
               n * row_bytes);
  }
  void read_logits(size_t n) {
    host_logits_.resize(n * n_out_);
    device_.read_back(logits_readback_, 0, std::as_writable_bytes(std::span(host_logits_)),
                      logits_read_.callback());
  }
  // Where the host chooses, after the first step, whose chain brings the first of these logits; a
  // step with more is the only one, so that they are still there.
  Task<Result<std::vector<kernels::Chosen>>> choose_on_host(
      const OutputOrder& order, std::span<const OutputSampling> outputs) {
    std::vector<kernels::Chosen> out;
    const size_t at_once = readback_rows(program_->plan(), n_out_);
    for (size_t first = order.n_on_device; first < outputs.size(); first += at_once) {
      const size_t n = std::min(at_once, outputs.size() - first);
      if (first > order.n_on_device) {
        list_.clear();
        copy_logits(first, n);
        PUNA_CO_TRY(submit());
        read_logits(n);
      }
      PUNA_CO_TRY(co_await logits_read_);
      for (size_t i = first; i < first + n; ++i) {
        const auto logits = std::span(host_logits_).subspan((i - first) * n_out_, n_out_);
        out.push_back(sampler_.choose(outputs[i].params, logits, outputs[i].text,
                                      order.positions[i], outputs[i].allowed, outputs[i].state));
      }
    }
    co_return out;
  }

  Task<Result<void>> done(gpu::SubmitId submitted) {
    co_return co_await base::await_callback<Result<void>>(
        [&](gpu::WaitDone done) { device_.when_done(submitted, std::move(done)); });
  }

  // By way of the buffer for logits.
  Task<Result<void>> read_kept(std::vector<GpuRange> ranges, std::span<std::byte> out) {
    co_return co_await read_ranges(device_, std::move(ranges), logits_readback_,
                                   readback_bytes(program_->plan(), n_out_), out);
  }

  bool has_state() const { return !program_->plan().states.empty(); }
  // Snapshots of the chains under way lie behind those of the engine.
  uint32_t chain_snapshot(size_t chain, uint32_t sequence) const {
    return cache_.n_snapshots - static_cast<uint32_t>(kInFlight - chain) * cache_.n_sequences +
           sequence;
  }
  void copy_state(uint32_t sequence, uint32_t snapshot, bool restore) {
    for (const plan::GpuPlan::State& s : program_->plan().states) {
      const auto live = program_->buffer(s.live), saved = program_->buffer(s.saved);
      const uint64_t live_at = s.live.offset + sequence * s.slot_bytes;
      const uint64_t saved_at = s.saved.offset + snapshot * s.slot_bytes;
      if (restore) {
        list_.copy(saved, saved_at, live, live_at, s.slot_bytes);
      } else {
        list_.copy(live, live_at, saved, saved_at, s.slot_bytes);
      }
    }
  }
  // Of the first n outputs of a step, to the snapshots of a chain, or back.
  void copy_states(const plan::Step& step, uint32_t n, size_t chain, bool restore) {
    if (!has_state()) return;
    for (const uint32_t row : std::span(step.output_rows).first(n)) {
      const uint32_t s = step.sequences[row];
      copy_state(s, chain_snapshot(chain, s), restore);
    }
  }
  Result<void> submit() {
    PUNA_TRY(device_.submit(list_));
    return {};
  }
  // The list, and behind it what it has chosen, on its way to the slot.
  Result<void> submit_choices(Slot& slot) {
    list_.copy(program_->buffer(program_->plan().ids), program_->plan().ids.offset, slot.readback,
               0, sizeof(slot.ids));
    // Nothing is under way before the first steps.
    PUNA_TRY(slot.first == 0 ? device_.submit_early(list_) : device_.submit(list_));
    device_.read_back(slot.readback, 0, std::as_writable_bytes(std::span(slot.ids)),
                      slot.read.callback());
    return {};
  }
  Result<void> run_again(const Undo& undo) {
    if (!has_state()) return {};
    list_.clear();
    plan::Step step;
    for (const Undo::Row& row : undo.rows) {
      copy_state(row.sequence, chain_snapshot(undo.chain, row.sequence), /*restore=*/true);
      for (size_t i = 0; i < row.given.size(); ++i) {
        step.tokens.push_back(row.given[i]);
        step.positions.push_back(row.position + static_cast<int32_t>(i));
        step.sequences.push_back(row.sequence);
      }
    }
    const kernels::StepShape shape = writer_.shape_of(step);
    PUNA_TRY(writer_.step(step, shape));
    program_->record(Part::kBody, shape, list_);
    return submit();
  }

  // The GPU makes each step from the one before (sample/advance.wgsl); `step` follows with all but
  // the tokens, because grids depend on the rows and positions.
  Task<Result<void>> submit_chain(Slot& slot, size_t chain, plan::Step& step,
                                  const OutputOrder& order) {
    list_.clear();
    copy_states(step, order.n_go_on, chain, /*restore=*/false);
    size_t n_on_host = 0;  // of the outputs whose logits come with the chain
    for (uint32_t i = 0; i < slot.n_steps; ++i) {
      kernels::StepShape shape = writer_.shape_of(step);
      PUNA_CO_TRY(co_await record(Part::kBody, shape));
      PUNA_CO_TRY(co_await record(Part::kHead, shape));
      if (slot.first + i == 0) {
        shape.n_outputs = order.n_on_device;
        n_on_host = std::min<size_t>(order.of.size() - order.n_on_device,
                                     readback_rows(program_->plan(), n_out_));
        if (n_on_host > 0) copy_logits(order.n_on_device, n_on_host);
      }
      if (shape.n_outputs > 0) PUNA_CO_TRY(co_await record(Part::kSample, shape));
      step = plan::next_step(step, std::span(step.output_rows).first(order.n_go_on));
    }
    PUNA_CO_TRY(submit_choices(slot));
    if (n_on_host > 0) read_logits(n_on_host);
    co_return {};
  }

  gpu::Device& device_;
  std::unique_ptr<GpuProgram> program_;
  std::unique_ptr<GpuHostCalls> host_;  // null: the GPU computes all
  plan::CacheConfig cache_;
  uint32_t n_out_;
  double chain_ms_;
  GpuStepWriter writer_;
  gpu::CommandList list_;
  std::optional<gpu::SubmitId> last_submit_;  // of steps without outputs
  gpu::BufferId logits_readback_;
  std::unique_ptr<GpuHandover> handover_;  // null: it has the whole model
  std::array<Slot, kInFlight> slots_;
  std::unique_ptr<RingPart> ring_part_;  // of a model on several GPUs that are linked
  // Of outputs whose token the host chooses.
  kernels::CpuSampler sampler_;
  std::vector<float> host_logits_;
  base::Later<Result<void>> logits_read_;
  double step_ms_ = 0;   // of the last decode without a prompt; 0: not known yet
  double host_ms_ = 0;   // what the host took for outputs that are chosen once
  double pause_ms_ = 0;  // between two calls with such outputs
  std::optional<base::Timer> since_once_;
};

// Copies of recurrent states beside those of the engine: of each chain under way.
uint32_t chain_snapshots(const plan::CacheConfig& cache) {
  return static_cast<uint32_t>(kInFlight) * cache.n_sequences;
}

}  // namespace

Task<Result<void>> Executor::link(LinkEnds) {
  co_return base::fail(base::ErrorCode::kUnsupported,
                       "What is computed on the CPU has a part in each step.");
}

uint64_t gpu_staging_bytes(const plan::GpuPlan& plan, uint32_t n_out) {
  return std::max(kStagingBytes, readback_bytes(plan, n_out) + kInFlight * sizeof(ChainIds) +
                                     2 * plan.handed_bytes() + plan.host_read_bytes());
}

Result<plan::GpuPlan> plan_for_gpu(const plan::Graph& graph, plan::CacheConfig cache,
                                   const GpuOptions& options, const gpu::DeviceInfo& device) {
  if (!graph.states.empty()) cache.n_snapshots += chain_snapshots(cache);
  plan::GpuPlanOptions plan{.numerics = options.numerics, .profile = options.profile};
  plan.classes = decode_classes(options.max_batch);
  plan.prompt_classes = prompt_classes(options, cache.step_rows, device);
  plan.head_rows = plan.classes.back();
  if (options.many_outputs) plan.head_rows = std::max(plan.head_rows, plan::kHeadRows);
  if (graph.embeds) plan.head_rows = kernels::kMaxStepTokens;  // their rows are narrow
  return plan::plan_gpu(graph, cache, device, plan);
}

Task<Result<std::unique_ptr<Executor>>> load_gpu(const formats::ModelFile& file, plan::Graph graph,
                                                 plan::CacheConfig cache, GpuOptions options,
                                                 gpu::Device& device, LoadHooks hooks,
                                                 std::optional<HostPart> host, LinkEnds handed) {
  PUNA_CO_TRY(plan::GpuPlan plan, plan_for_gpu(graph, cache, options, device.info()));
  if (!graph.states.empty()) cache.n_snapshots += chain_snapshots(cache);
  PUNA_CO_TRY(auto program, GpuProgram::create(device, std::move(plan)));
  PUNA_CO_TRY(co_await load_weights(file, graph, *program, device, hooks));
  auto executor = std::make_unique<GpuExecutor>(device, std::move(program), cache, graph.n_out(),
                                                options.chain_ms);
  PUNA_CO_TRY(executor->create_readbacks());
  if (handed.from || handed.to) PUNA_CO_TRY(executor->hand_over(std::move(handed)));
  if (host) {
    PUNA_CO_TRY(auto on_host, co_await load_cpu_program(file, std::move(host->graph), cache,
                                                        host->cpu, *host->pool, hooks));
    PUNA_CO_TRY(executor->take_host(std::move(on_host)));
  }
  co_return executor;
}

}  // namespace puna::engine
