// The numbers that tune the attention kernels, with what picks their portable defaults. For the
// bench and device profiles; models only need attention.h.
#pragma once

#include <vector>

#include "kernels/attention/attention.h"
#include "kernels/common/knob.h"

namespace puna::kernels {

// attention_decode.wgsl. `lanes` invocations share a key; the registers of one hold heads * steps
// units of eight floats of q, as many sums, and keys * steps of K and V, where steps = units of a
// head / lanes.
struct AttentionDecodeTuning {
  uint32_t workgroup = 128;
  uint32_t lanes = 8;
  uint32_t heads = 1;        // query heads of one KV head a workgroup takes
  uint32_t keys = 4;         // in flight
  uint32_t merged = 1;       // heads that pass through workgroup memory at a time in the end
  uint32_t max_splits = 64;  // of a step of one row; shared out over more
  bool operator==(const AttentionDecodeTuning&) const = default;
};

// attention_prefill.wgsl. A workgroup is row_groups * columns invocations and takes rows *
// row_groups rows against 4 * columns keys.
struct AttentionPrefillTuning {
  uint32_t rows = 8;  // of an invocation
  uint32_t row_groups = 8;
  uint32_t columns = 16;
  bool operator==(const AttentionPrefillTuning&) const = default;
};

// attention_matrix.wgsl, where the device has matrix units and the numerics allow f16.
struct AttentionMatrixTuning {
  uint32_t subgroups = 4;  // of a workgroup, each with a matrix of rows
  uint32_t keys = 64;      // of a tile
  bool operator==(const AttentionMatrixTuning&) const = default;
};

struct AttentionTuning {
  AttentionDecodeTuning decode;  // of steps with several splits
  AttentionDecodeTuning whole;   // of those with one; not turned by knobs
  AttentionPrefillTuning prefill;
  std::optional<AttentionMatrixTuning> matrix = {};  // instead of prefill
};

// The portable default, or what args.profile has if the device can run it. Errors: kUnsupported
// when no prefill tile fits the device's workgroup memory.
base::Result<AttentionTuning> attention_tuning(const gpu::DeviceInfo& device,
                                               const AttentionArgs& args);
// All prefill tiles that the device and the call allow, the default first (of slow
// compilers, the last).
std::vector<AttentionPrefillTuning> attention_prefill_tiles(const gpu::DeviceInfo& device,
                                                            const AttentionArgs& args);

// "attention_decode" or "attention_prefill", their knobs, and the name of such a call in a profile:
// "attention_decode f16 128/128 8x32 x1" (sizes of keys and values, KV heads x heads, rows of the
// class).
std::string_view attention_role(const AttentionArgs& args);
std::span<const Knob<AttentionTuning>> attention_knobs(std::string_view role);
std::string attention_key(const AttentionArgs& args);
// Turns knobs from where `tuning` has them; false, with the tuning as it was, when the device
// cannot run the result.
bool turn_attention_knobs(const gpu::DeviceInfo& device, const AttentionArgs& args,
                          const KnobValues& values, AttentionTuning& tuning);

void attention_tuned(const gpu::DeviceInfo& device, const AttentionArgs& args,
                     const AttentionTuning& tuning, std::vector<KernelCall>& out);

}  // namespace puna::kernels
