// An encoder on a gpu::Device: a GpuProgram of one class, whose inputs the host writes for each
// batch of tiles.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "base/clock.h"
#include "engine/encoder.h"
#include "engine/gpu_loader.h"
#include "engine/gpu_ranges.h"
#include "plan/gpu_program.h"

namespace puna::engine {

using base::Result;
using base::Task;
using Part = plan::GpuProgram::Part;

namespace {

// Classes of fewer rows are for steps of texts.
constexpr uint32_t kLeastRows = 2 * kernels::kMatvecRows;

class GpuEncoder final : public Encoder {
 public:
  GpuEncoder(gpu::Device& device, std::unique_ptr<plan::GpuProgram> program, uint32_t n_out)
      : device_(device), program_(std::move(program)), n_out_(n_out) {}
  ~GpuEncoder() override {
    if (readback_.value != 0) device_.destroy_buffer(readback_);
  }

  Result<void> create_readback() {
    PUNA_TRY(readback_,
             device_.create_buffer(readback_bytes(), gpu::BufferUse::kReadback, "rows read-back"));
    return {};
  }

  plan::MemoryUse memory() const override {
    plan::MemoryUse use = program_->plan().memory;
    use.staging = std::max(kStagingBytes, readback_bytes());
    return use;
  }
  void poll() override { device_.poll(); }

 protected:
  Task<Result<bool>> advance_batch(const EncoderBatch& batch, bool fresh, std::span<float> out,
                                   double budget_ms) override {
    if (fresh) {
      PUNA_CO_TRY(write(batch));
      next_ = 0;
    }
    const base::Timer timer;
    const kernels::StepShape shape{.n_tokens = batch.n_rows, .n_outputs = batch.n_outputs};
    const size_t n = calls_within(budget_ms);
    list_.clear();
    const size_t n_body = program_->classes(Part::kBody)[0].calls.size();
    size_t n_recorded = program_->record(Part::kBody, shape, next_, n, list_);
    if (next_ + n_recorded >= n_body) {
      n_recorded +=
          program_->record(Part::kHead, shape, next_ + n_recorded - n_body, n - n_recorded, list_);
    }
    next_ += n_recorded;
    const bool over = next_ == n_body + program_->classes(Part::kHead)[0].calls.size();
    const kernels::Slice& result = program_->plan().logits;
    if (over) list_.copy(program_->buffer(result), result.offset, readback_, 0, out.size_bytes());
    PUNA_CO_TRY(device_.submit(list_));
    // Of a piece before the last nothing is read but that it has run.
    uint32_t ran = 0;
    PUNA_CO_TRY(co_await read_back(
        device_, readback_,
        over ? std::as_writable_bytes(out) : std::as_writable_bytes(std::span(&ran, 1))));
    if (!over) call_ms_ = timer.ms() / static_cast<double>(n_recorded);
    co_return over;
  }

 private:
  uint64_t readback_bytes() const {
    return uint64_t{program_->plan().head_rows()} * n_out_ * sizeof(float);
  }

  // Calls of kernels that take about so long, by those of the piece before.
  size_t calls_within(double budget_ms) const {
    constexpr size_t kFirst = 16;  // nothing is known yet
    if (std::isinf(budget_ms)) return SIZE_MAX;
    if (budget_ms <= 0) return 1;
    if (call_ms_ <= 0) return kFirst;
    return static_cast<size_t>(std::clamp(budget_ms / call_ms_, 1.0, 1e6));
  }

  Result<void> write(const EncoderBatch& rows) {
    std::array<uint32_t, kernels::kStepSingleCount + 1> header{};
    header[kernels::kStepTokenCount] = rows.n_rows;
    header[kernels::kStepOutputCount] = rows.n_outputs;
    header[kernels::kStepSplitCount] = 1;
    PUNA_TRY(device_.write_buffer(program_->buffer(program_->plan().step), 0,
                                  std::as_bytes(std::span(header))));
    std::span<const float> inputs = rows.inputs;
    for (const plan::GpuPlan::Activation& input : program_->plan().inputs) {
      const size_t n = size_t{rows.n_rows} * input.columns;
      PUNA_CHECK(n <= inputs.size());
      PUNA_TRY(device_.write_buffer(program_->buffer(input.slice), input.slice.offset,
                                    std::as_bytes(inputs.first(n))));
      inputs = inputs.subspan(n);
    }
    PUNA_CHECK(inputs.empty());
    return {};
  }

  gpu::Device& device_;
  std::unique_ptr<plan::GpuProgram> program_;
  uint32_t n_out_;
  gpu::CommandList list_;
  gpu::BufferId readback_;
  size_t next_ = 0;     // call of the batch under way, of body and head
  double call_ms_ = 0;  // of the last piece
};

}  // namespace

Task<Result<std::unique_ptr<Encoder>>> load_gpu_encoder(const formats::ModelFile& file,
                                                        EncoderPlan encoder,
                                                        const EncoderOptions& options,
                                                        gpu::Device& device, LoadHooks hooks) {
  plan::GpuPlanOptions how;
  how.numerics = options.numerics;
  how.classes = {};
  how.prompt_classes = {std::max(encoder.max_rows, kLeastRows)};
  how.profile = options.profile;
  how.head_rows = std::clamp(encoder.max_outputs, kLeastRows, how.prompt_classes.back());
  plan::CacheConfig cache;
  cache.pages_per_sequence = 1;  // buffers have some bytes; nothing reads the table of pages
  PUNA_CO_TRY(plan::GpuPlan plan, plan::plan_gpu(encoder.graph, cache, device.info(), how));
  PUNA_CO_TRY(auto program, plan::GpuProgram::create(device, std::move(plan)));
  PUNA_CO_TRY(co_await load_weights(file, encoder.graph, *program, device, hooks));
  auto out = std::make_unique<GpuEncoder>(device, std::move(program), encoder.graph.n_out());
  PUNA_CO_TRY(out->create_readback());
  co_return out;
}

}  // namespace puna::engine
