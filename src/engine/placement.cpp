#include "engine/placement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

#include "base/log.h"
#include "engine/split_executor.h"
#include "kernels/link/link.h"
#include "kernels/sample/sample.h"
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

// What a GPU has of a model: the layers from `first_layer` on, up to those of the next one.
struct OnGpu {
  uint32_t device = 0;  // 0: the first GPU
  uint32_t first_layer = 0;
};

// Who has what: the CPU the first layers, and of those behind them the experts.
struct Cut {
  uint32_t layer = 0;        // the first on a GPU; as many as there are: all is on the CPU
  uint32_t experts_end = 0;  // layers below leave their experts to the CPU
  std::vector<OnGpu>
      gpus{};  // in the order of layers; empty: the first GPU has all from `layer` on
};

// The graphs of a cut, fused.
struct Parts {
  struct Gpu {
    OnGpu on{};
    uint32_t n_layers = 0;
    plan::Graph graph{};
    std::optional<plan::Graph> experts{};  // on the CPU
    uint32_t n_experts = 0;                // layers of these
    uint32_t n_handed = 0;                 // floats of a token, to the next part
  };
  std::optional<plan::Graph> first;  // on the CPU
  uint32_t n_handed = 0;             // floats of a token, to the first GPU part
  std::vector<Gpu> gpus;             // in the order of layers
};

// Cuts `graph` in front of a layer: what is before it comes back, the rest stays.
plan::Graph cut_off(plan::Graph& graph, uint32_t layer) {
  plan::Split split = plan::split(graph, layer);
  graph = std::move(split.rest);
  return std::move(split.first);
}

