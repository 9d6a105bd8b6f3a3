#include "engine/placement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "engine/split_executor.h"
#include "plan/cpu_program.h"
#include "plan/fuse.h"
#include "plan/gpu_plan.h"
#include "plan/split.h"

namespace puna::engine {
namespace {

using base::ErrorCode;
using base::Result;
using base::Task;

// Memory that is only asked for, in pieces that every device gives (WebGPU's maxBufferSize).
constexpr uint64_t kSparePiece = uint64_t{256} << 20;

uint32_t n_handed(const plan::Graph& graph) {
  uint32_t n = 0;
  for (plan::ValueId v : graph.hands_over) n += graph.values[v].columns;
  return n;
}

class Placer {
 public:
  Placer(const formats::ModelFile& file, plan::Graph graph, plan::CacheConfig cache,
         PlaceOptions options, gpu::Device* device, LoadHooks hooks)
      : file_(file),
        graph_(std::move(graph)),
        cache_(cache),
        options_(std::move(options)),
        device_(device),
        hooks_(std::move(hooks)) {
    out_.placement.n_layers = plan::n_layers(graph_);
  }

  Task<Result<Placed>> run() {
    const uint32_t n = out_.placement.n_layers;
    if (!device_) {
      PUNA_CO_TRY(co_await all_on_cpu());
      co_return std::move(out_);
    }
    if (options_.gpu_layers) {
      PUNA_CO_TRY(const uint32_t layer, first_gpu_layer(graph_, *options_.gpu_layers));
      out_.placement.why = fmt::format("--gpu-layers {}", *options_.gpu_layers);
      if (layer == n) PUNA_CO_TRY(co_await all_on_cpu());
      if (layer == 0) PUNA_CO_TRY(co_await all_on_gpu());
      if (layer > 0 && layer < n) PUNA_CO_TRY(co_await on_both(layer));
      co_return std::move(out_);
    }
    Result<void> whole = check_spare();
    if (whole) whole = co_await all_on_gpu();
    if (!whole && options_.fit.layers && whole.error().code == ErrorCode::kOutOfMemory) {
      PUNA_CO_TRY(co_await what_fits(std::move(whole.error())));
      co_return std::move(out_);
    }
    PUNA_CO_TRY(std::move(whole));
    co_return std::move(out_);
  }

 private:
  Task<Result<void>> all_on_cpu() {
    make_pool();
    PUNA_CO_TRY(out_.executor, co_await load_cpu(file_, plan::fuse(graph_), cache_, options_.cpu,
                                                 *out_.pool, hooks_));
    out_.placement.stages = {{false, 0, out_.placement.n_layers, out_.executor->memory()}};
    co_return {};
  }

  Task<Result<void>> all_on_gpu() {
    if (options_.cpu.lock_memory) {
      co_return base::fail(
          ErrorCode::kInvalidArgument,
          fmt::format("--mlock locks weights in the memory of the CPU, but the model goes to {}; "
                      "--device cpu keeps it here.",
                      device_->info().name));
    }
    PUNA_CO_TRY(out_.executor, co_await load_gpu(file_, plan::fuse(graph_), cache_, options_.gpu,
                                                 *device_, hooks_));
    out_.placement.stages = {{true, 0, out_.placement.n_layers, out_.executor->memory()}};
    co_return {};
  }

  Task<Result<void>> on_both(uint32_t layer) {
    make_pool();
    plan::Split parts = plan::split(graph_, layer);
    const uint32_t handed = n_handed(parts.first);
    // The GPU first: it is what may refuse.
    PUNA_CO_TRY(auto rest, co_await load_gpu(file_, plan::fuse(std::move(parts.rest)), cache_,
                                             options_.gpu, *device_, hooks_));
    PUNA_CO_TRY(auto first, co_await load_cpu(file_, plan::fuse(std::move(parts.first)), cache_,
                                              options_.cpu, *out_.pool, hooks_));
    out_.placement.stages = {{false, 0, layer, first->memory()},
                             {true, layer, out_.placement.n_layers - layer, rest->memory()}};
    out_.executor = join(std::move(first), std::move(rest), handed);
    co_return {};
  }

