// Runs steps on a gpu::Device: fills the step buffer, replays the plan's dispatches, reads logits
// or ids back. Greedy decoding keeps several steps in flight: the chosen id never leaves the GPU on
// its way into the next step, and reaches the host one or more steps late.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "engine/executor.h"
#include "engine/gpu_loader.h"
#include "kernels/sample/sample.h"
#include "plan/gpu_program.h"

namespace puna::engine {
namespace {

using base::Result;
using base::Task;
using plan::GpuProgram;
using Part = plan::GpuProgram::Part;

// Greedy steps are submitted in chains, so that submits and read-backs are few (H200, 1B: 1,338
// tokens a second at depth 2048 instead of 1,313, the same at depth 0). Two chains under way hide
// recording and read-back behind the GPU's work. A chain grows while it takes no longer than a
// person would notice.
constexpr size_t kInFlight = 2;
constexpr uint32_t kMaxChain = 8;
constexpr double kChainMs = 20;

class GpuExecutor : public Executor {
 public:
  GpuExecutor(gpu::Device& device, std::unique_ptr<GpuProgram> program, plan::CacheConfig cache,
              uint32_t n_out)
      : device_(device), program_(std::move(program)), cache_(cache), n_out_(n_out) {}

  ~GpuExecutor() override {
    if (logits_readback_.value != 0) device_.destroy_buffer(logits_readback_);
    for (Slot& slot : slots_) {
      if (slot.readback.value != 0) device_.destroy_buffer(slot.readback);
    }
  }

  Result<void> create_readbacks() {
    PUNA_TRY(logits_readback_,
             device_.create_buffer(plan::kHeadRows * uint64_t{n_out_} * sizeof(float),
                                   gpu::BufferUse::kReadback, "logits read-back"));
    for (Slot& slot : slots_) {
      PUNA_TRY(slot.readback,
               device_.create_buffer(sizeof(slot.ids), gpu::BufferUse::kReadback, "ids read-back"));
    }
    return {};
  }

  Task<Result<void>> run(plan::Step step, std::span<float> logits) override {
    const kernels::StepShape shape = shape_of(step);
    PUNA_CO_TRY(write_step(step, shape));
    list_.clear();
    program_->record(Part::kBody, program_->class_for(Part::kBody, step.n_tokens()), shape, list_);
    if (step.output_rows.empty()) {
      PUNA_CO_TRY(device_.submit(list_));
      co_return {};
    }
    // The first group of outputs rides with the body; the head runs again for each further one.
    for (size_t first = 0; first < step.output_rows.size(); first += plan::kHeadRows) {
      const uint32_t n =
          static_cast<uint32_t>(std::min<size_t>(plan::kHeadRows, step.output_rows.size() - first));
      PUNA_CO_TRY(write_outputs(std::span(step.output_rows).subspan(first, n)));
      program_->record(Part::kHead, program_->class_for(Part::kHead, n), {step.n_tokens(), n, 1},
                       list_);
      const uint64_t bytes = n * uint64_t{n_out_} * sizeof(float);
      list_.copy(program_->buffer(program_->plan().logits), program_->plan().logits.offset,
                 logits_readback_, 0, bytes);
      PUNA_CO_TRY(device_.submit(list_));
      list_.clear();
      PUNA_CO_TRY(co_await read_back(
          logits_readback_, std::as_writable_bytes(logits.subspan(first * n_out_, n * n_out_))));
    }
    co_return {};
  }

  Task<Result<void>> run_greedy(plan::Step step, uint32_t n_steps, OnIds on_ids) override {
    const uint32_t rows = step.n_tokens();
    PUNA_CHECK(rows >= 1 && rows <= kernels::kMaxBatch);
    step.output_rows.resize(rows);
    for (uint32_t r = 0; r < rows; ++r) step.output_rows[r] = r;
    PUNA_CO_TRY(write_step(step, shape_of(step)));
    PUNA_CO_TRY(write_outputs(step.output_rows));
    const size_t body = program_->class_for(Part::kBody, rows);
    const size_t head = program_->class_for(Part::kHead, rows);

    size_t submitted = 0, delivered = 0;  // chains
    Undo undo(step);
    uint32_t n_chain = 1;
    std::optional<base::Error> error;
    bool stopped = false;
    base::Timer since_last;
    while (delivered < submitted || (!stopped && n_steps > 0)) {
      if (!stopped && n_steps > 0 && submitted - delivered < kInFlight) {
        Slot& slot = slots_[submitted % kInFlight];
        slot.n_steps = std::min(n_chain, n_steps);
        n_steps -= slot.n_steps;
        if (auto ok = submit_chain(slot, submitted % kInFlight, body, head, step); !ok) {
          error = std::move(ok.error());
          stopped = true;
        } else {
          ++submitted;
        }
        continue;
      }
      const size_t chain = delivered % kInFlight;
      Slot& slot = slots_[delivered++ % kInFlight];
      if (!stopped) undo.begin(chain);
      if (auto ok = co_await finished(slot); !ok && !error) error = std::move(ok.error());
      if (error) stopped = true;
      const double ms_per_step = since_last.ms() / slot.n_steps;
      since_last = {};
      n_chain = std::clamp(static_cast<uint32_t>(kChainMs / std::max(ms_per_step, 0.01)), 1u,
                           std::min(kMaxChain, 2 * slot.n_steps));
      for (uint32_t i = 0; i < slot.n_steps && !stopped; ++i) {
        std::array<int32_t, kernels::kMaxBatch> ids{};
        for (uint32_t r = 0; r < rows; ++r)
          ids[r] = static_cast<int32_t>(slot.ids[i * kernels::kMaxBatch + r]);
        stopped = !on_ids(std::span(ids).first(rows));  // overrun is dropped
        undo.ran(std::span(ids).first(rows));
        if (stopped) undo.wanted = i + 1 < slot.n_steps || delivered < submitted;
      }
    }
    if (error) co_return std::unexpected(*std::move(error));
    if (undo.wanted) PUNA_CO_TRY(run_again(undo));
    co_return {};
  }

