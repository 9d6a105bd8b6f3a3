// The GPU form of matmul.h: describes the calls of a product, one for each chunk of the weight.
// matmul_defaults.cpp says which template and numbers it gets.
#include "kernels/matmul/matmul.h"

#include <algorithm>

#include "kernels/common/describe.h"
#include "kernels/common/step.h"
#include "kernels/common/weight_defines.h"
#include "kernels/matmul/matmul_limits.h"

namespace puna::kernels {
namespace {

constexpr uint32_t kHalveWorkgroup = 256;    // x_as_f16.wgsl
constexpr uint32_t kQuantizeWorkgroup = 64;  // quantize.wgsl
constexpr uint64_t kBytesOfUnit = 48;  // int8 activations: 32 codes and a vec4 of scale and sums

base::Result<void> check(const MatmulArgs& args) {
  const auto refuse = [&](std::string why) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("Product {} {}.", args.label, why));
  };
  const bool gated = is_gated(args.epilogue);
  uint64_t rows = 0;
  for (const GpuWeight::Chunk& chunk : args.weight.chunks) {
    PUNA_TRY(check_weight_shape(args.label, args.weight.type, chunk.n_rows, args.weight.cols));
    if (chunk.first_row != rows)
      return refuse(fmt::format("has a chunk at row {} instead of {}", chunk.first_row, rows));
    rows += chunk.n_rows;
    if (gated && chunk.n_rows % 8 != 0) {
      return refuse(fmt::format("is gated and has a chunk of {} rows, which is no multiple of 8",
                                chunk.n_rows));
    }
  }
  if (rows != args.weight.rows) {
    return refuse(
        fmt::format("has chunks of {} rows together and a weight of {}", rows, args.weight.rows));
  }
  if (args.max_rows == 0 || args.max_rows > kMaxStepRows) {
    return refuse(fmt::format("is asked for {} rows (limit {})", args.max_rows, kMaxStepRows));
  }
  PUNA_TRY(check_parts(args));
  const uint32_t n_out = gated ? part_rows(args) / 2 : part_rows(args);
  if (uint64_t{args.y_column} + n_out > args.y_stride) {
    return refuse(fmt::format("writes columns {} to {} of rows of {}", args.y_column,
                              args.y_column + n_out, args.y_stride));
  }
  if (gated && args.bias)
    return refuse("is gated and has a bias, which gated products take none of");
  if (args.epilogue == Epilogue::kSoftcap && !(args.softcap > 0)) {
    return refuse(fmt::format("has a softcap of {}; it must be above 0", args.softcap));
  }
  return {};
}

// Weight rows that a call puts side by side.
uint32_t columns_of(const MatmulArgs& args, const GpuWeight::Chunk& chunk) {
  return args.parts ? part_rows(args) : chunk.n_rows;
}

// What all templates of a chunk share: weight and step.
Describe describe_weight(const MatmulArgs& args, const GpuWeight::Chunk& chunk,
                         std::string_view kernel) {
  Describe call(args.label, kernel);
  call.constant("B_W", chunk.slice).constant("B_STEP", args.step);
  for (auto& [name, value] : weight_defines(args.weight.type, chunk.n_rows, args.weight.cols))
    call.text(name, value);
  call.text("ROW_COUNT", args.rows == Rows::kTokens ? "STEP_TOKEN_COUNT" : "STEP_OUTPUT_COUNT");
  return call;
}

void describe_epilogue(const MatmulArgs& args, const GpuWeight::Chunk& chunk, Describe& call) {
  uint32_t first = is_gated(args.epilogue) ? chunk.first_row / 2 : chunk.first_row;
  if (args.parts) first = 0;
  call.text("Y_STRIDE", fmt::format("{}u", args.y_stride))
      .text("Y_COLUMN", fmt::format("{}u", args.y_column + first));
  switch (args.epilogue) {
    case Epilogue::kStore:
      break;
    case Epilogue::kAdd:
      call.flag("ADD");
      break;
    case Epilogue::kSwiGlu:
      call.text("GATE", "silu");
      break;
    case Epilogue::kGeGlu:
      call.text("GATE", "gelu_tanh");
      break;
    case Epilogue::kSwiGluClamped:
      call.flag("GATE_CLAMPED").flag("GATE");
      break;
    case Epilogue::kSoftcap:
      call.real("CAP", args.softcap);
      break;
    case Epilogue::kActivate:
      call.text("ACTIVATION", std::string(name(args.activation)));
      break;
  }
  if (args.scale != 1.0f) call.real("PRODUCT_SCALE", args.scale);
  if (args.bias)
    call.constant("B_BIAS", *args.bias).text("BIAS_FIRST", fmt::format("{}u", chunk.first_row));
}