  // The most layers whose buffers the device gives. Fails with `refused` when it has no room for
  // even the last ones.
  Task<Result<void>> what_fits(base::Error refused) {
    const std::vector<uint32_t> layers = plan::cuts(graph_);
    const auto fits = std::ranges::partition_point(
        layers, [&](uint32_t layer) { return !buffers_fit(plan::split(graph_, layer).rest); });
    for (auto layer = fits; layer != layers.end(); ++layer) {
      auto done = co_await on_both(*layer);
      if (!done && done.error().code == ErrorCode::kOutOfMemory) continue;
      PUNA_CO_TRY(std::move(done));
      out_.placement.why = fmt::format("no more fits: {}", refused.text());
      co_return {};
    }
    co_return std::unexpected(std::move(refused));
  }

  // What is to be left to others is not known to be there without asking.
  Result<void> check_spare() {
    if (options_.fit.spare_bytes == 0 || buffers_fit(graph_)) return {};
    return base::fail(ErrorCode::kOutOfMemory,
                      fmt::format("The memory of {} has no room for the whole model and {} MiB "
                                  "beside it.",
                                  device_->info().name, options_.fit.spare_bytes >> 20));
  }

  // Whether the device has memory for a graph's plan, and what is to be left, found by asking for
  // it.
  bool buffers_fit(plan::Graph graph) {
    graph = plan::fuse(std::move(graph));
    const auto planned = plan_for_gpu(graph, cache_, options_.gpu, device_->info());
    if (!planned) return false;
    std::vector<gpu::BufferId> buffers;
    const auto ask = [&](uint64_t bytes) {
      const auto buffer = device_->create_buffer(bytes, gpu::BufferUse::kStorage, "probe");
      if (buffer) buffers.push_back(*buffer);
      return buffer.has_value();
    };
    bool fits = ask(gpu_staging_bytes(*planned, graph.n_out()));
    for (const plan::GpuPlan::Buffer& b : planned->buffers) fits = fits && ask(b.bytes);
    for (uint64_t left = options_.fit.spare_bytes; fits && left > 0;) {
      const uint64_t bytes = std::min(left, kSparePiece);
      fits = ask((bytes + 3) / 4 * 4);
      left -= bytes;
    }
    for (gpu::BufferId buffer : buffers) device_->destroy_buffer(buffer);
    return fits;
  }

  void make_pool() {
    if (!out_.pool) out_.pool = options_.threads;
    if (!out_.pool) out_.pool = std::make_shared<base::ThreadPool>(options_.n_threads);
  }

