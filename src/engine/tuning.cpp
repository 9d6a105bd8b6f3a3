#include "engine/tuning.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "plan/fuse.h"
#include "plan/tunable.h"

namespace puna::engine {
namespace {

using base::Result;
using kernels::Subject;

// KV tokens that attention is tuned for.
constexpr uint32_t kTuneDepth = 2048;

// One kernel to tune: how to set it up, and its share of a step's work.
struct TuningTask {
  std::function<Result<std::unique_ptr<Subject>>()> make;
  std::string what;
  double weight = 0;
};

std::vector<TuningTask> tasks_of(const plan::TunableKernels& kernels, gpu::Device& device) {
  std::vector<TuningTask> tasks;
  for (const plan::TunableProduct& p : kernels.products) {
    const double bytes =
        static_cast<double>(quant::row_bytes(p.args.weight.type, p.args.weight.cols)) *
        p.args.weight.rows;
    tasks.push_back(
        {[&] { return kernels::product_subject(device, p.args); }, p.args.label, bytes * p.n_uses});
  }
  for (const plan::TunableAttention& a : kernels.attention) {
    const double bytes =
        4.0 * kTuneDepth * a.args.kv.n_kv_heads * a.args.kv.head_dim;  // K and V of f16
    tasks.push_back({[&] { return kernels::attention_subject(device, a.args, kTuneDepth); },
                     a.args.label, bytes * a.n_uses});
  }
  std::sort(tasks.begin(), tasks.end(), [](const TuningTask& a, const TuningTask& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.what < b.what;
  });
  return tasks;
}

Result<plan::TunableKernels> kernels_of(const formats::ModelFile& file,
                                        const gpu::DeviceInfo& device, const EngineOptions& engine,
                                        const kernels::Profile& profile) {
  PUNA_TRY(const models::Config config, models::read_config(file));
  PUNA_TRY(plan::Graph graph, models::build(file, config));
  graph = plan::fuse(std::move(graph));
  plan::CacheConfig cache;
  cache.type = engine.kv_type;
  cache.n_pages = cache.pages_per_sequence = kTuneDepth / kernels::kPageTokens;
  plan::GpuPlanOptions options;
  options.numerics = engine.numerics;
  options.profile = &profile;
  PUNA_TRY(const plan::GpuPlan plan, plan::plan_gpu(graph, cache, device, options));
  return plan::tunable_kernels(graph, cache, plan, options);
}

}  // namespace

Result<TuneReport> tune(const formats::ModelFile& file, gpu::Device& device,
                        const EngineOptions& engine, const TuneOptions& options) {
  const base::Timer started;
  TuneReport report;
  PUNA_TRY(const kernels::ActivationTimes activations, kernels::measure_activations(device));
  report.profile.decode = activations.decode;
  report.profile.prefill = activations.prefill;
  PUNA_TRY_CONTEXT(plan::TunableKernels kernels,
                   kernels_of(file, device.info(), engine, report.profile),
                   fmt::format("While planning {}", file.name));
  // The kinds of activations count, knobs of other kernels do not.
  const kernels::Profile activations_only = report.profile;
  for (plan::TunableProduct& product : kernels.products) product.args.profile = &activations_only;
  const std::vector<TuningTask> tasks = tasks_of(kernels, device);
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (options.cancel && options.cancel->load())
      return base::fail(base::ErrorCode::kCancelled, "Tuning was interrupted.");
    if (options.on_progress) options.on_progress(tasks[i].what, i, tasks.size());
    const double left = std::max(0.0, options.budget_ms - started.ms());
    // What earlier kernels leave over, the later ones share.
    const kernels::SearchLimits limits{left / static_cast<double>(tasks.size() - i),
                                       options.cancel};
    PUNA_TRY(const std::unique_ptr<Subject> subject, tasks[i].make());
    PUNA_TRY(kernels::SearchResult found, kernels::search(*subject, limits));
    if (found.best != found.portable)
      report.profile.kernels[found.key] = {found.best, found.portable_us, found.best_us};
    report.kernels.push_back(std::move(found));
  }
  if (options.on_progress) options.on_progress("", tasks.size(), tasks.size());
  return report;
}

}  // namespace puna::engine
