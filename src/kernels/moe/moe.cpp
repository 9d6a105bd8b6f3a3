// GPU form of moe.h: route, then the two products by experts. Few rows: a mat-vec over the pairs of
// row and expert, and one whose K goes through the row's experts. Many: pairs sorted by expert, two
// tiled products over them, and a sum over each row's slots.
#include "kernels/moe/moe.h"

#include <algorithm>
#include <bit>

#include "kernels/common/describe.h"
#include "kernels/matmul/matmul_parts.h"

namespace puna::kernels {
namespace {

constexpr uint32_t kCombineWorkgroup = 64;  // combine.wgsl

uint64_t aligned(uint64_t bytes) { return (bytes + 255) / 256 * 256; }
bool in_tiles(const MoeArgs& args) { return args.max_rows > kMatvecRows; }
uint32_t max_pairs(const MoeArgs& args) { return args.max_rows * args.shape.route.n_chosen; }
uint32_t tile_rows(const MoeShape& shape, uint32_t max_rows) {
  return matmul_tile_rows(max_rows, shape.route.n_experts, shape.route.n_chosen);
}

// Where things lie in the scratch: [pair][ffn], [pair][hidden] for tiles, and the form of x that
// the products read, of one at a time.
struct Parts {
  Slice h, results, form;
  uint64_t bytes = 0;
};

MatmulArgs product(const MoeArgs& args, const GpuWeight& weight, const char* name) {
  MatmulArgs p;
  p.label = args.label + name;
  p.weight = weight;
  p.step = args.step;
  p.numerics = args.numerics;
  p.max_rows = args.max_rows;
  p.rows = args.rows;
  p.parts = MatmulParts{.n_parts = args.shape.route.n_experts,
                        .n_slots = args.shape.route.n_chosen,
                        .routes = args.routes};
  if (in_tiles(args)) p.parts->groups = args.groups;
  return p;
}

MatmulArgs gate_up(const MoeArgs& args, const Parts& at) {
  MatmulArgs p = product(args, args.gate_up, "|gate_up");
  p.x = args.x;
  p.y = at.h;
  p.y_stride = args.shape.ffn;
  p.epilogue = args.shape.gate;
  p.activation = Activation::kGeluErf;
  p.parts->bias = args.gate_up_bias;
  p.scratch = at.form;
  return p;
}

MatmulArgs down(const MoeArgs& args, const Parts& at) {
  MatmulArgs p = product(args, args.down, "|down");
  p.x = at.h;
  p.y = in_tiles(args) ? at.results : args.y;
  p.y_stride = args.shape.hidden;
  p.parts->x_of_pairs = true;
  p.parts->sums = !in_tiles(args);
  if (p.parts->sums && args.adds) p.epilogue = Epilogue::kAdd;
  if (p.parts->sums) p.parts->bias = args.down_bias;
  p.scratch = at.form;
  return p;
}

Parts lay_out(const gpu::DeviceInfo& device, const MoeArgs& args) {
  Parts at;
  const auto take = [&](uint64_t bytes) {
    const Slice slice{args.scratch.buffer, args.scratch.offset + at.bytes, aligned(bytes)};
    at.bytes += slice.bytes;
    return slice;
  };
  at.h = take(uint64_t{max_pairs(args)} * args.shape.ffn * 4);
  if (in_tiles(args)) at.results = take(uint64_t{max_pairs(args)} * args.shape.hidden * 4);
  at.form = take(std::max(matmul_scratch_bytes(device, gate_up(args, at)),
                          matmul_scratch_bytes(device, down(args, at))));
  return at;
}

void group(const gpu::DeviceInfo& device, const MoeArgs& args, std::vector<KernelCall>& out) {
  const RouteParams& route = args.shape.route;
  const uint32_t tile = tile_rows(args.shape, args.max_rows);
  Describe call(args.label + "|group", "moe/group.wgsl");
  call.constant("B_STEP", args.step)
      .constant("B_ROUTES", args.routes)
      .arena("B_GROUPS", args.groups);
  call.text("ROW_COUNT", args.rows == Rows::kTokens ? "STEP_TOKEN_COUNT" : "STEP_OUTPUT_COUNT");
  call.text("EXPERTS", fmt::format("{}u", route.n_experts))
      .text("CHOSEN", fmt::format("{}u", route.n_chosen))
      .text("TILE", fmt::format("{}u", tile));
  call.text("PAIRS_AT",
            fmt::format("{}u", group_tiles_words(max_pairs(args), route.n_experts, tile)));
  call.number("WG", std::min(256u, std::bit_floor(device.limits.max_workgroup_invocations)));
  call.grid({}).add_to(out);
}

void combine(const MoeArgs& args, const Parts& at, std::vector<KernelCall>& out) {
  Describe call(args.label + "|combine", "moe/combine.wgsl");
  call.arena("B_PARTS", at.results).arena("B_Y", args.y);
  if (args.down_bias) call.constant("B_BIAS", *args.down_bias).constant("B_ROUTES", args.routes);
  if (args.adds) call.flag("ADD");
  const uint32_t vectors = args.shape.hidden / 4;
  call.text("CHOSEN", fmt::format("{}u", args.shape.route.n_chosen))
      .text("VECTORS", fmt::format("{}u", vectors));
  call.grid({Extent::kOne, div_up(vectors, kCombineWorkgroup), 1}, {extent_of(args.rows)})
      .add_to(out);
}

}  // namespace

base::Result<void> check_moe(std::string_view label, const MoeShape& shape) {
  PUNA_TRY(check_route(label, shape.route));
  if (shape.ffn > 0 && shape.ffn % 8 == 0 && shape.hidden % CpuMatrix::kRowGroup == 0) return {};
  return base::fail(base::ErrorCode::kUnsupported,
                    fmt::format("The experts of {} are {} x {}; multiples of {} and 8 are "
                                "supported.",
                                label, shape.hidden, shape.ffn, CpuMatrix::kRowGroup));
}

uint64_t moe_routes_bytes(const MoeShape& shape, uint32_t max_rows) {
  return uint64_t{max_rows} * shape.route.n_chosen * 2 * sizeof(uint32_t);
}

uint64_t moe_groups_bytes(const MoeShape& shape, uint32_t max_rows) {
  return uint64_t{group_words(max_rows * shape.route.n_chosen, shape.route.n_experts,
                              tile_rows(shape, max_rows))} *
         sizeof(uint32_t);
}

uint64_t moe_scratch_bytes(const gpu::DeviceInfo& device, const MoeArgs& args) {
  return lay_out(device, args).bytes;
}

XForm moe_x_form(const gpu::DeviceInfo& device, const MoeArgs& args) {
  const Parts at = lay_out(device, args);
  return std::max(matmul_x_form(device, gate_up(args, at)), matmul_x_form(device, down(args, at)));
}

base::Result<void> moe(const gpu::DeviceInfo& device, const MoeArgs& args,
                       std::vector<KernelCall>& out) {
  PUNA_TRY(check_moe(args.label, args.shape));
  const Parts at = lay_out(device, args);
  if (args.scratch.bytes < at.bytes) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("Experts {} have {} bytes of scratch and need {}.", args.label,
                                  args.scratch.bytes, at.bytes));
  }
  PUNA_TRY(route(device,
                 {.label = args.label + "|route",
                  .logits = args.logits,
                  .selection_bias = args.selection_bias,
                  .routes = args.routes,
                  .params = args.shape.route,
                  .rows = args.rows},
                 out));
  if (in_tiles(args)) group(device, args, out);
  PUNA_TRY(matmul(device, gate_up(args, at), out));
  PUNA_TRY(matmul(device, down(args, at), out));
  if (in_tiles(args)) combine(args, at, out);
  return {};
}

}  // namespace puna::kernels