// The weight and what happens to its products.
Describe describe_chunk(const MatmulArgs& args, const GpuWeight::Chunk& chunk,
                        std::string_view kernel) {
  Describe call = describe_weight(args, chunk, kernel);
  describe_epilogue(args, chunk, call);
  describe_parts(args, chunk, call);
  return call;
}

// Tiles want the rows of x side by side, a team of a mat-vec its units.
bool by_unit(const MatmulArgs& args) { return args.max_rows > kMatvecRows; }

uint32_t x_rows(const MatmulArgs& args) { return args.max_rows * x_slots(args) * planes(args); }

void bind_x8(const MatmulArgs& args, Describe& call) {
  call.arena("B_X8", args.handed ? args.x : args.scratch)
      .text("X8_ROWS", fmt::format("{}u", x_rows(args)));
  call.number("X8_BY_UNIT", by_unit(args));
}

void bind_plain_x(const MatmulArgs& args, Describe& call) {
  call.arena("B_X", args.x);
  if (args.x_stride != 0) call.text("X_STRIDE", fmt::format("{}u", args.x_stride));
}

void bind_x(const MatmulArgs& args, bool from_scratch, Describe& call) {
  if (from_scratch) {
    bind_x8(args, call);
  } else {
    bind_plain_x(args, call);
  }
}

// x as f16 (common/x16.h).
uint32_t x16_rows(const MatmulArgs& args) { return args.max_rows * x_slots(args); }
uint64_t x16_bytes(const MatmulArgs& args) {
  return (x16_rows(args) * (uint64_t{units(args)} * 64 + 16) + 255) / 256 * 256;
}
void bind_x16(const MatmulArgs& args, Describe& call) {
  const X16 x16 = matmul_x16(args);
  call.arena("B_X16", x16.place).text("X16_ROWS", fmt::format("{}u", x16.rows));
}

void halve(const MatmulArgs& args, std::vector<KernelCall>& out) {
  Describe call(args.label + " (x as f16)", "matmul/x_as_f16.wgsl");
  call.constant("B_STEP", args.step);
  bind_plain_x(args, call);
  bind_x16(args, call);
  call.text("COLS", fmt::format("{}u", args.weight.cols))
      .text("UNITS", fmt::format("{}u", units(args)));
  call.number("WG", kHalveWorkgroup).grid({extent_of(args.rows), x_slots(args), 1}).add_to(out);
}

void quantize(const MatmulArgs& args, std::vector<KernelCall>& out) {
  Describe call(args.label + " (x as int8)", "matmul/quantize.wgsl");
  call.constant("B_STEP", args.step);
  bind_plain_x(args, call);
  bind_x8(args, call);
  call.text("COLS", fmt::format("{}u", args.weight.cols))
      .text("UNITS", fmt::format("{}u", units(args)));
  call.text("ROW_COUNT", args.rows == Rows::kTokens ? "STEP_TOKEN_COUNT" : "STEP_OUTPUT_COUNT");
  if (x_slots(args) > 1) call.text("X_SLOTS", fmt::format("{}u", x_slots(args)));
  if (planes(args) > 1) call.number("X_PLANES", planes(args));
  const GridDim rows{extent_of(args.rows), x_slots(args), by_unit(args) ? kQuantizeWorkgroup : 1};
  const GridDim all{Extent::kOne, units(args), by_unit(args) ? 1 : kQuantizeWorkgroup};
  call.grid(by_unit(args) ? rows : all, by_unit(args) ? all : rows).add_to(out);
}

