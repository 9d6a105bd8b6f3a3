// Executor: a loaded model on one device. The engine hands it steps; implemented on the CPU
// (cpu_executor.cpp) and on a gpu::Device (gpu_executor.cpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "base/thread_pool.h"
#include "engine/kernel_times.h"
#include "engine/ring_part.h"
#include "formats/model_file.h"
#include "gpu/device.h"
#include "kernels/sample/chosen.h"
#include "kernels/sample/sampling.h"
#include "plan/gpu_plan.h"
#include "plan/graph.h"
#include "plan/step.h"

namespace puna::engine {

// Tokens reach the host in chains of steps that take about this long: longer ones would be seen as
// a text that stutters.
constexpr double kChainMs = 20;

// For the time of a load: what they refer to may be gone when it has ended.
struct LoadHooks {
  std::function<void(uint64_t done_bytes, uint64_t total_bytes)> on_progress;
  const std::atomic<bool>* cancel = nullptr;
};

// How the token after an output row is chosen.
struct OutputSampling {
  kernels::SamplingParams params;
  // The sequence up to and with the row's own token, or at least its last
  // params.looks_back() tokens. Those below zero are media, which are no token that could repeat.
  std::vector<int32_t> text;
  // Chosen in the first step only: what comes next depends on what the host makes of the token.
  // Holds of all that the host chooses (SamplingParams::on_host()).
  bool once = false;
  // A bit for each token that may be chosen, as TokenFilter::allowed() has them; empty: all may.
  // Of all steps that the output has; lives as long as these.
  std::span<const uint32_t> allowed = {};
  // For how many tokens `allowed` has been so, where it may change with any, which ends the decode;
  // 0: it does not change.
  uint32_t n_steady = 0;
  // OnChosen puts the bits for the step that follows where `allowed` lies, which is not empty.
  // Not beside outputs that are chosen once.
  bool moves = false;
  kernels::SamplerState* state = nullptr;  // of the text, for the host; outlives the decode
};
// Whether a decode goes on, and whether its next step is known to be its last one: then none is
// begun ahead of that.
struct GoesOn {
  GoesOn(bool goes_on, bool is_last = false) : on(goes_on), last(is_last) {}  // NOLINT: as a bool
  bool on;
  bool last;
};
// Called with what one step chose, one for each output that the step has, in their order.
using OnChosen = std::function<GoesOn(std::span<const kernels::Chosen> chosen)>;

// Gives way to what else runs on this thread: calls `resume` once, from its event loop.
using GiveWay = std::function<void(std::function<void()> resume)>;

// Where a page lies: in the caches of all layers, or where those with windows have pages of their
// own (CacheConfig::n_window_pages), of the others and of these.
struct PagePlace {
  uint32_t all = 0;
  std::optional<uint32_t> window = {};
};

struct KeptBytes {
  uint64_t page = 0;             // of one page, without those of windows where they are apart
  uint64_t window = 0;           // of these
  std::vector<uint64_t> states;  // of one snapshot, by state
};

class Executor {
 public:
  virtual ~Executor() = default;

  // Runs the step; fills logits [output_rows, n_out of the graph].
  virtual base::Task<base::Result<void>> run(plan::Step step, std::span<float> logits) = 0;

  // With a graph that gives logits: runs `first` and chooses a token after each of its output rows
  // (1 to kernels::kMaxBatch); each further step has one row for each output that is not chosen
  // once, the token that the step before chose: these are of different sequences. Ends after
  // n_steps or when on_chosen says so; steps already under way are dropped. Where outputs are
  // chosen once, it ends after a few steps, which those wait for at most: as many as the device is
  // to be kept at work with until the next call, and one at least.
  virtual base::Task<base::Result<void>> decode(plan::Step first,
                                                std::vector<OutputSampling> outputs,
                                                uint32_t n_steps, OnChosen on_chosen) = 0;

  // Whether a step begins before the host has heard what the one before it chose, so that a decode
  // that ends early has begun one in vain.
  virtual bool begins_ahead() const { return false; }

  // Makes it a part of a ring (ring_part.h), once, after the load. Errors: kUnsupported where its
  // device cannot share memory, or the host has a part in its steps.
  virtual base::Task<base::Result<void>> link(LinkEnds ends);
  // Null: it is none.
  virtual RingPart* ring_part() { return nullptr; }

  // A pause after steps: ends when they have run on the device, and when what else runs on this
  // thread has had its turn.
  virtual base::Task<base::Result<void>> rest() = 0;

