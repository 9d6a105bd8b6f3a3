// The tuning that a product gets: the portable default for its batch class, or what a profile has.
#include <algorithm>

#include "kernels/matmul/matmul_limits.h"
#include "kernels/profile/profile.h"

namespace puna::kernels {
namespace {

constexpr uint32_t kManyRows = 16384;      // of a weight
constexpr uint32_t kVeryManyRows = 65536;  // of one: output layers
constexpr uint32_t kFewRows = 64;          // of x, for few_rows()

// As many workgroups that share K as give `enough` of them, and as suit.
std::optional<MatrixTuning> shared_k(const gpu::DeviceInfo& device, const MatmulArgs& args,
                                     MatrixTuning t, uint32_t enough) {
  constexpr uint32_t kMostSplits = 16;
  const MatrixTile tile = tile_of(device, t);
  const uint32_t tiles = div_up(args.weight.rows, tile.n) * div_up(args.max_rows, tile.m);
  const auto steps_of = [&](uint32_t n_splits) { return units(args) / (n_splits * t.step_units); };
  while (tiles * t.n_splits < enough && t.n_splits < kMostSplits && steps_of(t.n_splits) >= 4)
    t.n_splits *= 2;
  while (t.n_splits > 1 && !suits(device, args, t)) t.n_splits /= 2;
  return suits(device, args, t) ? std::optional(t) : std::nullopt;
}
// Of large tiles: nearly one for each core of a large GPU. More of them would come in a second
// turn, which lasts as long as the first. H200, q4_0, us with 128 and 256 workgroups: 4096 x 14336
// by 256 rows 140 and 149, 4096 x 4096 by 256 rows 50 and 59; with 96 and 192: 6144 x 4096 by 128
// rows 49 and 58.
constexpr uint32_t kEnoughTiles = 96;

// Up to 64 rows, of texts that are written or of a short prompt: all of them in one tile, so that
// each weight is read and decoded once. What counts is that enough of the weight is on its way:
// many subgroups, along K too, and workgroups that share K where there are few tiles. H100, step of
// an 8B in q4_0 with 32 and 64 rows, ms: 11.9 and 14.4; in the tiles of prefill 17.9 and 19.5. With
// 16 rows they take 8.9 ms on an H200, where mat-vecs take 6.8.
// For large weights two steps are requested ahead, which saves more than many workgroups do: the
// same step 10.5 and 13.1 ms. q4_0 by 64 rows, us: 28672 x 4096 108 (one step ahead 126, two splits
// 131, the tiles of prefill 161), 4096 x 14336 with four splits 55 (eight 58).
// Up to 32 rows 128 weight rows share those of x. All workgroups have to be on the cores at once,
// or the last few take as long as all others, which is why their memory counts. q4_0 by 32 rows,
// us, tiles of 64 rows and these: 28672 x 4096 85 and 73, 4096 x 14336 47 (four splits) and 38
// (eight), 6144 x 4096 27 and, in tiles of 64 by half as many subgroups along K, 21. 8B with 32
// texts, tokens a second: q4_0 3,040 and 3,480, q4_k_m 2,732 and 3,305.
// Small weights by 33 to 64 rows do best in tiles of prefill that share K. H200, q4_0 by 64 rows,
// us, one step ahead in tiles of 64 weight rows that share K up to sixteen times, and so: 2048 x
// 2048 15.3 and 13.2, 3072 x 2048 20.6 and 17.5, 2048 x 8192 34.9 and 26.0, 16384 x 2048 55.0 and
// 40.1.
std::optional<MatrixTuning> few_rows(const gpu::DeviceInfo& device, const MatmulArgs& args) {
  if (!has_matrix(device, args)) return std::nullopt;
  constexpr uint32_t kLargeSide = 4096;
  const uint32_t fragments = div_up(args.max_rows, device.matrix.m);
  const bool large = args.weight.rows >= kLargeSide && args.weight.cols >= kLargeSide;
  if (fragments == 1) {
    const bool wide = args.weight.rows >= kManyRows;
    return wide ? shared_k(device, args, {1, 2, 2, 1, 2, 2, 1, /*steps_ahead=*/2}, 190)
                : shared_k(device, args, {1, 1, 8, 1, 4, 4, 1, /*steps_ahead=*/2}, 250);
  }
  if (large) {
    constexpr uint32_t kManyTiles = 16384, kLongTiles = 8192;
    const bool whole_gpu = args.weight.rows >= kManyTiles || args.weight.cols >= kLongTiles;
    MatrixTuning ahead = {1, 1, 4, fragments, 4, 2, /*n_splits=*/1, /*steps_ahead=*/2};
    if (fragments <= 2) {
      ahead.subgroups_n = whole_gpu ? 4 : 2;
      ahead.subgroups_k = ahead.fragments_n = 2;
    }
    if (const auto fitting =
            shared_k(device, args, ahead, fragments <= 2 && !whole_gpu ? 250 : 190))
      return fitting;
  } else if (fragments > 2) {
    if (const auto fitting =
            shared_k(device, args, {2, 2, 2, div_up(fragments, 2), 4, 2}, kEnoughTiles))
      return fitting;
  }
  return shared_k(device, args, {1, 2, 4, fragments, 2, 4}, fragments <= 2 ? 700 : 350);
}

// Whether 9 to 16 rows of x, which mat-vecs read the weight twice for, do better in tiles of matrix
// units: where the product is so large that it makes up for what mat-vecs hand to the next
// product, a norm and int8. q4_0, whose mat-vecs are the fastest, has to be wide as well. H100, us
// of a mat-vec and of tiles: 28672 x 4096 q4_0 78 and 62, q4_k 86 and 61; 4096 x 14336 q4_0 42 and
// 33, q4_k 63 and 33, with 3 for the sums. 8B with 16 texts, tokens a second, q4_0 and q4_k_m:
// without tiles 2228 and 1810, with tiles for wide products 2279 and 2006, for long ones too 2175
// and 2100, for those of 16 million weights too 1958 and 1878.
bool pays_in_tiles(const MatmulArgs& args) {
  constexpr uint64_t kLargeProduct = 40'000'000;  // weights
  if (args.parts || args.max_rows <= kMatvecRows / 2 || is_float_type(args.weight.type))
    return false;
  const bool wide = args.weight.rows >= kManyRows;
  return uint64_t{args.weight.rows} * args.weight.cols >= kLargeProduct &&
         (wide || args.weight.type != quant::Type::kQ4_0);
}

constexpr MatrixTuning kLarge = {2, 2, 1, 4, 4, 1}, kTwoSets = {2, 2, 2, 4, 4, 2},
                       kSmall = {2, 2, 1, 2, 2, 2}, kSmallest = {2, 2, 1, 2, 2, 1};

// Cores of the GPU that was measured, an H200. Each has registers for two workgroups of large tiles
// by one set of subgroups, or for one by two sets.
constexpr uint32_t kCores = 132;

// What part of the places of workgroups is in use, on average, until the last of them ends.
double places_in_use(uint32_t workgroups, uint32_t places) {
  return static_cast<double>(workgroups) / (div_up(workgroups, places) * places);
}

// Whether large tiles do better by one set of subgroups than by two along K. Two workgroups of one
// set on a core wait at different times, which gains 5 % and more with weights of few bits, 2 %
// with floats and nothing with q8_0; what decides is how many places the last turn leaves empty.
// H200, TFLOPS, one set / two: by 2048 rows 28672 x 4096 q4_0 242 / 229, q2_k 248 / 231, q6_k 217 /
// 200, f16 253 / 253, q8_0 213 / 225; 4096 x 14336 (512 tiles) q4_0 253 / 238, f16 283 / 273, q8_0
// 231 / 221; 3072 x 2048 (384) q4_0 174 / 189, f16 181 / 223. By 512 rows 28672 x 4096 (896) q4_0
// 214 / 228, f16 221 / 244; 16384 x 2048 (512) q4_0 221 / 190; 6144 x 4096 (192) f16 190 / 183;
// 4096 x 14336 (128) q4_0 133 / 231.
// Steps of more than 512 rows have from half of their class to all of it (large-steps.md), so both
// count: 6144 x 4096 f16 by 2048 rows (768) 253 / 250, by 1024 (384) 201 / 253.
bool pays_as_one_set(const MatmulArgs& args, uint32_t tiles) {
  constexpr uint32_t kSmallStep = 512;
  const bool few_bits = quant::info(args.weight.type).bits_per_weight() < 8.0;
  const double gain = is_float_type(args.weight.type) ? 1.02 : few_bits ? 1.05 : 1.0;
  const auto in_use = [&](uint32_t places) {
    const double all = places_in_use(tiles, places);
    return args.max_rows <= kSmallStep ? all : (all + places_in_use(div_up(tiles, 2), places)) / 2;
  };
  return gain * in_use(2 * kCores) > in_use(kCores);
}

// Large tiles; where they are too few to fill a GPU, several share K, and where that cannot be,
// they are small. H200, small tiles, and two workgroups that share K, us: 2048 x 8192 by 512 rows
// (64 tiles) q4_0 118 / 82, 2048 x 2048 (64) 37 / 34; by 256 rows 4096 x 14336 (64) q4_k 198 / 139,
// f16 195 / 127.
std::optional<MatrixTuning> default_matrix(const gpu::DeviceInfo& device, const MatmulArgs& args) {
  if (args.max_rows <= kMatvecRows)
    return pays_in_tiles(args) ? few_rows(device, args) : std::nullopt;
  if (!args.parts && args.max_rows <= kFewRows) {
    if (const auto few = few_rows(device, args)) return few;
  }
  constexpr uint32_t kFew = 88;
  const std::vector<MatrixTuning> fitting = matrix_tiles(device, args);
  if (fitting.empty()) return std::nullopt;
  if (args.parts && args.parts->routes) return fitting.front();
  const MatrixTile large = tile_of(device, kLarge);
  const uint32_t tiles = div_up(work_rows(args), large.n) * div_up(args.max_rows, large.m);
  const bool one_set = pays_as_one_set(args, tiles);
  const auto shared = shared_k(device, args, kTwoSets, kEnoughTiles);
  if (shared && shared->n_splits > 1) return shared;
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
    // 256 343 to 423. An output layer of 128256 rows by 1024: 526 -> 532, others by 1024: 486 to
    // 507.
    matvec.workgroup =
        std::min(n_rows >= kVeryManyRows ? 1024u : 512u, device.limits.max_workgroup_invocations);
    matvec.lanes = n_rows >= kManyRows ? subgroup : 2 * subgroup;
    // More lanes than units would be idle.
    while (matvec.lanes > subgroup && matvec.lanes >= 2 * n_units) matvec.lanes /= 2;
  } else if (is_float_type(args.weight.type) && args.max_rows == 1 && !software) {
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
      const bool idle = !is_float_type(args.weight.type) && matvec.lanes >= 2 * n_units;
      if (!idle && n_rows / (2 * rows) < kEnough) break;
    }
  }
  // H200, an 8B in q4_0 with 4, 8 and 16 rows, tokens/s: 1250, 1733 and 2244 with workgroups of
  // 128, 1250, 1919 and 2355 with 256, 1200, 1888 and 2317 with 512; with teams of two groups 1253,
  // 1349 and 1802; with prefetch 1283, 1740 and 2145, as eight rows leave no registers for it.
  if (tuning.int8 && args.max_rows > 1 && !args.parts && !software && device.subgroups) {
    matvec.workgroup = std::min(2 * matvec.workgroup, device.limits.max_workgroup_invocations);
    matvec.prefetch = matvec.columns <= 4;
  }
  // Gated pairs need two groups in a workgroup.
  if (is_gated(args.epilogue) && matvec.lanes == matvec.workgroup) matvec.groups = 2;
  const auto too_large = [&] {
    return matvec_workgroup_bytes(device, args, matvec) > device.limits.max_workgroup_bytes;
  };
  if (matvec.own_int8 && too_large()) matvec.workgroup = std::min(matvec.workgroup, 512u);
  if (too_large()) matvec.own_int8 = false;
  // Without whole subgroups every invocation keeps its sums in workgroup memory.
  while (too_large() && matvec.columns > 1) matvec.columns /= 2;
  return tuning;
}