Parts parts_of(const plan::Graph& graph, const Cut& cut) {
  const uint32_t n = plan::n_layers(graph);
  Parts out;
  if (cut.layer == n) {
    out.first = plan::fuse(graph);
    return out;
  }
  plan::Graph rest = graph;
  if (cut.layer > 0) {
    plan::Graph first = cut_off(rest, cut.layer);
    out.n_handed = n_handed(first);
    out.first = plan::fuse(std::move(first));
  }
  const std::vector<OnGpu> all = cut.gpus.empty() ? std::vector<OnGpu>{{0, cut.layer}} : cut.gpus;
  std::vector<plan::Graph> graphs;
  for (const OnGpu& next : std::span(all).subspan(1)) {
    graphs.push_back(cut_off(rest, next.first_layer));
  }
  graphs.push_back(std::move(rest));
  for (size_t i = 0; i < all.size(); ++i) {
    Parts::Gpu& part = out.gpus.emplace_back();
    part.on = all[i];
    part.n_layers = (i + 1 < all.size() ? all[i + 1].first_layer : n) - all[i].first_layer;
    part.n_handed = n_handed(graphs[i]);
    plan::HostExperts apart = plan::host_experts(std::move(graphs[i]), cut.experts_end);
    part.graph = plan::fuse(std::move(apart.device));
    if (apart.host.ops.empty()) continue;
    part.n_experts = static_cast<uint32_t>(plan::expert_layers(apart.host).size());
    part.experts = std::move(apart.host);
  }
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
  if (!gpu) return std::vector<Cut>{{.layer = plan::n_layers(graph)}};
  if (options.gpu_layers) {
    PUNA_TRY(first.layer, first_gpu_layer(graph, *options.gpu_layers));
  }
  std::vector<Cut> out = {first};
  if (!options.fit.layers) return out;
  if (!options.cpu_experts) {
    for (const uint32_t layer : plan::expert_layers(graph)) {
      if (layer >= first.layer) out.push_back({.layer = first.layer, .experts_end = layer + 1});
    }
  }
  if (!options.gpu_layers) {
    for (const uint32_t layer : plan::cuts(graph))
      out.push_back({.layer = layer, .experts_end = out.back().experts_end});
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
  if (const auto& shares = options.more_gpus.shares; !shares.empty())
    out.push_back(fmt::format("--tensor-split {}", fmt::join(shares, ",")));
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
    if constexpr (kSeveralGpus) {
      if (device_ && !options_.more_gpus.shares.empty()) {
        PUNA_CO_TRY(open_more());
        PUNA_CO_TRY(Cut cut, by_shares(cuts.front()));
        PUNA_CO_TRY(co_await load(cut));
        co_return std::move(out_);
      }
    }
    const bool searches =
        device_ && (!options_.gpu_layers || cuts.size() > 1 || options_.more_gpus.open);
    Result<void> done = searches ? check_spare(cuts.front()) : Result<void>();
    if (done) done = co_await load(cuts.front());
    const auto refused = [&] { return !done && done.error().code == ErrorCode::kOutOfMemory; };
    if constexpr (kSeveralGpus) {
      if (refused() && device_ && options_.more_gpus.open)
        done = co_await on_several(cuts.front(), std::move(done.error()));
    }
    if (refused() && cuts.size() > 1)
      done = co_await what_fits(std::span(cuts).subspan(1), std::move(done.error()));
    PUNA_CO_TRY(std::move(done));
    co_return std::move(out_);
  }

 private:
  Task<Result<void>> load(Cut cut) {
    Parts parts = parts_of(graph_, cut);
    const bool on_cpu = parts.first || std::ranges::any_of(parts.gpus, [](const Parts::Gpu& part) {
                          return part.experts.has_value();
                        });
    if (!on_cpu && options_.cpu.lock_memory) {
      co_return base::fail(
          ErrorCode::kInvalidArgument,
          fmt::format("--mlock locks weights in the memory of the CPU, but the model goes to {}; "
                      "--device cpu keeps it here.",
                      device_->info().name));
    }
    if (on_cpu) make_pool();
    std::vector<Stage> stages;       // from the last one on
    std::vector<Executor*> on_gpus;  // of these
    std::unique_ptr<Executor> executor;
    Handed handed;  // to `executor` by the part before it
    plan::MemoryUse experts;
    uint32_t n_experts = 0;
    // GPUs first, they are what may refuse, and the first of them, which has the last layers.
    for (size_t i = parts.gpus.size(); i-- > 0;) {
      Parts::Gpu& part = parts.gpus[i];
      gpu::Device& device = gpu(part.on.device);
      std::optional<HostPart> host;
      if (part.experts) host = HostPart{*std::move(part.experts), options_.cpu, out_.pool.get()};
      Handed taken;
      if (const uint32_t n = i > 0 ? parts.gpus[i - 1].n_handed : parts.n_handed; n > 0) {
        PUNA_CO_TRY(taken, Handed::allocate(n, cache_.step_rows));
      }
      LinkEnds ends{taken.memory, handed.memory};
      PUNA_CO_TRY(auto loaded, co_await load_gpu(file_, std::move(part.graph), cache_,
                                                 gpu_options(part.on.device), device, hooks_,
                                                 std::move(host), std::move(ends)));
      stages.push_back({true, part.on.first_layer, part.n_layers, loaded->memory(), part.on.device,
                        device.info().name});
      on_gpus.push_back(loaded.get());
      experts += loaded->host_memory();
      n_experts += part.n_experts;
      executor = executor ? join(std::move(loaded), std::move(executor), std::move(handed))
                          : std::move(loaded);
      handed = std::move(taken);
    }
    if constexpr (kSeveralGpus) {
      if (!parts.first && on_gpus.size() > 1) {
        std::ranges::reverse(on_gpus);
        // Where it cannot be done, what is handed over goes by way of the host.
        if (auto done = co_await link(on_gpus, parts); !done)
          base::log_debug("The GPUs are not linked: {}", done.error().text());
      }
    }
    if (parts.first) {
      PUNA_CO_TRY(auto loaded, co_await load_cpu(file_, *std::move(parts.first), cache_,
                                                 options_.cpu, *out_.pool, hooks_));
      stages.push_back({false, 0, cut.layer, loaded->memory()});
      executor = executor ? join(std::move(loaded), std::move(executor), std::move(handed))
                          : std::move(loaded);
    }
    Placement& placement = out_.placement;
    placement.stages.assign(stages.rbegin(), stages.rend());
    placement.experts = experts;
    placement.cpu_experts = n_experts;
    out_.executor = std::move(executor);
    co_return {};
  }

  Task<Result<void>> link(std::span<Executor* const> ring, const Parts& parts) {
    std::vector<std::shared_ptr<gpu::HostMemory>> channels;  // from part i to the next one
    for (const Parts::Gpu& part : parts.gpus) {
      const uint64_t words = std::max(part.n_handed, 1u);  // an id, of the last part
      PUNA_CO_TRY(channels.emplace_back(),
                  gpu::HostMemory::allocate(kernels::kLinkDataOffset +
                                            kernels::kMaxBatch * words * sizeof(uint32_t)));
    }
    for (size_t i = 0; i < ring.size(); ++i) {
      // By a name: GCC 12 destroys a temporary of an aggregate in a co_await twice.
      LinkEnds ends{channels[(i + ring.size() - 1) % ring.size()], channels[i]};
      PUNA_CO_TRY(co_await ring[i]->link(std::move(ends)));
    }
    co_return {};
  }

  const MoreGpus::Devices& more_gpus() const { return *options_.more_gpus.opened; }
  gpu::Device& gpu(uint32_t i) { return i == 0 ? *device_ : *more_gpus()[i - 1]; }
  // What was measured of one card does not hold for another.
  GpuOptions gpu_options(uint32_t i) {
    GpuOptions out = options_.gpu;
    if (gpu(i).info().name != device_->info().name) out.profile = nullptr;
    return out;
  }

  Result<void> open_more() {
    if (!more_gpus().empty() || !options_.more_gpus.open) return {};
    PUNA_TRY(*options_.more_gpus.opened, options_.more_gpus.open());
    return {};
  }
  uint32_t n_gpus() const { return static_cast<uint32_t>(more_gpus().size()) + 1; }

  // The layers from cut.layer on that a part may begin with, rising; the first one always may.
  std::vector<uint32_t> beginnings(const Cut& cut) const {
    std::vector<uint32_t> out = {cut.layer};
    std::ranges::copy_if(plan::cuts(graph_), std::back_inserter(out),
                         [&](uint32_t layer) { return layer > cut.layer; });
    return out;
  }

  // So many layers for each GPU as its share says, as near as the model can be cut.
  Result<Cut> by_shares(Cut cut) const {
    const std::vector<double>& shares = options_.more_gpus.shares;
    if (shares.size() != n_gpus()) {
      return base::fail(ErrorCode::kInvalidArgument,
                        fmt::format("--tensor-split has {} shares, but {} {} used.", shares.size(),
                                    n_gpus(), n_gpus() == 1 ? "GPU is" : "GPUs are"));
    }
    double sum = 0;
    for (const double share : shares) sum += share;
    const std::vector<uint32_t> possible = beginnings(cut);
    const uint32_t n = plan::n_layers(graph_);
    double taken = 0;
    for (uint32_t i = 0, end = n; i < shares.size() && end > cut.layer; ++i) {
      taken += shares[i];
      const double wanted = n - taken / sum * (n - cut.layer);
      const auto distance = [&](uint32_t layer) { return std::abs(layer - wanted); };
      uint32_t first =
          i + 1 == shares.size() ? cut.layer : *std::ranges::min_element(possible, {}, distance);
      if (first >= end) continue;
      cut.gpus.insert(cut.gpus.begin(), {i, first});
      end = first;
    }
    return cut;
  }

  // The first GPU takes as many of the last layers as it has room for, then the next one; what is
  // left goes to the CPU, if it may. Fails with `refused` where that does not help.
  Task<Result<void>> on_several(Cut cut, base::Error refused) {
    PUNA_CO_TRY(open_more());
    const std::vector<uint32_t> possible = beginnings(cut);
    uint32_t end = plan::n_layers(graph_);
    for (uint32_t i = 0; i < n_gpus() && end > cut.layer; ++i) {
      const auto below = std::ranges::lower_bound(possible, end);
      const auto first = std::partition_point(possible.begin(), below, [&](uint32_t layer) {
        Cut tried = cut;
        tried.layer = layer;
        tried.gpus.insert(tried.gpus.begin(), {i, layer});
        return !buffers_fit(parts_of(graph_, tried).gpus.front());
      });
      if (first == below) continue;
      end = *first;
      cut.gpus.insert(cut.gpus.begin(), {i, end});
    }
    const bool all = end == cut.layer;
    if (cut.gpus.empty() || (!all && !options_.fit.layers)) co_return std::unexpected(refused);
    cut.layer = end;
    auto done = co_await load(std::move(cut));
    if (done) {
      std::string& why = out_.placement.why;
      why += fmt::format("{}the first has no room for all: {}", why.empty() ? "" : ", ",
                         refused.text());
    }
    co_return done;
  }

  // The first of cuts with which the device gives all buffers. Fails with `refused` when it has no
  // room for even the last one.
  Task<Result<void>> what_fits(std::span<const Cut> cuts, base::Error refused) {
    const auto fits = std::ranges::partition_point(
        cuts, [&](const Cut& cut) { return !buffers_fit(parts_of(graph_, cut).gpus.back()); });
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
  Result<void> check_spare(const Cut& cut) {
    if (options_.fit.spare_bytes == 0 || buffers_fit(parts_of(graph_, cut).gpus.back())) return {};
    return base::fail(ErrorCode::kOutOfMemory,
                      fmt::format("The memory of {} has no room for the whole model and {} MiB "
                                  "beside it.",
                                  device_->info().name, options_.fit.spare_bytes >> 20));
  }

  // Whether the device has memory for the plan of its part, and what is to be left, found by asking
  // for it.
  bool buffers_fit(const Parts::Gpu& part) {
    gpu::Device& device = gpu(part.on.device);
    const plan::Graph& graph = part.graph;
    const auto planned = plan_for_gpu(graph, cache_, gpu_options(part.on.device), device.info());
    if (!planned) return false;
    std::vector<gpu::BufferId> buffers;
    const auto ask = [&](uint64_t bytes) {
      const auto buffer = device.create_buffer(bytes, gpu::BufferUse::kStorage, "probe");
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
    for (gpu::BufferId buffer : buffers) device.destroy_buffer(buffer);
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
Result<Placement> planned(const Cut& cut, const plan::Graph& graph, const plan::CacheConfig& cache,
                          const PlaceOptions& options, const gpu::DeviceInfo* device) {
  Placement out;
  out.n_layers = plan::n_layers(graph);
  const Parts parts = parts_of(graph, cut);
  if (parts.first)
    out.stages.push_back({false, 0, cut.layer, on_cpu(*parts.first, cache, options)});
  if (parts.gpus.empty()) return out;
  const Parts::Gpu& part = parts.gpus.front();
  PUNA_TRY(const plan::MemoryUse gpu, on_gpu(part.graph, cache, options, *device));
  out.stages.push_back({true, cut.layer, part.n_layers, gpu, 0, device->name});
  out.cpu_experts = part.n_experts;
  if (part.experts) out.experts = on_cpu(*part.experts, cache, options);
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
  const auto takes = [&](const Stage& stage) {
    return fmt::format("({} MiB of weights, {} MiB of cache)", mib(stage.memory.weights),
                       mib(stage.memory.kv));
  };
  const std::vector<Stage>& stages = placement.stages;
  std::string out =
      stages.size() == 1
          ? fmt::format("The model is on {} {}", gpu, takes(stages.back()))
          : fmt::format("{} of {} layers and the output layer are on {} {}", stages.back().n_layers,
                        placement.n_layers, gpu, takes(stages.back()));
  for (size_t i = stages.size() - 1; i-- > 0;) {
    const Stage& stage = stages[i];
    out += fmt::format(", {} {} on {} {}", i > 0 ? "the next" : "the embedding and the first",
                       stage.n_layers, stage.on_gpu ? stage.device_name : "the CPU", takes(stage));
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
