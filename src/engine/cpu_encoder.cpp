// An encoder on the CPU: a CpuProgram whose steps are tiles.
#include <numeric>

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
  Task<Result<void>> run_rows(const models::EncoderRows& rows, std::span<float> out) override {
    plan::Step step;
    step.tokens.assign(rows.n_rows, 0);
    step.output_rows.resize(rows.n_outputs);
    std::iota(step.output_rows.begin(), step.output_rows.end(), 0u);
    step.handed = rows.inputs;
    program_->run(step, {}, out);
    co_return {};
  }

 private:
  std::shared_ptr<base::ThreadPool> pool_;  // outlives the program
  std::unique_ptr<plan::CpuProgram> program_;
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
