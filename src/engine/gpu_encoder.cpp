// An encoder on a gpu::Device: a GpuProgram of one class, whose inputs the host writes for each
// tile.
#include <algorithm>
#include <array>

#include "base/check.h"
#include "engine/encoder.h"
#include "engine/gpu_loader.h"
#include "engine/gpu_pending_read.h"
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
  Task<Result<void>> run_rows(const models::EncoderRows& rows, std::span<float> out) override {
    PUNA_CO_TRY(write(rows));
    const kernels::StepShape shape{.n_tokens = rows.n_rows, .n_outputs = rows.n_outputs};
    list_.clear();
    program_->record(Part::kBody, shape, list_);
    program_->record(Part::kHead, shape, list_);
    const kernels::Slice& result = program_->plan().logits;
    list_.copy(program_->buffer(result), result.offset, readback_, 0, out.size_bytes());
    PUNA_CO_TRY(device_.submit(list_));
    PendingRead read;
    read.start(device_, readback_, std::as_writable_bytes(out));
    co_return co_await read.done();
  }

 private:
  uint64_t readback_bytes() const {
    return uint64_t{program_->plan().head_rows()} * n_out_ * sizeof(float);
  }

  Result<void> write(const models::EncoderRows& rows) {
    std::array<uint32_t, kernels::kStepSingleCount + 1> header{};
    header[kernels::kStepTokenCount] = rows.n_rows;
    header[kernels::kStepOutputCount] = rows.n_outputs;
    header[kernels::kStepSplitCount] = 1;
    PUNA_TRY(device_.write_buffer(program_->buffer(program_->plan().step), 0,
                                  std::as_bytes(std::span(header))));
    std::span<const float> inputs = rows.inputs;
    for (const plan::GpuPlan::Input& input : program_->plan().inputs) {
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
};

}  // namespace

Task<Result<std::unique_ptr<Encoder>>> load_gpu_encoder(const formats::ModelFile& file,
                                                        EncoderPlan encoder,
                                                        const EncoderOptions& options,
                                                        gpu::Device& device, LoadHooks hooks) {
  plan::GpuPlanOptions how;
  how.numerics = options.numerics;
  how.classes = {std::max(encoder.max_rows, kLeastRows)};
  how.profile = options.profile;
  how.head_rows = std::clamp(encoder.max_outputs, kLeastRows, how.classes.back());
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