  Result<void> set_pages(uint32_t sequence, std::span<const uint32_t> pages) override {
    const uint64_t offset = uint64_t{sequence} * cache_.pages_per_sequence * sizeof(uint32_t);
    return device_.write_buffer(program_->buffer(program_->plan().pages), offset,
                                std::as_bytes(pages));
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

  Result<StepTimes> time_step(const plan::Step& step) override {
    const kernels::StepShape shape = shape_of(step);
    PUNA_TRY(write_step(step, shape));
    PUNA_TRY(write_outputs(step.output_rows));
    return time_kernels(device_, *program_, shape);
  }

  plan::MemoryUse memory() const override {
    plan::MemoryUse use = program_->plan().memory;
    use.staging = kStagingBytes;
    return use;
  }
  void poll() override { device_.poll(); }

 private:
  // A chain of greedy steps under way.
  struct Slot {
    gpu::BufferId readback;
    uint32_t n_steps = 0;
    std::array<uint32_t, kMaxChain * kernels::kMaxBatch> ids{};  // [step][row]
    std::optional<Result<void>> result;
    gpu::ReadDone waiter;
  };

  // What the steps of the chain under delivery were given, to run them again from the state at the
  // chain's start: recurrent states have moved on in the steps that are dropped.
  struct Undo {
    explicit Undo(const plan::Step& first)
        : sequences(first.sequences), next(first.tokens), positions(first.positions) {}
    void begin(size_t chain_slot) {
      chain = chain_slot;
      for (int32_t& position : positions) position += static_cast<int32_t>(steps.size());
      steps.clear();
    }
    void ran(std::span<const int32_t> ids) {
      steps.push_back(std::exchange(next, std::vector<int32_t>(ids.begin(), ids.end())));
    }

    std::vector<uint32_t> sequences;
    std::vector<int32_t> next;                // what the next step is given, by row
    std::vector<int32_t> positions;           // at the chain's start, by row
    std::vector<std::vector<int32_t>> steps;  // what those since then were given
    size_t chain = 0;                         // the slot that has its snapshots
    bool wanted = false;
  };

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
  Result<void> submit() {
    PUNA_TRY(device_.submit(list_));
    return {};
  }
  Result<void> run_again(const Undo& undo) {
    if (!has_state()) return {};
    list_.clear();
    plan::Step step;
    for (size_t row = 0; row < undo.sequences.size(); ++row) {
      const uint32_t sequence = undo.sequences[row];
      copy_state(sequence, chain_snapshot(undo.chain, sequence), /*restore=*/true);
      for (size_t i = 0; i < undo.steps.size(); ++i) {
        step.tokens.push_back(undo.steps[i][row]);
        step.positions.push_back(undo.positions[row] + static_cast<int32_t>(i));
        step.sequences.push_back(sequence);
      }
    }
    const kernels::StepShape shape = shape_of(step);
    PUNA_TRY(write_step(step, shape));
    program_->record(Part::kBody, program_->class_for(Part::kBody, step.n_tokens()), shape, list_);
    return submit();
  }

  kernels::StepShape shape_of(const plan::Step& step) {
    const uint32_t n_kv =
        static_cast<uint32_t>(*std::max_element(step.positions.begin(), step.positions.end())) + 1;
    const auto& c = program_->plan().body[program_->class_for(Part::kBody, step.n_tokens())];
    splits_ = kernels::attention_splits(c.max_splits, n_kv);
    return {step.n_tokens(), static_cast<uint32_t>(step.output_rows.size()), splits_.n_splits};
  }

  Result<void> write_words(uint32_t first, std::span<const uint32_t> words) {
    return device_.write_buffer(program_->buffer(program_->plan().step), first * sizeof(uint32_t),
                                std::as_bytes(words));
  }
  Result<void> write_header(const plan::Step& step, const kernels::StepShape& shape) {
    std::array<uint32_t, 5> words{};
    words[kernels::kStepTokenCount] = step.n_tokens();
    words[kernels::kStepOutputCount] = std::min(shape.n_outputs, plan::kHeadRows);
    words[kernels::kStepSplitCount] = splits_.n_splits;
    words[kernels::kStepSplitTokens] = splits_.split_tokens;
    words[kernels::kStepSplitLimit] =
        program_->plan().body[program_->class_for(Part::kBody, step.n_tokens())].max_splits;
    return write_words(0, words);
  }
  Result<void> write_step(const plan::Step& step, const kernels::StepShape& shape) {
    PUNA_TRY(write_header(step, shape));
    const auto words = [](const std::vector<int32_t>& v) {
      return std::span(reinterpret_cast<const uint32_t*>(v.data()), v.size());
    };
    PUNA_TRY(write_words(kernels::kStepTokens, words(step.tokens)));
    PUNA_TRY(write_words(kernels::kStepPositions, words(step.positions)));
    return write_words(kernels::kStepSequences, step.sequences);
  }
  Result<void> write_outputs(std::span<const uint32_t> rows) {
    const uint32_t n = static_cast<uint32_t>(rows.size());
    PUNA_TRY(write_words(kernels::kStepOutputCount, std::span(&n, 1)));
    return write_words(kernels::kStepOutputRows, rows);
  }

  Task<Result<void>> read_back(gpu::BufferId buffer, std::span<std::byte> out) {
    co_return co_await base::await_callback<Result<void>>(
        [&](gpu::ReadDone done) { device_.read_back(buffer, 0, out, std::move(done)); });
  }

  // The GPU advances tokens and positions from step to step; `step` follows with the positions,
  // which grids depend on.
  Result<void> submit_chain(Slot& slot, size_t chain, size_t body, size_t head, plan::Step& step) {
    constexpr uint64_t kIdsBytes = kernels::kMaxBatch * sizeof(uint32_t);
    list_.clear();
    for (const uint32_t s : step.sequences) {
      if (has_state()) copy_state(s, chain_snapshot(chain, s), /*restore=*/false);
    }
    for (uint32_t i = 0; i < slot.n_steps; ++i) {
      const kernels::StepShape shape = shape_of(step);
      program_->record(Part::kBody, body, shape, list_);
      program_->record(Part::kHead, head, shape, list_);
      program_->record(Part::kGreedy, head, shape, list_);
      list_.copy(program_->buffer(program_->plan().ids), program_->plan().ids.offset, slot.readback,
                 i * kIdsBytes, kIdsBytes);
      for (int32_t& position : step.positions) ++position;
    }
    PUNA_TRY(device_.submit(list_));
    slot.result.reset();
    slot.waiter = nullptr;
    device_.read_back(
        slot.readback, 0,
        std::as_writable_bytes(std::span(slot.ids).first(slot.n_steps * kernels::kMaxBatch)),
        [&slot](Result<void> result) {
          if (slot.waiter) {
            std::exchange(slot.waiter, nullptr)(std::move(result));
          } else {
            slot.result = std::move(result);
          }
        });
    return {};
  }
  Task<Result<void>> finished(Slot& slot) {
    co_return co_await base::await_callback<Result<void>>([&](gpu::ReadDone done) {
      if (slot.result) {
        done(*std::exchange(slot.result, std::nullopt));
      } else {
        slot.waiter = std::move(done);
      }
    });
  }

  gpu::Device& device_;
  std::unique_ptr<GpuProgram> program_;
  plan::CacheConfig cache_;
  uint32_t n_out_;
  gpu::CommandList list_;
  gpu::BufferId logits_readback_;
  std::array<Slot, kInFlight> slots_;
  kernels::AttentionSplits splits_;
};

// Batch classes: one row, powers of two up to the batch, and the prefill chunk.
std::vector<uint32_t> batch_classes(uint32_t max_batch) {
  std::vector<uint32_t> out = {1};
  while (out.back() < std::min(max_batch, kernels::kMaxBatch)) out.push_back(out.back() * 2);
  out.push_back(kernels::kMaxStepTokens);
  return out;
}

}  // namespace

Task<Result<std::unique_ptr<Executor>>> load_gpu(const formats::ModelFile& file, plan::Graph graph,
                                                 plan::CacheConfig cache, GpuOptions options,
                                                 gpu::Device& device, LoadHooks hooks) {
  if (!graph.states.empty()) {
    cache.n_snapshots += static_cast<uint32_t>(kInFlight) * cache.n_sequences;
  }
  PUNA_CO_TRY(plan::GpuPlan plan,
              plan::plan_gpu(graph, cache, device.info(),
                             {options.numerics, batch_classes(options.max_batch)}));
  PUNA_CO_TRY(auto program, co_await GpuProgram::create(device, std::move(plan)));
  PUNA_CO_TRY(co_await load_weights(file, graph, *program, device, hooks));
  auto executor = std::make_unique<GpuExecutor>(device, std::move(program), cache, graph.n_out());
  PUNA_CO_TRY(executor->create_readbacks());
  co_return executor;
}

}  // namespace puna::engine