void bind_handover(const MatmulArgs& args, Describe& call) {
  const Handover& hands = *args.hands;
  call.arena("B_NEXT", hands.x).number("HANDS_BYTES", hands.form == XForm::kInt8);
  call.text("NEXT_UNITS", fmt::format("{}u", args.y_stride / quant::kUnit))
      .text("NEXT_ROWS", fmt::format("{}u", args.max_rows));
  if (hands.gamma) call.constant("B_NEXT_GAMMA", *hands.gamma);
}

// Turns over K that a mat-vec of int8 has one after the other in its text; 0 where it has a loop.
// H200, tokens/s of a decode with loops alone, and with all turns written out up to 2, 4 and 8: 8B
// q4_0 541, 542, 523 and 505, q2_k 580, 586, 587 and 554, 1B q4_0 1676, 1699, 1630 and 1626: in a
// long text the driver puts requests off until what they bring is used.
uint32_t written_turns(const MatmulArgs& args, const MatvecTuning& tuning) {
  constexpr uint32_t kMost = 2;
  const uint32_t turns = div_up(units(args), tuning.lanes);
  const bool reads_ahead = tuning.prefetch && args.max_rows == 1 && k_slots(args) == 1;
  return reads_ahead && turns <= kMost ? turns : 0;
}

base::Result<void> describe_matvec(const gpu::DeviceInfo& device, const MatmulArgs& args,
                                   const MatvecTuning& tuning, bool int8,
                                   const GpuWeight::Chunk& chunk, std::vector<KernelCall>& out) {
  const uint32_t groups = tuning.workgroup / tuning.lanes * tuning.groups;
  if (is_gated(args.epilogue) && groups % 2 != 0) {
    return base::fail(
        base::ErrorCode::kUnsupported,
        fmt::format(
            "Product {} is gated and its workgroups hold {} groups of rows; it must be even.",
            args.label, groups));
  }
  Describe call = describe_chunk(args, chunk, "matmul/matvec.wgsl");
  if (args.norm) {
    call.arena("B_X", args.norm->input)
        .constant("B_GAMMA", args.norm->gamma)
        .real("EPS", args.norm->eps);
  } else {
    bind_x(args, int8 && !tuning.own_int8, call);
  }
  if (args.handed && args.handed->norm_eps)
    call.flag("X_SQUARES").real("EPS", *args.handed->norm_eps);
  if (!args.hands || args.hands->gamma) call.arena("B_Y", args.y);
  if (args.hands) bind_handover(args, call);
  if (int8 && tuning.own_int8) call.flag("X_PROLOGUE");
  if (int8 && planes(args) > 1) call.number("X_PLANES", planes(args));
  call.number("WG", tuning.workgroup).number("LANES", tuning.lanes);
  if (args.max_rows == 1) call.flag("ONE_ROW");
  const bool whole_rows = is_float_type(args.weight.type) && k_slots(args) == 1;
  call.number("PREFETCH", tuning.prefetch && (int8 || whole_rows));
  if (const uint32_t turns = int8 ? written_turns(args, tuning) : 0; turns > 0)
    call.number("WRITTEN_TURNS", turns);
  call.number("TEAM_GROUPS", tuning.groups).number("COLUMNS", tuning.columns);
  const uint32_t limit = device.limits.max_workgroups_per_dimension;
  const uint32_t n = div_up(div_up(columns_of(args, chunk), quant::kGroupRows), groups);
  const uint32_t y = div_up(n, limit);
  const uint32_t x = div_up(n, y);
  call.number("GRID_X", x);
  call.grid({Extent::kOne, x, 1}, {Extent::kOne, y, 1}, matvec_grid(args, tuning.columns))
      .add_to(out);
  return {};
}

