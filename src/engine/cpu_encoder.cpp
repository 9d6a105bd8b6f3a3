// An encoder on the CPU: a CpuProgram whose steps are batches of tiles.
#include <numeric>

#include "base/clock.h"
#include "engine/cpu_loader.h"
#include "engine/encoder.h"
#include "plan/cpu_program.h"

namespace puna::engine {

using base::Result;
using base::Task;

namespace {

class CpuEncoder final : public Encoder {
 public:
  CpuEncoder(std::unique_ptr<plan::CpuProgram> program, std::shared_ptr<base::ThreadPool> pool)
      : pool_(std::move(pool)), program_(std::move(program)) {}

  plan::MemoryUse memory() const override { return program_->memory(); }
  void poll() override {}

 protected:
  Task<Result<bool>> advance_batch(const EncoderBatch& batch, bool fresh, std::span<float> out,
                                   double budget_ms) override {
    if (fresh) {
      step_.tokens.assign(batch.n_rows, 0);
      step_.output_rows.resize(batch.n_outputs);
      std::iota(step_.output_rows.begin(), step_.output_rows.end(), 0u);
      step_.handed = batch.inputs;
      op_ = 0;
    }
    const base::Timer timer;
    op_ = program_->run_part(step_, op_, out, [&] { return timer.ms() >= budget_ms; });
    co_return op_ == program_->n_ops();
  }

 private:
  std::shared_ptr<base::ThreadPool> pool_;  // outlives the program
  std::unique_ptr<plan::CpuProgram> program_;
  plan::Step step_;  // of the batch under way
  size_t op_ = 0;    // that it goes on with
};

}  // namespace

Task<Result<std::unique_ptr<Encoder>>> load_cpu_encoder(const formats::ModelFile& file,
                                                        EncoderPlan plan,
                                                        const EncoderOptions& options,
                                                        LoadHooks hooks) {
  std::shared_ptr<base::ThreadPool> pool = options.threads;
  if (!pool) pool = std::make_shared<base::ThreadPool>(options.n_threads);
  PUNA_CO_TRY(
      plan::CpuWeights weights,
      co_await load_cpu_weights(file, plan.graph, options.numerics, /*lock=*/false, *pool, hooks));
  plan::CacheConfig cache;
  cache.step_rows = plan.max_rows;
  cache.head_rows = plan.max_outputs;
  PUNA_CO_TRY(auto program,
              plan::CpuProgram::create(std::move(plan.graph), std::move(weights), cache, *pool));
  co_return std::make_unique<CpuEncoder>(std::move(program), std::move(pool));
}

}  // namespace puna::engine