  const formats::ModelFile& file_;
  plan::Graph graph_;
  plan::CacheConfig cache_;
  PlaceOptions options_;
  gpu::Device* device_;
  LoadHooks hooks_;
  Placed out_;
};

// What load_gpu and load_cpu would take.
Result<plan::MemoryUse> on_gpu(const plan::Graph& graph, const plan::CacheConfig& cache,
                               const PlaceOptions& options, const gpu::DeviceInfo& device) {
  PUNA_TRY(const plan::GpuPlan plan, plan_for_gpu(graph, cache, options.gpu, device));
  plan::MemoryUse use = plan.memory;
  use.staging = gpu_staging_bytes(plan, graph.n_out());
  return use;
}
plan::MemoryUse on_cpu(const plan::Graph& graph, const plan::CacheConfig& cache,
                       const PlaceOptions& options) {
  const int n_threads = options.threads ? options.threads->n_threads()
                                        : base::ThreadPool::n_threads_of(options.n_threads);
  return plan::CpuProgram::memory_of(graph, cache, n_threads);
}

// The stages with the layers from `layer` on on the GPU.
Result<std::vector<Stage>> stages_from(uint32_t layer, const plan::Graph& graph,
                                       const plan::CacheConfig& cache, const PlaceOptions& options,
                                       const gpu::DeviceInfo& device) {
  const uint32_t n = plan::n_layers(graph);
  if (layer == n) return {{{false, 0, n, on_cpu(plan::fuse(graph), cache, options)}}};
  plan::Graph rest = graph;
  std::vector<Stage> out;
  if (layer > 0) {
    plan::Split parts = plan::split(graph, layer);
    out.push_back({false, 0, layer, on_cpu(plan::fuse(std::move(parts.first)), cache, options)});
    rest = std::move(parts.rest);
  }
  PUNA_TRY(const plan::MemoryUse gpu, on_gpu(plan::fuse(std::move(rest)), cache, options, device));
  out.push_back({true, layer, n - layer, gpu});
  return out;
}

}  // namespace

uint32_t Placement::layers_on(bool gpu) const {
  uint32_t n = 0;
  for (const Stage& stage : stages) n += stage.on_gpu == gpu ? stage.n_layers : 0;
  return n;
}

plan::MemoryUse Placement::memory_on(bool gpu) const {
  plan::MemoryUse sum;
  for (const Stage& stage : stages) {
    if (stage.on_gpu != gpu) continue;
    sum.weights += stage.memory.weights;
    sum.kv += stage.memory.kv;
    sum.arena += stage.memory.arena;
    sum.staging += stage.memory.staging;
  }
  return sum;
}

Result<Placement> forecast(const plan::Graph& graph, const plan::CacheConfig& cache,
                           const PlaceOptions& options, const gpu::DeviceInfo* device,
                           std::optional<uint64_t> gpu_bytes) {
  Placement out;
  out.n_layers = plan::n_layers(graph);
  if (!device) {
    out.stages = {{false, 0, out.n_layers, on_cpu(plan::fuse(graph), cache, options)}};
    return out;
  }
  if (options.gpu_layers || !gpu_bytes) {
    uint32_t layer = 0;
    if (options.gpu_layers) {
      PUNA_TRY(layer, first_gpu_layer(graph, *options.gpu_layers));
      out.why = fmt::format("--gpu-layers {}", *options.gpu_layers);
    }
    PUNA_TRY(out.stages, stages_from(layer, graph, cache, options, *device));
    return out;
  }
  std::vector<uint32_t> layers = plan::cuts(graph);
  layers.insert(layers.begin(), 0);
  // The fewer layers, the less they take: the first of `layers` from which on all fit.
  size_t first = 0, end = layers.size();
  while (first < end) {
    const size_t middle = (first + end) / 2;
    PUNA_TRY(std::vector<Stage> stages,
             stages_from(layers[middle], graph, cache, options, *device));
    Placement tried{.n_layers = out.n_layers, .stages = std::move(stages), .why = {}};
    const uint64_t wanted = tried.memory_on(true).total();
    if (wanted <= *gpu_bytes) {
      out.stages = std::move(tried.stages);
      end = middle;
    } else {
      out.why =
          fmt::format("no more fits: {} MiB are wanted of {}", wanted >> 20, *gpu_bytes >> 20);
      first = middle + 1;
    }
  }
  if (first < layers.size()) return out;
  return base::fail(ErrorCode::kOutOfMemory,
                    fmt::format("Not even the last layer fits {} MiB of the GPU's memory; {}.",
                                *gpu_bytes >> 20, out.why));
}

std::string describe(const Placement& placement, const std::string& gpu) {
  if (placement.stages.size() < 2) return "";
  const plan::MemoryUse on_gpu = placement.memory_on(true), on_cpu = placement.memory_on(false);
  const auto mib = [](uint64_t bytes) { return (bytes + (1 << 20) - 1) >> 20; };
  return fmt::format(
      "{} of {} layers and the output layer are on {} ({} MiB of weights, {} MiB of cache), the "
      "embedding and the first {} on the CPU ({} MiB, {} MiB): {}",
      placement.layers_on(true), placement.n_layers, gpu, mib(on_gpu.weights), mib(on_gpu.kv),
      placement.layers_on(false), mib(on_cpu.weights), mib(on_cpu.kv), placement.why);
}

Result<uint32_t> first_gpu_layer(const plan::Graph& graph, uint32_t gpu_layers) {
  const uint32_t n = plan::n_layers(graph);
  if (gpu_layers > n) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("--gpu-layers {} is more than the model's {} layers; auto puts "
                                  "as many on the GPU as fit.",
                                  gpu_layers, n));
  }
  const uint32_t layer = n - gpu_layers;
  const std::vector<uint32_t> possible = plan::cuts(graph);
  if (layer == 0 || layer == n || std::ranges::binary_search(possible, layer)) return layer;
  std::vector<uint32_t> counts = {0};
  for (size_t i = possible.size(); i-- > 0;) counts.push_back(n - possible[i]);
  counts.push_back(n);
  return base::fail(
      ErrorCode::kInvalidArgument,
      fmt::format("--gpu-layers {} would part layers of this model that share keys; possible are "
                  "{}.",
                  gpu_layers, fmt::join(counts, ", ")));
}

Task<Result<Placed>> place(const formats::ModelFile& file, plan::Graph graph,
                           plan::CacheConfig cache, PlaceOptions options, gpu::Device* device,
                           LoadHooks hooks) {
  Placer placer(file, std::move(graph), cache, options, device, std::move(hooks));
  co_return co_await placer.run();
}

}  // namespace puna::engine