void describe_gemm(const MatmulArgs& args, const GemmTuning& tuning, bool int8,
                   const GpuWeight::Chunk& chunk, std::vector<KernelCall>& out) {
  Describe call = describe_chunk(args, chunk, int8 ? "matmul/gemm_int8.wgsl" : "matmul/gemm.wgsl");
  bind_x(args, int8, call);
  call.arena("B_Y", args.y);
  if (int8) {
    call.number("PARTS", tuning.rows / 4).number("TN", tuning.teams);
    call.number("STEP_UNITS", tuning.step_units).number("SETS", tuning.sets);
    call.number("X_ITEMS", div_up(tuning.step_units * tuning.rows, tuning.teams));
  } else {
    call.number("TM", tuning.rows);
  }
  const auto [y, z] = tile_grid(args, 8 * tuning.rows);
  const uint32_t tile_n = int8 ? 8 * tuning.teams : kTileColumns;
  call.grid({Extent::kOne, div_up(columns_of(args, chunk), tile_n), 1}, y, z).add_to(out);
}

// Behind x as f16, for the largest chunk.
uint64_t partials_bytes(const MatmulArgs& args, const MatrixTuning& tuning) {
  if (tuning.n_splits == 1) return 0;
  uint64_t rows = 0;
  for (const GpuWeight::Chunk& chunk : args.weight.chunks)
    rows = std::max<uint64_t>(rows, chunk.n_rows);
  return tuning.n_splits * x16_rows(args) * rows * sizeof(float);
}
Slice partials_of(const MatmulArgs& args, const MatrixTuning& tuning) {
  return {args.scratch.buffer, args.scratch.offset + x16_bytes(args), partials_bytes(args, tuning)};
}

void describe_splits(const MatmulArgs& args, const MatrixTuning& tuning,
                     const GpuWeight::Chunk& chunk, std::vector<KernelCall>& out) {
  constexpr uint32_t kWorkgroup = 128;
  Describe call(args.label + " (sums)", "matmul/gemm_splits.wgsl");
  call.constant("B_STEP", args.step);
  bind_x16(args, call);
  call.arena("B_PARTIALS", partials_of(args, tuning)).arena("B_Y", args.y);
  describe_epilogue(args, chunk, call);
  call.text("ROWS", fmt::format("{}u", chunk.n_rows))
      .text("UNITS", fmt::format("{}u", units(args)));
  call.number("SPLITS", tuning.n_splits).number("WG", kWorkgroup);
  const uint32_t n = is_gated(args.epilogue) ? chunk.n_rows / 2 : chunk.n_rows;
  call.grid({Extent::kOne, div_up(n, kWorkgroup), 1}, {extent_of(args.rows)}).add_to(out);
}

// Whether the loop over K is left as it is. Compilers write eight turns of it out, and four
// products of a layer with 60 KB each are fetched from memory anew in every layer. What that takes
// counts in products that are short themselves: H200, tokens/s as compilers have it, and left where
// a product has at most 20e9 multiply-adds: 8B q4_0 by 32 rows 3862 and 4704, by 256 12302 and
// 12606, by 512 13848 and 14044 (by 2048, where it is left nowhere, -4 % with all); 1B q4_0 by 512
// 71573 and 75992. Float weights have so little to be decoded that reads further ahead count for
// more (8B f16 by 32 rows 4390 and 3928), and one or two turns make no long text.
bool is_short_text(const MatmulArgs& args, const MatrixTuning& tuning) {
  constexpr uint64_t kShortWork = 20'000'000'000;
  constexpr uint32_t kFewTurns = 2;
  const uint64_t work = uint64_t{args.max_rows} * args.weight.rows * args.weight.cols;
  const uint32_t units_of_turn = tuning.n_splits * tuning.step_units * tuning.steps_ahead;
  return !args.parts && !is_float_type(args.weight.type) && work <= kShortWork &&
         units(args) > kFewTurns * units_of_turn;
}

