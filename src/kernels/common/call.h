// KernelCall: one GPU dispatch as data. Roles describe calls as pure functions of arguments and
// DeviceInfo, so that plans and expanded WGSL can be printed and compared without a GPU; the
// executor in plan/ compiles pipelines and binds buffers. Read next: step.h, then any role, e.g.
// norm/norm.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/device.h"

namespace puna::kernels {

// A slice of one of the plan's buffers. `buffer` is an index into the plan's buffer table
// (plan/gpu_program.h), not a gpu::BufferId.
struct Slice {
  uint32_t buffer = 0;
  uint64_t offset = 0;  // bytes, a multiple of 256
  uint64_t bytes = 0;
  bool operator==(const Slice&) const = default;
};

// What a grid dimension follows at replay. kSplits: the attention splits of a step that has
// several, else 0, which leaves the dispatch out. kIfSplit: 1 for such a step, else 0; kIfWhole the
// other way round. kIfCut: 1 for steps that choose with a threshold, else 0. kSingles and kOthers:
// the rows before n_singles, and those from there on.
enum class Extent : uint8_t {
  kOne,
  kTokens,
  kOutputs,
  kSplits,
  kIfSplit,
  kIfWhole,
  kIfCut,
  kSingles,
  kOthers
};

// Workgroups of one dimension: ceil(extent * mul / div) + add.
struct GridDim {
  Extent extent = Extent::kOne;
  uint32_t mul = 1;
  uint32_t div = 1;
  uint32_t add = 0;
};

// The per-step values a grid may depend on; known to the host when it replays.
struct StepShape {
  uint32_t n_tokens = 1;   // rows of this step
  uint32_t n_outputs = 1;  // rows whose logits are wanted
  uint32_t n_splits = 1;   // attention splits over the KV length
  bool cuts = false;       // some output is chosen by top-k or top-p (sample/sample.h)
  // In a class of prompts: first rows that are the only ones of their sequences, texts that are
  // written beside the prompts. Their attention is that of a decode.
  uint32_t n_singles = 0;
};
uint32_t workgroups(const GridDim& dim, const StepShape& shape);

// How precisely matrix products are computed. exact: f32 activations; fast: int8 activations
// allowed.
enum class Numerics : uint8_t { kExact, kFast };

// Which rows an operation runs over.
enum class Rows : uint8_t { kTokens, kOutputs };
inline Extent extent_of(Rows rows) {
  return rows == Rows::kTokens ? Extent::kTokens : Extent::kOutputs;
}

struct BoundSlice {
  Slice slice;
  gpu::Access access = gpu::Access::kRead;
};

// A call that runs in the same dispatch as the ones before it (beside.h).
struct Beside {
  std::map<std::string, std::string> defines;
  std::vector<uint32_t> bindings;  // the number in the whole dispatch of each of its own
  uint32_t first_x = 0;            // its first workgroup along x
};

struct KernelCall {
  std::string label;        // "blk.0.ffn_down"
  std::string_view kernel;  // template: "norm/norm.wgsl", a name known to wgsl_source()
  std::map<std::string, std::string> defines;  // variant options and sizes of the template
  std::vector<BoundSlice> bindings;            // by binding number
  GridDim x, y, z;
  std::vector<Beside> beside = {};
};

// The text of a template by its path under src/kernels or src/quant ("quant/q4_0.wgsl"), or made
// from the table of weight types ("quant/types.wgsl", "repack/types.wgsl": the file of the type
// whose WEIGHT_<TYPE> is defined); empty when unknown.
std::string_view wgsl_source(std::string_view path);
// Expands the template of a call for a device: header, defines, includes. Errors: kInternal with
// file and line.
base::Result<std::string> expand(const KernelCall& call, const gpu::DeviceInfo& device);

}  // namespace puna::kernels
