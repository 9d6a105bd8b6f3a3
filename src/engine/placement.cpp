#include "engine/placement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <utility>

#include "engine/split_executor.h"
#include "plan/cpu_program.h"
#include "plan/fuse.h"
#include "plan/gpu_plan.h"
#include "plan/host_experts.h"
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

// What the CPU has of a model: the first layers, and of those behind them the experts.
struct Cut {
  uint32_t layer = 0;        // the first on the GPU; as many as there are: all is on the CPU
  uint32_t experts_end = 0;  // layers below leave their experts to the CPU
};

// The graphs of a cut, fused.
struct Parts {
  std::optional<plan::Graph> first;    // on the CPU
  std::optional<plan::Graph> rest;     // on the GPU
  std::optional<plan::Graph> experts;  // of the rest, on the CPU
  uint32_t n_experts = 0;              // layers of these
  uint32_t n_handed = 0;               // floats of a token, from the first to the rest
};

Parts parts_of(const plan::Graph& graph, Cut cut) {
  Parts out;
  if (cut.layer == plan::n_layers(graph)) {
    out.first = plan::fuse(graph);
    return out;
  }
  plan::Graph rest = graph;
  if (cut.layer > 0) {
    plan::Split split = plan::split(graph, cut.layer);
    out.n_handed = n_handed(split.first);
    out.first = plan::fuse(std::move(split.first));
    rest = std::move(split.rest);
  }
  plan::HostExperts apart = plan::host_experts(std::move(rest), cut.experts_end);
  out.rest = plan::fuse(std::move(apart.device));
  if (apart.host.ops.empty()) return out;
  out.n_experts = static_cast<uint32_t>(plan::expert_layers(apart.host).size());
  out.experts = std::move(apart.host);
  return out;
}

// What may be done, in the order in which it is tried: each leaves less to the GPU than the one
// before. Experts go before layers do.
Result<std::vector<Cut>> possible_cuts(const plan::Graph& graph, const PlaceOptions& options,
                                       bool gpu) {
  Cut first;
  if (options.cpu_experts) {
    PUNA_TRY(first.experts_end, end_of_cpu_experts(graph, *options.cpu_experts));
  }
  if (!gpu) return std::vector<Cut>{{plan::n_layers(graph), 0}};
  if (options.gpu_layers) {
    PUNA_TRY(first.layer, first_gpu_layer(graph, *options.gpu_layers));
  }
  std::vector<Cut> out = {first};
  if (!options.fit.layers) return out;
  if (!options.cpu_experts) {
    for (const uint32_t layer : plan::expert_layers(graph)) {
      if (layer >= first.layer) out.push_back({first.layer, layer + 1});
    }
  }
  if (!options.gpu_layers) {
    for (const uint32_t layer : plan::cuts(graph)) out.push_back({layer, out.back().experts_end});
  }
  return out;
}