void describe_matrix(const gpu::DeviceInfo& device, const MatmulArgs& args,
                     const MatrixTuning& tuning, const GpuWeight::Chunk& chunk,
                     std::vector<KernelCall>& out) {
  const MatrixTile tile = tile_of(device, tuning);
  const uint32_t x_items = tile.m * tuning.step_units * 4;
  const uint32_t w_items = tile.n * tuning.step_units * (is_float_type(args.weight.type) ? 4 : 1);
  const bool splits = tuning.n_splits > 1;
  Describe call = splits ? describe_weight(args, chunk, "matmul/gemm_matrix.wgsl")
                         : describe_chunk(args, chunk, "matmul/gemm_matrix.wgsl");
  bind_x16(args, call);
  if (splits) {
    call.arena("B_PARTIALS", partials_of(args, tuning));
  } else {
    call.arena("B_Y", args.y);
  }
  call.number("SG_M", tuning.subgroups_m).number("SG_N", tuning.subgroups_n);
  call.number("FRAGMENTS_M", tuning.fragments_m).number("FRAGMENTS_N", tuning.fragments_n);
  call.number("SG_K", tuning.subgroups_k).number("STEP_UNITS", tuning.step_units);
  call.number("X_PASSES", x_items / tile.workgroup).number("W_PASSES", w_items / tile.workgroup);
  call.number("SPLITS", tuning.n_splits).number("AHEAD", tuning.steps_ahead);
  call.number("SHORT_TEXT", is_short_text(args, tuning));
  call.number("AT_ONCE", matrix_products_at_once(device, tuning));
  const auto [y, z] = tile_grid(args, tile.m);
  const GridDim n_tiles{Extent::kOne, div_up(columns_of(args, chunk), tile.n), 1};
  if (args.parts) {
    call.grid(n_tiles, y, z).add_to(out);
  } else {
    call.grid(y, n_tiles, {Extent::kOne, tuning.n_splits, 1}).add_to(out);
  }
  if (splits) describe_splits(args, tuning, chunk, out);
}

}  // namespace

uint64_t matmul_scratch_bytes(const gpu::DeviceInfo&, const MatmulArgs& args,
                              const MatmulTuning& tuning) {
  if (!needs_scratch(args, tuning)) return 0;
  if (uses_matrix(tuning)) return x16_bytes(args) + partials_bytes(args, tuning.matrix);
  return (x_rows(args) * units(args) * kBytesOfUnit + 255) / 256 * 256;
}

uint64_t matmul_scratch_bytes(const gpu::DeviceInfo& device, const MatmulArgs& args) {
  return matmul_scratch_bytes(device, args, chosen_tuning(device, args));
}

XForm matmul_x_form(const gpu::DeviceInfo& device, const MatmulArgs& args) {
  const MatmulTuning tuning = chosen_tuning(device, args);
  if (!needs_scratch(args, tuning)) return XForm::kPlain;
  return uses_matrix(tuning) ? XForm::kF16 : XForm::kInt8;
}

X16 matmul_x16(const MatmulArgs& args) {
  return {{args.scratch.buffer, args.scratch.offset, x16_bytes(args)}, x16_rows(args)};
}

bool matmul_makes_norm(const gpu::DeviceInfo& device, const MatmulArgs& args) {
  return makes_norm(device, chosen_tuning(device, args));
}

std::optional<XForm> matmul_takes(const gpu::DeviceInfo& device, const MatmulArgs& args,
                                  bool normed) {
  const MatmulTuning tuning = chosen_tuning(device, args);
  // Squares are summed by subgroups, one row of x or a part of it each.
  const bool sums = device.subgroups && device.subgroup_min >= 8 &&
                    tuning.matvec.workgroup >= tuning.matvec.columns * device.subgroup_max;
  if (tuning.kernel != MatmulKernel::kMatvec || args.parts || args.x_stride != 0 ||
      args.numerics != Numerics::kFast || (normed && !sums)) {
    return std::nullopt;
  }
  if (uses_int8(args, tuning))
    return planes(args) == 1 ? std::optional(XForm::kInt8) : std::nullopt;
  const bool vectors = args.max_rows == 1 && args.weight.cols % (4 * quant::kGroupRows) == 0;
  return normed && vectors ? std::optional(XForm::kPlain) : std::nullopt;
}