  // The physical pages of a sequence, from its logical page `first` on; window_pages are as many,
  // or empty where layers with windows have none of their own. What lies behind a window may name
  // any page.
  virtual base::Result<void> set_pages(uint32_t sequence, uint32_t first,
                                       std::span<const uint32_t> pages,
                                       std::span<const uint32_t> window_pages) = 0;
  // Copies keys and values of a page to another one.
  virtual base::Result<void> copy_page(PagePlace from, PagePlace to) = 0;

  // Copies the recurrent state of a sequence to a snapshot (below CacheConfig::n_snapshots as
  // loaded), or back.
  virtual base::Result<void> save_state(uint32_t sequence, uint32_t snapshot) = 0;
  virtual base::Result<void> restore_state(uint32_t snapshot, uint32_t sequence) = 0;

  // What the device remembers of texts as bytes, for keeping it elsewhere: pages of the cache (the
  // keys, then the values of all layers, in the cache's type) and snapshots, a state at a time. The
  // bytes are those of this device, cache type and numerics. Reads are not run beside run(), or
  // another read; what was written is seen by steps that come later.
  virtual KeptBytes kept_bytes() const = 0;
  // Whether pages take memory from when they are first written, not from when they are planned.
  virtual bool grows_with_use() const = 0;
  // Of a page: first what all layers, or those without windows have of it, then what those with
  // windows have, if its place names that.
  virtual base::Task<base::Result<void>> read_page(PagePlace page, std::span<std::byte> out) = 0;
  virtual base::Result<void> write_page(PagePlace page, std::span<const std::byte> bytes) = 0;
  virtual base::Task<base::Result<void>> read_state(uint32_t snapshot, size_t state,
                                                    std::span<std::byte> out) = 0;
  virtual base::Result<void> write_state(uint32_t snapshot, size_t state,
                                         std::span<const std::byte> bytes) = 0;

  // For measuring: where the time of this step goes, its outputs chosen by `sampling`. Blocks; the
  // step's cache rows, recurrent state and logits are overwritten.
  virtual base::Result<StepTimes> time_step(const plan::Step& step,
                                            const kernels::SamplingParams& sampling) = 0;

  // On the device, and beside it in the host's memory, where a GPU leaves something to the host.
  virtual plan::MemoryUse memory() const = 0;
  virtual plan::MemoryUse host_memory() const { return {}; }
  // For a driver of tasks: blocks until something that a task waits for may have happened.
  virtual void poll() = 0;
};

struct CpuOptions {
  kernels::Numerics numerics = kernels::Numerics::kFast;
  bool lock_memory = false;  // weights are kept from being swapped out
  GiveWay give_way;  // between the steps of a decode; null: nothing else runs on this thread
};
base::Task<base::Result<std::unique_ptr<Executor>>> load_cpu(
    const formats::ModelFile& file, plan::Graph graph, plan::CacheConfig cache, CpuOptions options,
    base::ThreadPool& pool, LoadHooks hooks);

// Of device memory at most beside a plan's: for pieces of weights until they are loaded, then for
// logits and ids on their way to the host.
uint64_t gpu_staging_bytes(const plan::GpuPlan& plan, uint32_t n_out);

struct GpuOptions {
  kernels::Numerics numerics = kernels::Numerics::kFast;
  uint32_t max_batch = 1;  // decode classes up to this many rows are planned
  // Steps whose outputs are more than a batch are planned for: a head of many rows, which has
  // kernels of its own and larger buffers, instead of one head after the other.
  bool many_outputs = false;
  // Prompts of few tokens have classes of their own, which are more kernels to compile; not where
  // that takes long (DeviceInfo::slow_compiler).
  bool short_prompts = true;
  double chain_ms = kChainMs;
  const kernels::Profile* profile = nullptr;  // of the device; null: portable defaults
};
// What load_gpu would put on a device.
base::Result<plan::GpuPlan> plan_for_gpu(const plan::Graph& graph, plan::CacheConfig cache,
                                         const GpuOptions& options, const gpu::DeviceInfo& device);
// The graph of what a GPU leaves to the host (plan/host_experts.h), and what computes it, which
// outlives the executor.
struct HostPart {
  plan::Graph graph;
  CpuOptions cpu;
  base::ThreadPool* pool = nullptr;
};
// handed: of a part of a model, where the values lie that the part before it gives and that it
// gives to the next one; null at an end of the model.
base::Task<base::Result<std::unique_ptr<Executor>>> load_gpu(
    const formats::ModelFile& file, plan::Graph graph, plan::CacheConfig cache, GpuOptions options,
    gpu::Device& device, LoadHooks hooks, std::optional<HostPart> host = {}, LinkEnds handed = {});

}  // namespace puna::engine
