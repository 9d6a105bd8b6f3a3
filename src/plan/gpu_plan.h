// GpuPlan: a graph lowered to dispatches for one device, as data: buffers, where weights and
// constants lie, and a flat list of kernel calls for each batch class. Made without touching a GPU,
// so it can be printed and compared. gpu_program.h makes it real.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/device.h"
#include "kernels/common/call.h"
#include "kernels/common/weight.h"
#include "kernels/matmul/matmul.h"
#include "plan/graph.h"
#include "plan/step.h"

namespace puna::plan {

struct GpuPlanOptions {
  kernels::Numerics numerics = kernels::Numerics::kFast;
  // Rows of each batch class, rising: of texts that are written, and of prompts and media. The last
  // one takes any step.
  std::vector<uint32_t> classes = {1}, prompt_classes = {kernels::kMaxStepTokens};
  const kernels::Profile* profile = nullptr;  // of the device; null: portable defaults
  uint32_t head_rows = kHeadRows;             // outputs of the largest head
};

// A constant of the graph's ops and its place, filled once at load.
struct ConstantSpec : Constant {
  kernels::Slice slice;
};

struct GpuPlan {
  struct Buffer {
    std::string label;
    uint64_t bytes = 0;
  };
  // A value where it lies, [rows, columns] f32.
  struct Activation {
    kernels::Slice slice;
    uint32_t columns = 0;
  };
  // What the host computes when the first `n_before` calls of a class have run: an op of its graph
  // (host_experts.h).
  struct HostCall {
    std::string label;
    uint32_t index = 0;  // of the op
    size_t n_before = 0;
    std::vector<Activation> x;
    Activation y;
    uint64_t x_bytes(uint32_t rows) const;
  };
  struct BatchClass {
    uint32_t max_rows = 1;
    bool prompts = false;
    AttentionLimits attention = {};  // of a body
    std::vector<kernels::KernelCall> calls = {};
    std::vector<HostCall> host_calls = {};
  };

  struct State {
    kernels::Slice live, saved;  // [n_sequences, slot], [n_snapshots, slot]; buffers of their own,
                                 // for WebGPU copies between buffers only
    uint64_t slot_bytes = 0;
  };

  std::vector<Buffer> buffers;              // by Slice::buffer
  std::vector<kernels::GpuWeight> weights;  // by WeightId
  std::vector<ConstantSpec> constants;
  std::vector<State> states;  // by StateId
  struct Kv {
    kernels::KvLayout layout;
    kernels::Slice k, v;     // the same slice where values are part of the keys
    bool by_window = false;  // its pages are those of windows
  };
  std::vector<Kv> kv;              // by layer
  std::vector<Activation> inputs;  // what the graph takes over, written by the host before a step
  // What it hands over, read by the host after a step: then there is no head.
  std::vector<Activation> outputs;
  std::optional<kernels::Slice> media;         // of a graph that takes media: Step::media
  bool places = false;                         // the step has a RowPlace for each row
  std::optional<kernels::Slice> window_pages;  // the page table of layers with windows
  kernels::Slice step, pages, sampling, history, arena, logits, ids;
  kernels::Slice routes, groups;   // of experts, for one layer after the other
  std::vector<BatchClass> body;    // by class, rows of tokens
  std::vector<BatchClass> head;    // by class, up to head_rows() outputs: gather to logits
  std::vector<BatchClass> sample;  // after a head of the same rows: chooses, makes the next step
  MemoryUse memory;
  // Outputs of a step beyond these are the work of further heads.
  uint32_t head_rows() const { return head.empty() ? 0 : head.back().max_rows; }
  // Of the values that are handed over, for the longest step.
  uint64_t handed_bytes() const;
  // The most that a host call reads at once; 0: there are none.
  uint64_t host_read_bytes() const;
};

// The class that a step of so many rows runs in: the first that takes them. Classes of more than
// kernels::kMatvecRows that are not of prompts are for steps in which every row has an output,
// texts that are written, which share no keys; a step `with_prompts` passes them over.
size_t class_for(std::span<const GpuPlan::BatchClass> classes, uint32_t rows, bool with_prompts);

// Errors: kUnsupported when one 4-row group of a weight, a layer's cache or an activation exceeds
// the device's binding limit.
base::Result<GpuPlan> plan_gpu(const Graph& graph, const CacheConfig& cache,
                               const gpu::DeviceInfo& device, const GpuPlanOptions& options);

// The plan as text: buffers with bytes, then one line for each dispatch of each class.
std::string describe(const GpuPlan& plan);

}  // namespace puna::plan