bool matmul_hands(const gpu::DeviceInfo& device, const MatmulArgs& args, XForm form, bool normed) {
  const bool gated = is_gated(args.epilogue);
  const uint32_t n_out = gated ? args.weight.rows / 2 : args.weight.rows;
  if (gated == normed || args.parts || args.y_column != 0 || args.y_stride != n_out) return false;
  MatmulArgs handing = args;
  handing.hands = Handover{{}, form, {}};
  const MatmulTuning tuning = chosen_tuning(device, handing);
  const uint32_t whole =
      (form == XForm::kInt8 ? quant::kUnit : quant::kGroupRows) * (gated ? 2 : 1);
  // An invocation hands four outputs.
  const bool fours = outputs_of(handing, tuning.matvec) * tuning.matvec.columns <=
                     quant::kGroupRows * tuning.matvec.workgroup;
  return tuning.kernel == MatmulKernel::kMatvec && fours && tuning_fits(device, handing, tuning) &&
         std::all_of(args.weight.chunks.begin(), args.weight.chunks.end(),
                     [&](const GpuWeight::Chunk& chunk) { return chunk.n_rows % whole == 0; });
}

uint64_t matmul_handover_bytes(uint32_t cols, uint32_t max_rows, XForm form) {
  // Plain: the elements, then the squares of each four.
  const uint64_t bytes = form == XForm::kInt8 ? div_up(cols, quant::kUnit) * kBytesOfUnit
                                              : uint64_t{cols} * (sizeof(float) + 1);
  return (max_rows * bytes + 255) / 256 * 256;
}

base::Result<void> matmul_tuned(const gpu::DeviceInfo& device, const MatmulArgs& args,
                                const MatmulTuning& tuning, std::vector<KernelCall>& out) {
  PUNA_TRY(check(args));
  if (const uint64_t needed = matmul_scratch_bytes(device, args, tuning);
      args.scratch.bytes < needed) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("Product {} has {} bytes of scratch and needs {}.", args.label,
                                  args.scratch.bytes, needed));
  }
  if (args.norm && !makes_norm(device, tuning)) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("Product {} cannot make the norm of its input.", args.label));
  }
  const bool matvec = tuning.kernel == MatmulKernel::kMatvec;
  if (const uint32_t bytes = matvec ? matvec_workgroup_bytes(device, args, tuning.matvec) : 0;
      bytes > device.limits.max_workgroup_bytes) {
    return base::fail(base::ErrorCode::kUnsupported,
                      fmt::format("Product {} needs {} bytes of workgroup memory (limit {}).",
                                  args.label, bytes, device.limits.max_workgroup_bytes));
  }
  if (uses_matrix(tuning) && !suits(device, args, tuning.matrix)) {
    return base::fail(
        base::ErrorCode::kUnsupported,
        fmt::format("Product {} cannot run in these tiles of matrix units.", args.label));
  }
  if (needs_scratch(args, tuning) && !args.x_in_scratch)
    uses_matrix(tuning) ? halve(args, out) : quantize(args, out);
  for (const GpuWeight::Chunk& chunk : args.weight.chunks) {
    if (matvec) {
      PUNA_TRY(describe_matvec(device, args, tuning.matvec, uses_int8(args, tuning), chunk, out));
    } else if (uses_matrix(tuning)) {
      describe_matrix(device, args, tuning.matrix, chunk, out);
    } else {
      describe_gemm(args, tuning.gemm, uses_int8(args, tuning), chunk, out);
    }
  }
  return {};
}

base::Result<void> matmul(const gpu::DeviceInfo& device, const MatmulArgs& args,
                          std::vector<KernelCall>& out) {
  return matmul_tuned(device, args, chosen_tuning(device, args), out);
}

std::vector<MatmulVariant> matmul_variants() {
  std::vector<MatmulVariant> variants;
  for (const quant::TypeInfo& type : quant::types()) {
    for (const Numerics numerics : {Numerics::kExact, Numerics::kFast}) {
      if (numerics == Numerics::kFast && is_float_type(type.type)) continue;  // the same as exact
      for (uint32_t max_rows : {1u, 2u, 4u, 8u, 16u, 32u, 512u}) {
        variants.push_back({fmt::format("{} {} x{}", type.name,
                                        numerics == Numerics::kExact ? "exact" : "fast", max_rows),
                            type.type, numerics, max_rows});
      }
    }
  }
  return variants;
}

}  // namespace puna::kernels
