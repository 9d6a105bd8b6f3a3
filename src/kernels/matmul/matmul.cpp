// The GPU form of matmul.h: picks a template for the batch class and describes its calls, one for
// each chunk of the weight.
#include "kernels/matmul/matmul.h"

#include <algorithm>

#include "kernels/common/describe.h"
#include "kernels/common/step.h"
#include "kernels/common/weight_defines.h"
#include "kernels/matmul/matmul_gpu.h"
#include "kernels/matmul/matmul_parts.h"
#include "kernels/profile/profile.h"
#include "quant/planes.h"

namespace puna::kernels {
namespace {

constexpr uint32_t kManyRows = 16384;            // of a weight
constexpr uint32_t kFewest = 8, kFewRows = 128;  // of x, for few_rows()
constexpr uint32_t kHalveWorkgroup = 256;        // x_as_f16.wgsl
constexpr uint32_t kQuantizeWorkgroup = 64;      // quantize.wgsl
constexpr uint32_t kTileColumns = 64;            // gemm.wgsl: weight rows of a tile
constexpr uint64_t kBytesOfUnit = 48;     // int8 activations: 32 codes and a vec4 of scale and sums
constexpr uint32_t kOwnBytesOfUnit = 40;  // the same in workgroup memory
constexpr uint32_t kTileBytesOfUnit = 48;  // gemm_int8.wgsl: codes and at most a vec4

bool is_float(quant::Type type) { return quant::info(type).block_elements == 1; }
bool may_use_int8(const MatmulArgs& args) {
  return args.numerics == Numerics::kFast && !is_float(args.weight.type);
}
bool uses_int8(const MatmulArgs& args, const MatmulTuning& tuning) {
  return tuning.int8 && may_use_int8(args);
}
uint32_t planes(const MatmulArgs& args) {
  return args.max_rows <= kMatvecRows && !args.parts ? args.x_planes : 1;
}
uint32_t units(const MatmulArgs& args) { return div_up(args.weight.cols, quant::kUnit); }
// f32 and bf16 weights keep a range or precision that f16 has not.
bool fits_f16(quant::Type type) { return type != quant::Type::kF32 && type != quant::Type::kBf16; }
bool uses_matrix(const MatmulTuning& tuning) { return tuning.kernel == MatmulKernel::kMatrix; }
bool needs_scratch(const MatmulArgs& args, const MatmulTuning& tuning) {
  if (uses_matrix(tuning)) return true;
  return uses_int8(args, tuning) && !args.handed &&
         !(tuning.kernel == MatmulKernel::kMatvec && tuning.matvec.own_int8);
}

// Subgroups sum a team when it is made of whole ones; matvec.wgsl decides by the same rule.
bool sums_by_subgroup(const gpu::DeviceInfo& device, const MatvecTuning& tuning) {
  return device.subgroups && device.subgroup_min > 0 && tuning.lanes >= device.subgroup_max;
}

// matvec_quantize.wgsl takes the norm's squares along where it works by subgroups.
bool makes_norm(const gpu::DeviceInfo& device, const MatmulTuning& tuning) {
  return tuning.kernel == MatmulKernel::kMatvec && tuning.matvec.own_int8 && device.subgroups &&
         device.subgroup_min >= 8;
}

// Outputs of a workgroup.
uint32_t outputs_of(const MatmulArgs& args, const MatvecTuning& tuning) {
  const uint32_t groups = tuning.workgroup / tuning.lanes * tuning.groups;
  return groups * (is_gated(args.epilogue) ? quant::kGroupRows / 2 : quant::kGroupRows);
}

uint32_t matvec_workgroup_bytes(const gpu::DeviceInfo& device, const MatmulArgs& args,
                                const MatvecTuning& tuning) {
  const uint32_t parts =
      sums_by_subgroup(device, tuning) ? tuning.workgroup / device.subgroup_min : tuning.workgroup;
  // The bytes of x and, for a norm, the sums of squares.
  const uint32_t own = tuning.own_int8
                           ? units(args) * k_slots(args) * planes(args) * kOwnBytesOfUnit +
                                 tuning.workgroup / std::max(8u, device.subgroup_min) * 4
                       : args.handed ? tuning.workgroup / std::max(8u, device.subgroup_min) * 4
                                     : 0;
  const uint32_t finished =
      args.hands ? outputs_of(args, tuning) * tuning.columns * uint32_t{sizeof(float)} : 0;
  return parts * tuning.groups * tuning.columns * 16 + own + finished;
}

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
  if (args.max_rows == 0 || args.max_rows > kMaxStepTokens) {
    return refuse(fmt::format("is asked for {} rows (limit {})", args.max_rows, kMaxStepTokens));
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

// x as f16, with the powers of two behind it.
uint64_t x16_bytes(const MatmulArgs& args) {
  return (x_rows(args) * (uint64_t{units(args)} * 64 + 16) + 255) / 256 * 256;
}
void bind_x16(const MatmulArgs& args, Describe& call) {
  const Slice place{args.scratch.buffer, args.scratch.offset, x16_bytes(args)};
  call.arena("B_X16", place).text("X16_ROWS", fmt::format("{}u", x_rows(args)));
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
  const bool whole_rows = is_float(args.weight.type) && k_slots(args) == 1;
  call.number("PREFETCH", tuning.prefetch && (int8 || whole_rows));
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

// Bytes of workgroup memory of gemm_int8.wgsl.
uint32_t gemm_workgroup_bytes(const GemmTuning& t) {
  return t.sets * t.step_units * 8 * (t.rows + t.teams) * kTileBytesOfUnit;
}

struct MatrixTile {
  uint32_t m = 0, n = 0;  // rows of x and of the weight
  uint32_t workgroup = 0;
};
MatrixTile tile_of(const gpu::DeviceInfo& device, const MatrixTuning& t) {
  return {.m = t.subgroups_m * t.fragments_m * device.matrix.m,
          .n = t.subgroups_n * t.fragments_n * device.matrix.n,
          .workgroup = t.subgroups_m * t.subgroups_n * t.subgroups_k * device.subgroup_max};
}

// Behind x as f16, for the largest chunk.
uint64_t partials_bytes(const MatmulArgs& args, const MatrixTuning& tuning) {
  if (tuning.n_splits == 1) return 0;
  uint64_t rows = 0;
  for (const GpuWeight::Chunk& chunk : args.weight.chunks)
    rows = std::max<uint64_t>(rows, chunk.n_rows);
  return tuning.n_splits * x_rows(args) * rows * sizeof(float);
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

void describe_matrix(const gpu::DeviceInfo& device, const MatmulArgs& args,
                     const MatrixTuning& tuning, const GpuWeight::Chunk& chunk,
                     std::vector<KernelCall>& out) {
  const MatrixTile tile = tile_of(device, tuning);
  const uint32_t x_items = tile.m * tuning.step_units * 4;
  const uint32_t w_items = tile.n * tuning.step_units * (is_float(args.weight.type) ? 4 : 1);
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
  call.number("SPLITS", tuning.n_splits);
  const auto [y, z] = tile_grid(args, tile.m);
  const GridDim n_tiles{Extent::kOne, div_up(columns_of(args, chunk), tile.n), 1};
  if (args.parts) {
    call.grid(n_tiles, y, z).add_to(out);
  } else {
    call.grid(y, n_tiles, {Extent::kOne, tuning.n_splits, 1}).add_to(out);
  }
  if (splits) describe_splits(args, tuning, chunk, out);
}

// Bytes of workgroup memory of gemm_matrix.wgsl.
uint32_t matrix_workgroup_bytes(const gpu::DeviceInfo& device, const MatrixTuning& t) {
  const MatrixTile tile = tile_of(device, t);
  return (tile.m + tile.n) * (t.step_units * 4 + 1) * 16 +
         t.subgroups_m * t.subgroups_n * t.subgroups_k * device.matrix.m * device.matrix.n * 4;
}

// Matrix units serve a product when they take f16 in whole units, and subgroups have one size.
bool has_matrix(const gpu::DeviceInfo& device, const MatmulArgs& args) {
  return args.numerics == Numerics::kFast && args.max_rows > (args.parts ? kMatvecRows : 1) &&
         device.f16 && device.matrix.k >= 8 && 32 % device.matrix.k == 0 &&
         device.matrix.n % 8 == 0 && device.subgroup_min > 0 &&
         device.subgroup_min == device.subgroup_max && fits_f16(args.weight.type);
}

// The tile can be filled in whole passes of the workgroup, and the device can hold it.
bool suits(const gpu::DeviceInfo& device, const MatmulArgs& args, const MatrixTuning& t) {
  const MatrixTile tile = tile_of(device, t);
  const uint32_t w_items = tile.n * t.step_units * (is_float(args.weight.type) ? 4 : 1);
  const bool splits_fit =
      t.n_splits == 1 || (!args.parts && units(args) % (t.n_splits * t.step_units) == 0);
  return splits_fit && tile.m * t.step_units * 4 % tile.workgroup == 0 &&
         tile.workgroup % (t.step_units * 4) == 0 && w_items % tile.workgroup == 0 &&
         t.step_units * 32 % (device.matrix.k * t.subgroups_k) == 0 &&
         tile.workgroup <= device.limits.max_workgroup_invocations &&
         matrix_workgroup_bytes(device, t) <= device.limits.max_workgroup_bytes;
}

// Few rows, of texts that are written: all of them in one tile, so that each weight is read and
// decoded once. What counts is that enough of the weight is on its way: many subgroups, along K
// too, and workgroups that share K where there are few tiles. H100, step of an 8B in q4_0 with 16,
// 32, 64 and 128 rows, ms: 9.0, 11.3, 14.7 and 19.5; in the tiles of prefill - (10.5 as
// mat-vecs), 17.9, 19.5 and 20.7; with one subgroup or two a workgroup 12.1 and 22.3, with f16
// arithmetic for the decoding no better.
std::optional<MatrixTuning> few_rows(const gpu::DeviceInfo& device, const MatmulArgs& args) {
  if (!has_matrix(device, args)) return std::nullopt;
  constexpr uint32_t kMostSplits = 16;
  const uint32_t enough = args.max_rows <= 32 ? 700 : args.max_rows <= 64 ? 350 : 190;
  const uint32_t fragments = div_up(args.max_rows, device.matrix.m);
  MatrixTuning t{1, 2, 4, fragments, 2, 4};
  if (fragments > 4) t = {2, 4, 1, div_up(fragments, 2), 2, 2};
  const uint32_t tiles = div_up(args.weight.rows, tile_of(device, t).n);
  const auto steps_of = [&](uint32_t n_splits) { return units(args) / (n_splits * t.step_units); };
  while (tiles * t.n_splits < enough && t.n_splits < kMostSplits && steps_of(t.n_splits) >= 4)
    t.n_splits *= 2;
  while (t.n_splits > 1 && !suits(device, args, t)) t.n_splits /= 2;
  return suits(device, args, t) ? std::optional(t) : std::nullopt;
}

constexpr MatrixTuning kLarge = {2, 2, 1, 4, 4, 1}, kTwoSets = {2, 2, 2, 4, 4, 2},
                       kSmall = {2, 2, 1, 2, 2, 2}, kSmallest = {2, 2, 1, 2, 2, 1};

// Large tiles by two sets of subgroups along K; where they are too few to fill a GPU, small ones.
// One set is a little faster in between, unless weights of a byte or more have so little to be
// decoded that more loads in flight are worth more. H200, 512 rows, TFLOPS, one set / two sets:
// 28672 x 4096 (896 tiles) q4_0 198 / 226, q8_0 191 / 231, f16 203 / 247; 16384 x 2048 (512) q4_0
// 203 / 197, f16 198 / 213; 6144 x 4096 (192) q4_0 172 / 168, q8_0 162 / 171, f16 170 / 183;
// 4096 x 14336 (128) q4_0 125 / 236. 2048 x 2048 (64) 100 with either, 170 by small tiles.
std::optional<MatrixTuning> default_matrix(const gpu::DeviceInfo& device, const MatmulArgs& args) {
  if (!args.parts && args.max_rows > kFewest && args.max_rows <= kFewRows) {
    if (const auto few = few_rows(device, args)) return few;
  }
  if (args.max_rows <= kMatvecRows) return std::nullopt;
  constexpr uint32_t kFew = 88, kEnough = 160, kMany = 600;
  const std::vector<MatrixTuning> fitting = matrix_tiles(device, args);
  if (fitting.empty()) return std::nullopt;
  if (args.parts && args.parts->routes) return fitting.front();
  const MatrixTile large = tile_of(device, kLarge);
  const uint32_t tiles = div_up(work_rows(args), large.n) * div_up(args.max_rows, large.m);
  const bool one_set =
      tiles >= kEnough && tiles < kMany && quant::info(args.weight.type).bits_per_weight() < 8;
  const auto pays = [&](const MatrixTuning& t) {
    const bool is_large = t.fragments_m == kLarge.fragments_m;
    return tiles < kFew ? !is_large : t.subgroups_k == 1 || !one_set;
  };
  const auto best = std::find_if(fitting.begin(), fitting.end(), pays);
  return best == fitting.end() ? std::nullopt : std::optional(*best);
}

// Sets of invocations that share K where there are few tiles, so that a GPU has enough in flight;
// where there are very few, smaller ones and more units between barriers. H200, q4_0, us with one,
// two and four sets: 28672 x 4096 by 64 rows (448 tiles) 224, 234 and 261; 3072 x 2048 by 512 (384)
// 108, 93 and 108; 6144 x 4096 by 64 (96) 125, 77 and 68; 4096 x 4096 by 64 (64) 125, 82 and 69,
// with the smaller ones 44.
GemmTuning default_gemm(const gpu::DeviceInfo& device, const MatmulArgs& args, bool int8) {
  constexpr uint32_t kEnough = 430, kFew = 160, kVeryFew = 88;
  if (args.parts && args.parts->routes) {
    const uint32_t rows = matmul_tile_rows(args.max_rows, args.parts->n_parts, args.parts->n_slots);
    return {.rows = rows / 8};
  }
  // Larger tiles are longer, unrolled text, from which a software adapter gains nothing. Of f32
  // tiles, f16 weights of 4096 x 4096 and 14336 x 4096, TFLOPS with four rows an invocation and
  // with eight: by 512 rows 31.9 and 32.3, 18.9 and 25.6; by 64 rows 11.3 and 25.8, 4.3 and 14.9.
  if (!int8 || device.slow_compiler) return {.rows = 4};
  GemmTuning tuning;
  if (args.max_rows <= 32) tuning.rows = 4;
  const uint32_t tiles = div_up(work_rows(args), kTileColumns) * div_up(args.max_rows, 64);
  if (tiles < kVeryFew) {
    tuning = {.rows = 4, .step_units = 2, .sets = 4};
  } else if (tiles < kFew) {
    tuning.sets = 4;
  } else if (tiles < kEnough || tuning.rows == 4) {
    tuning.sets = 2;
  }
  while (gemm_workgroup_bytes(tuning) > device.limits.max_workgroup_bytes) {
    // Two sets of one unit are faster than one of two (67 and 88 us in the last case).
    (tuning.sets == 2 && tuning.step_units == 2 ? tuning.step_units : tuning.sets) /= 2;
  }
  return tuning;
}

}  // namespace

std::vector<MatrixTuning> matrix_tiles(const gpu::DeviceInfo& device, const MatmulArgs& args) {
  std::vector<MatrixTuning> fitting;
  if (!has_matrix(device, args)) return fitting;
  if (args.parts && args.parts->routes) {
    // As many rows as the list of tiles goes by.
    const uint32_t rows = matmul_tile_rows(args.max_rows, args.parts->n_parts, args.parts->n_slots);
    const uint32_t fragments = rows / (2 * device.matrix.m);
    for (const uint32_t step_units : {2u, 1u}) {
      const MatrixTuning tuning{2, 2, 1, fragments, 2, step_units};
      if (fragments > 0 && suits(device, args, tuning)) fitting.push_back(tuning);
    }
    return fitting;
  }
  for (const MatrixTuning& tuning : {kTwoSets, kLarge, kSmall, kSmallest}) {
    if (suits(device, args, tuning)) fitting.push_back(tuning);
  }
  return fitting;
}

MatmulTuning default_tuning(const gpu::DeviceInfo& device, const MatmulArgs& args) {
  MatmulTuning tuning;
  tuning.int8 =
      may_use_int8(args) &&
      (args.profile == nullptr || args.profile->activations(args.max_rows) == Activations::kInt8);
  if (const auto matrix = default_matrix(device, args)) {
    tuning.kernel = MatmulKernel::kMatrix;
    tuning.matrix = *matrix;
    return tuning;
  }
  if (args.max_rows > kMatvecRows) {
    tuning.kernel = MatmulKernel::kGemm;
    tuning.gemm = default_gemm(device, args, uses_int8(args, tuning));
    return tuning;
  }
  const bool software = device.type == gpu::AdapterType::kSoftware;
  MatvecTuning& matvec = tuning.matvec;
  matvec.columns = args.parts ? 1 : std::min(args.max_rows, software ? 4u : 8u);
  const uint32_t n_rows = work_rows(args);
  const uint32_t n_units = units(args) * k_slots(args);
  matvec.own_int8 = tuning.int8 && args.max_rows == 1;
  // The text is compiled in up to ten times as long (llvmpipe, rows of 1536 q4_k: 3.1 and 0.3 s).
  matvec.prefetch = matvec.own_int8 && !device.slow_compiler;
  // Slots whose part lies in another chunk are passed over, so nothing is known of the next turn.
  if (k_slots(args) > 1 && args.weight.chunks.size() > 1) matvec.prefetch = false;
  const uint32_t subgroup = device.subgroups ? std::max(device.subgroup_max, 32u) : 32u;
  if (matvec.own_int8 && !software) {
    // Large workgroups, so that x is made bytes by few of them; long teams where there are few
    // rows, so that enough loads are in flight. H200, 8B q4_0: 468 tok/s, with workgroups of 128 to
    // 256 343 to 423.
    matvec.workgroup = std::min(512u, device.limits.max_workgroup_invocations);
    matvec.lanes = n_rows >= kManyRows ? subgroup : 2 * subgroup;
    // More lanes than units would be idle.
    while (matvec.lanes > subgroup && matvec.lanes >= 2 * n_units) matvec.lanes /= 2;
  } else if (is_float(args.weight.type) && args.max_rows == 1 && !software) {
    // One long team: rows are wide, and x is read once for it. H200, f16 4096 x 14336: 31 us, with
    // teams of 64 36 us, of 32 57 us.
    const uint32_t vectors =
        n_units * quant::kUnit * (args.weight.type == quant::Type::kF32 ? 4 : 2) / 16;
    matvec.workgroup = std::min(256u, device.limits.max_workgroup_invocations);
    while (matvec.workgroup > 2 * subgroup && matvec.workgroup >= 2 * vectors)
      matvec.workgroup /= 2;
    matvec.lanes = matvec.workgroup;
    matvec.prefetch = true;
  } else {
    // Many workgroups first, so that all cores have some; then more weight rows in each, so that x
    // is read less often.
    constexpr uint32_t kEnough = 512;
    if (args.max_rows == 1 && n_rows >= 16 * kEnough) matvec.workgroup = 256;
    for (matvec.lanes = matvec.workgroup; matvec.lanes > subgroup; matvec.lanes /= 2) {
      const uint32_t rows = matvec.workgroup / matvec.lanes * quant::kGroupRows;
      const bool idle = !is_float(args.weight.type) && matvec.lanes >= 2 * n_units;
      if (!idle && n_rows / (2 * rows) < kEnough) break;
    }
  }
  // Gated pairs need two groups in a workgroup.
  if (is_gated(args.epilogue) && matvec.lanes == matvec.workgroup) matvec.groups = 2;
  if (matvec_workgroup_bytes(device, args, matvec) > device.limits.max_workgroup_bytes)
    matvec.own_int8 = false;
  // Without whole subgroups every invocation keeps its sums in workgroup memory.
  while (matvec_workgroup_bytes(device, args, matvec) > device.limits.max_workgroup_bytes &&
         matvec.columns > 1) {
    matvec.columns /= 2;
  }
  return tuning;
}

// A tuning as what is handed in and on needs it: bytes leave in whole units.
MatmulTuning suited(const MatmulArgs& args, MatmulTuning tuning) {
  MatvecTuning& matvec = tuning.matvec;
  if (args.handed) matvec.own_int8 = false;
  while (args.hands && args.hands->form == XForm::kInt8 &&
         outputs_of(args, matvec) % quant::kUnit != 0) {
    matvec.groups *= 2;
  }
  return tuning;
}

bool tuning_fits(const gpu::DeviceInfo& device, const MatmulArgs& args,
                 const MatmulTuning& tuning) {
  const gpu::Limits& limits = device.limits;
  if (tuning.kernel == MatmulKernel::kMatrix)
    return has_matrix(device, args) && suits(device, args, tuning.matrix);
  if (tuning.kernel == MatmulKernel::kGemm) {
    // The f32 form has one shape of workgroup, which every device takes.
    if (!uses_int8(args, tuning)) return true;
    const GemmTuning& t = tuning.gemm;
    return 8 * t.teams * t.sets <= limits.max_workgroup_invocations &&
           gemm_workgroup_bytes(t) <= limits.max_workgroup_bytes;
  }
  const MatvecTuning& t = tuning.matvec;
  const bool odd = t.lanes == 0 || t.workgroup % t.lanes != 0;
  return !odd && t.workgroup <= limits.max_workgroup_invocations &&
         (!is_gated(args.epilogue) || t.workgroup / t.lanes * t.groups % 2 == 0) &&
         matvec_workgroup_bytes(device, args, t) <= limits.max_workgroup_bytes;
}

MatmulTuning chosen_tuning(const gpu::DeviceInfo& device, const MatmulArgs& args) {
  const MatmulTuning portable = suited(args, default_tuning(device, args));
  // Products of several matrices are not tuned.
  if (args.profile == nullptr || args.parts) return portable;
  const std::string_view role = matmul_role(args, portable);
  const KnobValues* values = args.profile->find(matmul_key(args, role));
  MatmulTuning tuned = portable;
  if (values == nullptr || !write_knobs(matmul_knobs(role), *values, tuned)) return portable;
  tuned = suited(args, tuned);
  return tuning_fits(device, args, tuned) ? tuned : portable;
}

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

bool matmul_makes_norm(const gpu::DeviceInfo& device, const MatmulArgs& args) {
  return makes_norm(device, chosen_tuning(device, args));
}

std::optional<XForm> matmul_takes(const gpu::DeviceInfo& device, const MatmulArgs& args,
                                  bool normed) {
  const MatmulTuning tuning = chosen_tuning(device, args);
  // Squares are summed by subgroups.
  const bool sums = args.max_rows == 1 && device.subgroups && device.subgroup_min >= 8;
  if (tuning.kernel != MatmulKernel::kMatvec || args.parts || args.x_stride != 0 ||
      args.numerics != Numerics::kFast || (normed && !sums)) {
    return std::nullopt;
  }
  if (uses_int8(args, tuning))
    return planes(args) == 1 ? std::optional(XForm::kInt8) : std::nullopt;
  return normed && args.weight.cols % (4 * quant::kGroupRows) == 0 ? std::optional(XForm::kPlain)
                                                                   : std::nullopt;
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
      if (numerics == Numerics::kFast && is_float(type.type)) continue;  // the same as exact
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