// "--gpu-layers 3, --cpu-experts 2"; empty where nothing was asked for.
std::string asked(const PlaceOptions& options) {
  std::vector<std::string> out;
  if (options.gpu_layers) out.push_back(fmt::format("--gpu-layers {}", *options.gpu_layers));
  const uint32_t experts = options.cpu_experts.value_or(0);
  if (experts == kAllLayers)
    out.emplace_back("--cpu-experts all");
  else if (experts > 0)
    out.push_back(fmt::format("--cpu-experts {}", experts));
  return fmt::format("{}", fmt::join(out, ", "));
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
    PUNA_CO_TRY(const std::vector<Cut> cuts, possible_cuts(graph_, options_, device_ != nullptr));
    if (device_) out_.placement.why = asked(options_);
    const bool searches = device_ && (!options_.gpu_layers || cuts.size() > 1);
    Result<void> done = searches ? check_spare(cuts.front()) : Result<void>();
    if (done) done = co_await load(cuts.front());
    if (!done && cuts.size() > 1 && done.error().code == ErrorCode::kOutOfMemory)
      done = co_await what_fits(std::span(cuts).subspan(1), std::move(done.error()));
    PUNA_CO_TRY(std::move(done));
    co_return std::move(out_);
  }

 private:
  Task<Result<void>> load(Cut cut) {
    Parts parts = parts_of(graph_, cut);
    const bool on_cpu = parts.first || parts.experts;
    if (!on_cpu && options_.cpu.lock_memory) {
      co_return base::fail(
          ErrorCode::kInvalidArgument,
          fmt::format("--mlock locks weights in the memory of the CPU, but the model goes to {}; "
                      "--device cpu keeps it here.",
                      device_->info().name));
    }
    if (on_cpu) make_pool();
    std::unique_ptr<Executor> first, rest;
    // The GPU first: it is what may refuse.
    if (parts.rest) {
      std::optional<HostPart> host;
      if (parts.experts) host = HostPart{*std::move(parts.experts), options_.cpu, out_.pool.get()};
      PUNA_CO_TRY(rest, co_await load_gpu(file_, *std::move(parts.rest), cache_, options_.gpu,
                                          *device_, hooks_, std::move(host)));
    }
    if (parts.first) {
      PUNA_CO_TRY(first, co_await load_cpu(file_, *std::move(parts.first), cache_, options_.cpu,
                                           *out_.pool, hooks_));
    }
    Placement& placement = out_.placement;
    const uint32_t n = placement.n_layers;
    if (first) placement.stages.push_back({false, 0, cut.layer, first->memory()});
    if (rest) {
      placement.stages.push_back({true, cut.layer, n - cut.layer, rest->memory()});
      placement.experts = rest->host_memory();
      placement.cpu_experts = parts.n_experts;
    }
    if (first && rest) {
      out_.executor = join(std::move(first), std::move(rest), parts.n_handed);
    } else {
      out_.executor = first ? std::move(first) : std::move(rest);
    }
    co_return {};
  }

  // The first of cuts with which the device gives all buffers. Fails with `refused` when it has no
  // room for even the last one.
  Task<Result<void>> what_fits(std::span<const Cut> cuts, base::Error refused) {
    const auto fits =
        std::ranges::partition_point(cuts, [&](const Cut& cut) { return !buffers_fit(cut); });
    for (auto cut = fits; cut != cuts.end(); ++cut) {
      auto done = co_await load(*cut);
      if (!done && done.error().code == ErrorCode::kOutOfMemory) continue;
      PUNA_CO_TRY(std::move(done));
      std::string& why = out_.placement.why;
      why += fmt::format("{}no more fits: {}", why.empty() ? "" : ", ", refused.text());
      co_return {};
    }
    co_return std::unexpected(std::move(refused));
  }

  // What is to be left to others is not known to be there without asking.
  Result<void> check_spare(Cut cut) {
    if (options_.fit.spare_bytes == 0 || buffers_fit(cut)) return {};
    return base::fail(ErrorCode::kOutOfMemory,
                      fmt::format("The memory of {} has no room for the whole model and {} MiB "
                                  "beside it.",
                                  device_->info().name, options_.fit.spare_bytes >> 20));
  }

  // Whether the device has memory for the plan of its part, and what is to be left, found by asking
  // for it.
  bool buffers_fit(Cut cut) {
    const plan::Graph graph = *parts_of(graph_, cut).rest;
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

// The placement of a cut.
Result<Placement> planned(Cut cut, const plan::Graph& graph, const plan::CacheConfig& cache,
                          const PlaceOptions& options, const gpu::DeviceInfo* device) {
  Placement out;
  out.n_layers = plan::n_layers(graph);
  const Parts parts = parts_of(graph, cut);
  if (parts.first)
    out.stages.push_back({false, 0, cut.layer, on_cpu(*parts.first, cache, options)});
  if (!parts.rest) return out;
  PUNA_TRY(const plan::MemoryUse gpu, on_gpu(*parts.rest, cache, options, *device));
  out.stages.push_back({true, cut.layer, out.n_layers - cut.layer, gpu});
  out.cpu_experts = parts.n_experts;
  if (parts.experts) out.experts = on_cpu(*parts.experts, cache, options);
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
  if (!gpu) sum = experts;
  for (const Stage& stage : stages) {
    if (stage.on_gpu == gpu) sum += stage.memory;
  }
  return sum;
}

Result<Placement> forecast(const plan::Graph& graph, const plan::CacheConfig& cache,
                           const PlaceOptions& options, const gpu::DeviceInfo* device,
                           std::optional<uint64_t> gpu_bytes) {
  PUNA_TRY(const std::vector<Cut> cuts, possible_cuts(graph, options, device != nullptr));
  const std::string why = device ? asked(options) : "";
  if (!gpu_bytes || !device || (options.gpu_layers && cuts.size() == 1)) {
    PUNA_TRY(Placement out, planned(cuts.front(), graph, cache, options, device));
    out.why = why;
    return out;
  }
  // The later, the less is taken: the first of them from which on all fit.
  std::optional<Placement> out;
  std::string refused;
  size_t first = 0, end = cuts.size();
  while (first < end) {
    const size_t middle = (first + end) / 2;
    PUNA_TRY(Placement tried, planned(cuts[middle], graph, cache, options, device));
    const uint64_t wanted = tried.memory_on(true).total();
    if (wanted <= *gpu_bytes) {
      out = std::move(tried);
      end = middle;
    } else {
      refused =
          fmt::format("no more fits: {} MiB are wanted of {}", wanted >> 20, *gpu_bytes >> 20);
      first = middle + 1;
    }
  }
  if (out) {
    out->why = fmt::format("{}{}{}", why, why.empty() || refused.empty() ? "" : ", ", refused);
    return *std::move(out);
  }
  return base::fail(ErrorCode::kOutOfMemory,
                    fmt::format("Not even the last layer fits {} MiB of the GPU's memory; {}.",
                                *gpu_bytes >> 20, refused));
}

std::string describe(const Placement& placement, const std::string& gpu) {
  if (!placement.on_both()) return "";
  const auto mib = [](uint64_t bytes) { return (bytes + (1 << 20) - 1) >> 20; };
  const plan::MemoryUse on_gpu = placement.memory_on(true);
  std::string out;
  if (placement.stages.size() > 1) {
    const plan::MemoryUse& on_cpu = placement.stages.front().memory;
    out = fmt::format(
        "{} of {} layers and the output layer are on {} ({} MiB of weights, {} MiB of cache), the "
        "embedding and the first {} on the CPU ({} MiB, {} MiB)",
        placement.layers_on(true), placement.n_layers, gpu, mib(on_gpu.weights), mib(on_gpu.kv),
        placement.layers_on(false), mib(on_cpu.weights), mib(on_cpu.kv));
  } else {
    out = fmt::format("The model is on {} ({} MiB of weights, {} MiB of cache)", gpu,
                      mib(on_gpu.weights), mib(on_gpu.kv));
  }
  if (placement.cpu_experts > 0) {
    out += fmt::format("; the experts of {} layers there are computed on the CPU ({} MiB)",
                       placement.cpu_experts, mib(placement.experts.weights));
  }
  return fmt::format("{}: {}", out, placement.why);
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

Result<uint32_t> end_of_cpu_experts(const plan::Graph& graph, uint32_t cpu_experts) {
  if (cpu_experts == 0) return 0;
  const std::vector<uint32_t> layers = plan::expert_layers(graph);
  if (layers.empty()) {
    return base::fail(ErrorCode::kInvalidArgument,
                      "--cpu-experts asks for experts on the CPU, but the model has none.");
  }
  if (cpu_experts == kAllLayers) return layers.back() + 1;
  if (cpu_experts <= layers.size()) return layers[cpu_experts - 1] + 1;
  return base::fail(ErrorCode::kInvalidArgument,
                    fmt::format("--cpu-experts {} is more than the {} layers of the model that "
                                "have experts; all takes these, auto as few as memory wants.",
                                cpu_experts, layers.size()));
}

Task<Result<Placed>> place(const formats::ModelFile& file, plan::Graph graph,
                           plan::CacheConfig cache, PlaceOptions options, gpu::Device* device,
                           LoadHooks hooks) {
  Placer placer(file, std::move(graph), cache, options, device, std::move(hooks));
  co_return co_await placer.run();
}

}  // namespace puna::engine
