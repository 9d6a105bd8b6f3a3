// GPU forms of elementwise.h: one template, one define for the operation.
#include "kernels/elementwise/elementwise.h"

#include "kernels/elementwise/row_grid.h"

namespace puna::kernels {

base::Result<void> gate(const gpu::DeviceInfo& device, const GateArgs& args,
                        std::vector<KernelCall>& out) {
  Describe call(args.label, "elementwise/elementwise.wgsl");
  if (args.n_gates != args.n && args.n_gates != 1) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("Gate {} has {} gates for rows of {}; it must be as many, or 1.",
                                  args.label, args.n_gates, args.n));
  }
  call.arena("B_X", args.x).arena("B_Y", args.y).number("GATES", args.n_gates);
  return describe_rows(std::move(call), device, args.n, args.rows, out);
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
  return describe_rows(std::move(call), device, args.n, args.rows, out);
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
  return describe_rows(std::move(call), device, args.n, args.rows, out);
}

base::Result<void> glu(const gpu::DeviceInfo& device, const GluArgs& args,
                       std::vector<KernelCall>& out) {
  Describe call(args.label, "elementwise/elementwise.wgsl");
  call.arena("B_X", args.gate_up).arena("B_Y", args.y);
  call.text("ACTIVATION", std::string(name(args.activation)));
  return describe_rows(std::move(call), device, args.n, args.rows, out);
}

}  // namespace puna::kernels
