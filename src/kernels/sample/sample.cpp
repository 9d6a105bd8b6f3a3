// GPU forms of sample.h.
#include "kernels/sample/sample.h"

#include "kernels/attention/attention.h"
#include "kernels/common/describe.h"

namespace puna::kernels {
namespace {
constexpr uint32_t kWorkgroup = 256;
constexpr uint32_t kChunk =
    2048;  // logits a workgroup reduces in the first dispatch: 8 loads an invocation
}  // namespace

uint64_t argmax_scratch_bytes(const gpu::DeviceInfo&, const ArgmaxArgs& args) {
  return uint64_t{args.max_rows} * div_up(args.vocab, kChunk) * 8;  // (key, id)
}

base::Result<void> argmax(const gpu::DeviceInfo& device, const ArgmaxArgs& args,
                          std::vector<KernelCall>& out) {
  const uint32_t parts = div_up(args.vocab, kChunk);
  if (args.vocab == 0 || parts > device.limits.max_workgroups_per_dimension) {
    return base::fail(
        base::ErrorCode::kInvalidArgument,
        fmt::format("Argmax {} has rows of {} logits; 1 to {} can be compared.", args.label,
                    args.vocab, uint64_t{device.limits.max_workgroups_per_dimension} * kChunk));
  }
  Describe(args.label, "sample/argmax.wgsl")
      .arena("B_LOGITS", args.logits)
      .arena("B_PARTS", args.scratch)
      .number("VOCAB", args.vocab)
      .number("CHUNK", kChunk)
      .number("PARTS", parts)
      .number("WG", kWorkgroup)
      .grid({Extent::kOne, parts, 1}, {Extent::kOutputs})
      .add_to(out);
  Describe(args.label + ".best", "sample/argmax.wgsl")
      .arena("B_PARTS", args.scratch)
      .arena("B_IDS", args.ids)
      .number("PARTS", parts)
      .number("WG", kWorkgroup)
      .grid({}, {Extent::kOutputs})
      .add_to(out);
  return {};
}

base::Result<void> advance(const gpu::DeviceInfo&, const AdvanceArgs& args,
                           std::vector<KernelCall>& out) {
  Describe(args.label, "sample/advance.wgsl")
      .arena("B_STEP", args.step)
      .arena("B_IDS", args.ids)
      .number("MAX_BATCH", kMaxBatch)
      .number("WHOLE_TOKENS", kWholeTokens)
      .number("SPLIT_TOKENS", kSplitTokens)
      .grid({})
      .add_to(out);
  return {};
}

}  // namespace puna::kernels
