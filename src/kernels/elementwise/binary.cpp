// GPU form of binary.h: one template, defines for the operator and what x spreads over.
#include "kernels/elementwise/binary.h"

#include "kernels/elementwise/row_grid.h"

namespace puna::kernels {

std::string_view name(Binary op) {
  static constexpr std::string_view kNames[] = {"add",    "subtract", "multiply",
                                                "divide", "least",    "most"};
  return kNames[static_cast<size_t>(op)];
}

std::string_view name(Spread spread) {
  static constexpr std::string_view kNames[] = {"elements", "one row", "one column", "one number"};
  return kNames[static_cast<size_t>(spread)];
}

base::Result<void> binary(const gpu::DeviceInfo& device, const BinaryArgs& args,
                          std::vector<KernelCall>& out) {
  const BinaryShape& s = args.shape;
  if (s.part >= s.n_parts) {
    return base::fail(
        base::ErrorCode::kInvalidArgument,
        fmt::format("Operation {} takes part {} of {}.", args.label, s.part, s.n_parts));
  }
  static constexpr const char* kOperations[] = {"y[i] + by", "y[i] - by",     "y[i] * by",
                                                "y[i] / by", "min(y[i], by)", "max(y[i], by)"};
  Describe call(args.label, "elementwise/binary.wgsl");
  if (args.x_is_constant) {
    call.constant("B_X", args.x).text("ACCESS", "read");
  } else {
    call.arena("B_X", args.x).text("ACCESS", "read_write");
  }
  call.arena("B_Y", args.y).text("OPERATION", kOperations[static_cast<size_t>(s.op)]);
  call.number("SPREAD_ROW", s.spread == Spread::kRow);
  call.number("SPREAD_COLUMN", s.spread == Spread::kColumn);
  call.number("SPREAD_ONE", s.spread == Spread::kOne);
  call.number("PART", s.part).number("N_PARTS", s.n_parts);
  return describe_rows(std::move(call), device, s.n, args.rows, out);
}

}  // namespace puna::kernels
