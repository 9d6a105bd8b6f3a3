// Placement: where the layers of a model go. All of them to the first GPU when they fit; else the
// last ones and the output layer there, those before them on further GPUs, and what is left with
// the embedding on the CPU, in executors that own two (docs/decisions/partial-offload.md,
// docs/decisions/several-gpus.md). Where that is asked for, layers on a GPU leave their experts to
// the CPU (docs/decisions/experts-on-the-cpu.md).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "engine/executor.h"

namespace puna::engine {

// Neighbouring layers on one device. The first stage has the embedding, the last the output layer.
struct Stage {
  bool on_gpu = false;
  uint32_t first_layer = 0;
  uint32_t n_layers = 0;
  plan::MemoryUse memory;
  uint32_t device = 0;        // of the GPUs; 0: the first
  std::string device_name{};  // of a GPU
};

struct Placement {
  uint32_t n_layers = 0;
  std::vector<Stage> stages;  // in the order of layers
  uint32_t cpu_experts = 0;   // layers on the GPU whose experts the CPU computes
  plan::MemoryUse experts;    // of these, in host memory
  std::string why;            // "--gpu-layers 3", "the device has memory for no more: ..."

  uint32_t layers_on(bool gpu) const;
  plan::MemoryUse memory_on(bool gpu) const;
  bool on_both() const { return stages.size() > 1 || cpu_experts > 0; }
};

// "1 of 2 layers and the output layer are on NVIDIA H200 (3 MiB of weights, 1 MiB of cache), ...",
// the first GPU being `gpu`; empty when all is on one device.
std::string describe(const Placement& placement, const std::string& gpu);

// GPUs behind the first one, in the order in which they are taken.
struct MoreGpus {
  using Devices = std::vector<std::shared_ptr<gpu::Device>>;
  // Opens them, once, when they are wanted: where the first has no room for the whole model, or
  // there are shares. Null: there are none.
  std::function<base::Result<Devices>()> open;
  // Of the layers on GPUs, what share each takes, the first one too, in any unit. Empty: each takes
  // what it has room for, before the next one is asked.
  std::vector<double> shares;
  // Those that were opened, of one engine. While a model is loaded, whoever drives that polls them
  // too.
  std::shared_ptr<Devices> opened = std::make_shared<Devices>();

  void poll() const {
    for (const auto& device : *opened) device->poll();
  }
};

struct Placed {
  std::shared_ptr<base::ThreadPool> pool;  // null when nothing is on the CPU
  std::unique_ptr<Executor> executor;
  Placement placement;
};

// What is done where a GPU has no room for a whole model, and no number of layers is asked for.
struct Fit {
  bool layers = true;        // the first ones, or experts, go to the CPU; else it is an error
  uint64_t spare_bytes = 0;  // of the GPU's memory that are left to others
  // Before any layer goes to the CPU, a context that was not asked for becomes shorter, down to
  // this; none: it stays.
  std::optional<uint32_t> least_context = {};
};

// Of EngineOptions::cpu_experts: all layers that have experts.
constexpr uint32_t kAllLayers = UINT32_MAX;

struct PlaceOptions {
  std::optional<uint32_t> gpu_layers;       // none = as many as fit
  std::optional<uint32_t> cpu_experts = 0;  // none = as few as memory wants
  Fit fit = {};                             // but for the context, which is planned for before
  MoreGpus more_gpus = {};
  int n_threads = 0;
  std::shared_ptr<base::ThreadPool> threads;  // null: n_threads of its own
  CpuOptions cpu;
  GpuOptions gpu;
};

// Checks a number of layers for the GPU and says which layer begins there. Errors: kInvalidArgument
// with the numbers that are possible.
base::Result<uint32_t> first_gpu_layer(const plan::Graph& graph, uint32_t gpu_layers);

// Checks a number of layers, the first that have experts, for the CPU and says in front of which
// layer they end; kAllLayers: all. Errors: kInvalidArgument where the model has fewer, or none.
base::Result<uint32_t> end_of_cpu_experts(const plan::Graph& graph, uint32_t cpu_experts);

// `graph` is not fused. A null device: all on the CPU. Errors: those of loading; kInvalidArgument
// for a number of layers that the model cannot be cut at, or that do not have experts.
base::Task<base::Result<Placed>> place(const formats::ModelFile& file, plan::Graph graph,
                                       plan::CacheConfig cache, PlaceOptions options,
                                       gpu::Device* device, LoadHooks hooks);

// What place() would give with one GPU, without loading; see Engine::forecast().
base::Result<Placement> forecast(const plan::Graph& graph, const plan::CacheConfig& cache,
                                 const PlaceOptions& options, const gpu::DeviceInfo* device,
                                 std::optional<uint64_t> gpu_bytes);

}  // namespace puna::engine
