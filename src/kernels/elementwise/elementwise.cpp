// GPU forms of elementwise.h: one template, one define for the operation.
#include "kernels/elementwise/elementwise.h"

#include "kernels/common/describe.h"

namespace puna::kernels {
namespace {

constexpr uint32_t kWorkgroup = 128;  // invocations, a unit (4 elements where n allows) each

base::Result<void> describe(Describe call, const gpu::DeviceInfo& device, const std::string& label,
                            uint32_t n, Rows rows, std::vector<KernelCall>& out) {
  if (n == 0)
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("Operation {} has rows of 0 elements.", label));
  const uint32_t workgroups = div_up(n % 4 == 0 ? n / 4 : n, kWorkgroup);
  if (workgroups > device.limits.max_workgroups_per_dimension) {
    return base::fail(
        base::ErrorCode::kUnsupported,
        fmt::format(
            "Operation {} has rows of {} elements, more than one dispatch covers (limit {}).",
            label, n, uint64_t{device.limits.max_workgroups_per_dimension} * kWorkgroup));
  }
  call.number("N", n).number("WG", kWorkgroup);
  call.grid({Extent::kOne, workgroups, 1}, {extent_of(rows)}).add_to(out);
  return {};
}

}  // namespace

base::Result<void> add(const gpu::DeviceInfo& device, const AddArgs& args,
                       std::vector<KernelCall>& out) {
  Describe call(args.label, "elementwise/elementwise.wgsl");
  call.arena("B_X", args.x).arena("B_Y", args.y).flag("ADD");
  return describe(std::move(call), device, args.label, args.n, args.rows, out);
}

base::Result<void> gate(const gpu::DeviceInfo& device, const GateArgs& args,
                        std::vector<KernelCall>& out) {
  Describe call(args.label, "elementwise/elementwise.wgsl");
  if (args.n_gates != args.n && args.n_gates != 1) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("Gate {} has {} gates for rows of {}; it must be as many, or 1.",
                                  args.label, args.n_gates, args.n));
  }
  call.arena("B_X", args.x).arena("B_Y", args.y).number("GATES", args.n_gates);
  return describe(std::move(call), device, args.label, args.n, args.rows, out);
}

base::Result<void> scale(const gpu::DeviceInfo& device, const ScaleArgs& args,
                         std::vector<KernelCall>& out) {
  Describe call(args.label, "elementwise/elementwise.wgsl");
  call.arena("B_Y", args.y);
  if (args.by) {
    call.constant("B_BY", *args.by);
  } else {
    call.real("SCALE", args.scale);
  }
  return describe(std::move(call), device, args.label, args.n, args.rows, out);
}

base::Result<void> multiply(const gpu::DeviceInfo& device, const MultiplyArgs& args,
                            std::vector<KernelCall>& out) {
  if (args.part >= args.n_parts) {
    return base::fail(
        base::ErrorCode::kInvalidArgument,
        fmt::format("Product {} takes part {} of {}.", args.label, args.part, args.n_parts));
  }
  Describe call(args.label, "elementwise/elementwise.wgsl");
  call.arena("B_X", args.x).arena("B_Y", args.y);
  call.number("PART", args.part).number("N_PARTS", args.n_parts);
  return describe(std::move(call), device, args.label, args.n, args.rows, out);
}

base::Result<void> softcap(const gpu::DeviceInfo& device, const SoftcapArgs& args,
                           std::vector<KernelCall>& out) {
  if (!(args.cap > 0)) {
    return base::fail(
        base::ErrorCode::kInvalidArgument,
        fmt::format("Softcap {} has a cap of {}; it must be above 0.", args.label, args.cap));
  }
  Describe call(args.label, "elementwise/elementwise.wgsl");
  call.arena("B_Y", args.y).real("CAP", args.cap);
  return describe(std::move(call), device, args.label, args.n, args.rows, out);
}

base::Result<void> glu(const gpu::DeviceInfo& device, const GluArgs& args,
                       std::vector<KernelCall>& out) {
  Describe call(args.label, "elementwise/elementwise.wgsl");
  call.arena("B_X", args.gate_up).arena("B_Y", args.y);
  call.text("ACTIVATION", std::string(name(args.activation)));
  return describe(std::move(call), device, args.label, args.n, Rows::kTokens, out);
}

}  // namespace puna::kernels