// A tuning as what is handed in and on needs it: bytes leave in whole units. With many rows of x
// more groups of a team would be more sums in registers than there is room for (gate and up of an
// 8B with 8 rows 66 us, by larger workgroups 53).
MatmulTuning suited(const gpu::DeviceInfo& device, const MatmulArgs& args, MatmulTuning tuning) {
  MatvecTuning& matvec = tuning.matvec;
  if (args.handed) matvec.own_int8 = false;
  // Where x comes as bytes and nothing is handed on (q, k and v), a workgroup has little to do
  // before and after its weights, and smaller ones are dealt more evenly. H200, 8B q4_0: 526 -> 531
  // tok/s; by 128 530; what hands on is slower by less than 512 (491 to 515).
  if (args.handed && !args.hands && args.max_rows == 1)
    matvec.workgroup = std::min(matvec.workgroup, std::max(256u, 2 * matvec.lanes));
  const uint32_t largest = std::min(512u, device.limits.max_workgroup_invocations);
  while (args.hands && args.hands->form == XForm::kInt8 &&
         outputs_of(args, matvec) % quant::kUnit != 0) {
    const bool larger = args.max_rows > 1 && 2 * matvec.workgroup <= largest;
    (larger ? matvec.workgroup : matvec.groups) *= 2;
  }
  return tuning;
}

MatmulTuning chosen_tuning(const gpu::DeviceInfo& device, const MatmulArgs& args) {
  const MatmulTuning portable = suited(device, args, default_tuning(device, args));
  // Products of several matrices are not tuned.
  if (args.profile == nullptr || args.parts) return portable;
  const std::string_view role = matmul_role(args, portable);
  const KnobValues* values = args.profile->find(matmul_key(args, role));
  MatmulTuning tuned = portable;
  if (values == nullptr || !write_knobs(matmul_knobs(role), *values, tuned)) return portable;
  tuned = suited(device, args, tuned);
  return tuning_fits(device, args, tuned) ? tuned : portable;
}

}  // namespace puna::kernels
