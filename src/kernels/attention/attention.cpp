// GPU form of attention.h: few rows go to the split kernel and its combine, many to the tiled one.
#include "kernels/attention/attention.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numbers>
#include <optional>

#include "kernels/attention/attention_gpu.h"
#include "kernels/common/describe.h"
#include "kernels/common/kv_call.h"
#include "kernels/common/matrix_units.h"
#include "kernels/profile/profile.h"
#include "kernels/rope/rope_call.h"
#include "quant/planes.h"

namespace puna::kernels {
namespace {

// Batch classes up to this many rows decode, unless they are of prompts: one workgroup a row reads
// all of its keys, which pays while rows share none. Those above kMatvecRows have steps of nothing
// else.
constexpr uint32_t kDecodeRows = 128;

// Names in profiles.
constexpr std::string_view kDecodeRole = "attention_decode", kPrefillRole = "attention_prefill";

// Decode.
constexpr uint32_t kDecodeWorkgroup = 128;
constexpr uint32_t kMinSplits = 4;
constexpr uint32_t kHeadUnits = 8;       // heads * steps, at most: 16 floats each in registers
constexpr uint32_t kRegisterUnits = 12;  // those and the keys in flight
constexpr uint32_t kMaxKeys = 4;
constexpr uint32_t kMergeBytes = 8192;    // workgroup memory for merging
constexpr uint32_t kCombineRunners = 16;  // over the splits of a head

// Prefill: the first shape that fits workgroup memory and registers is taken.
constexpr std::array<AttentionPrefillTuning, 10> kPrefillTiles = {{
    {8, 8, 16},
    {8, 16, 16},
    {4, 16, 16},
    {4, 8, 16},
    {4, 16, 8},
    {4, 8, 8},
    {2, 16, 16},
    {2, 8, 16},
    {2, 8, 8},
    {1, 8, 4},
}};
// Compiled quickly, and nearly as fast on a software adapter: llvmpipe, prefill of 400 tokens with
// heads of 64 and of 256, tokens a second, with {4, 8, 16}, this one and the last one: 56, 54
// and 45; 57, 55 and 45. Compiled in 9.4, 3.0 and 1.6 s with heads of 64.
constexpr AttentionPrefillTuning kQuickTile = {2, 8, 8};
constexpr std::array<AttentionMatrixTuning, 3> kMatrixTiles = {{{4, 64}, {4, 32}, {2, 32}}};
constexpr uint32_t kMatrixHeadDim = 256;  // beyond it the fragments of a row exceed the registers
constexpr uint32_t kPrefillVectors = 16;  // sums of an invocation, in vectors of four
// Where no shape keeps to that, as with heads of 576 in 16 KiB of workgroup memory.
constexpr uint32_t kMostPrefillVectors = 36;

uint32_t v_dim_of(const AttentionArgs& args) {
  return args.v_dim != 0 ? args.v_dim : args.kv.head_dim;
}
uint32_t units_of(uint32_t head_dim) { return head_dim % 8 == 0 ? head_dim / 8 : head_dim / 4; }

// Rows that are seen by earlier ones of their step share keys as in a prompt.
bool decodes(const AttentionArgs& args) {
  return !args.own && !args.prompts && args.max_rows <= (args.causal ? kDecodeRows : 1u);
}

// The decode of the singles of a class of prompts, if it has any.
std::optional<AttentionArgs> singles_of(const AttentionArgs& args) {
  if (decodes(args) || !args.causal || args.max_singles == 0) return {};
  AttentionArgs out = args;
  out.max_rows = std::min(args.max_singles, kDecodeRows);
  out.prompts = false;
  out.label += ".singles";
  out.append.reset();
  return out;
}

bool lanes_shuffle(const gpu::DeviceInfo& device, const AttentionDecodeTuning& t) {
  return device.subgroups && device.subgroup_min >= t.lanes;
}

// What follows from the other numbers.
void set_merged(const AttentionArgs& args, AttentionDecodeTuning& t) {
  t.merged = std::clamp(kMergeBytes / (t.workgroup / t.lanes * v_dim_of(args) * 4), 1u, t.heads);
}

bool decode_fits(const gpu::DeviceInfo& device, const AttentionArgs& args,
                 const AttentionDecodeTuning& t) {
  const uint32_t groups = t.workgroup / t.lanes;
  const uint32_t merging = t.merged * groups * v_dim_of(args) * 4 + (groups + 1) * t.heads * 8;
  const bool shuffles = lanes_shuffle(device, t) || t.lanes == 1;
  const uint32_t partial = shuffles ? 0 : t.heads * t.keys * t.workgroup * 4;
  return t.lanes <= t.workgroup && t.workgroup <= device.limits.max_workgroup_invocations &&
         merging + partial <= device.limits.max_workgroup_bytes;
}

AttentionDecodeTuning default_decode(const gpu::DeviceInfo& device, const AttentionArgs& args) {
  const uint32_t units = units_of(args.kv.head_dim);
  const uint32_t shared =
      device.subgroups ? std::bit_floor(std::max(1u, device.subgroup_min)) : kDecodeWorkgroup;
  AttentionDecodeTuning t;
  t.workgroup = kDecodeWorkgroup;
  t.lanes = std::min({std::bit_ceil(units), shared, kDecodeWorkgroup});
  const uint32_t steps = div_up(units, t.lanes);
  const uint32_t group = args.n_heads / args.kv.n_kv_heads;
  t.heads = div_up(group, div_up(group, std::max(1u, kHeadUnits / steps)));
  const uint32_t used = t.heads * steps;
  t.keys = std::bit_floor(
      std::clamp(kRegisterUnits > used ? (kRegisterUnits - used) / steps : 1u, 1u, kMaxKeys));
  // Without shuffles each key in flight costs workgroup memory.
  if (!lanes_shuffle(device, t) && t.lanes > 1) t.keys = 1;
  set_merged(args, t);
  // Few lanes make many groups, which merge a head each in the end.
  while (!decode_fits(device, args, t) && t.workgroup > t.lanes) {
    t.workgroup /= 2;
    set_merged(args, t);
  }
  return t;
}

// A step whose rows see few keys waits for memory more than it reads: a workgroup for each head,
// twice as large, goes over them in half as many turns, and K and V are in the cache for all heads
// of a KV head but the first. H100, answers behind 128 tokens of prompt, tokens/s of an 8B in q4_0
// with 1, 2, 4 and 8 texts, in splits of 64 keys that a call joins, as one split in the shape of
// long rows, and so: 413, 700, 1202 and 1835; 419, 706, 1154 and 1882; 435, 733, 1255 and 1947. At
// 4096 keys the shape of long rows is faster: 382 tokens/s, in this one 326. More rows fill a GPU
// as it is: with 128 texts 7,556 tokens/s, in this shape 7,373.
AttentionDecodeTuning default_whole(const gpu::DeviceInfo& device, const AttentionArgs& args) {
  constexpr uint32_t kWorkgroup = 256, kRows = 16;
  const AttentionDecodeTuning portable = default_decode(device, args);
  if (args.max_rows > kRows || !lanes_shuffle(device, portable) || device.slow_compiler)
    return portable;
  AttentionDecodeTuning t = portable;
  t.workgroup = kWorkgroup;
  t.heads = 1;
  set_merged(args, t);
  return decode_fits(device, args, t) ? t : portable;
}

AttentionTuning decode_tuning(const gpu::DeviceInfo& device, const AttentionArgs& args) {
  AttentionTuning tuning;
  tuning.decode = default_decode(device, args);
  tuning.whole = default_whole(device, args);
  if (args.profile == nullptr) return tuning;
  if (const KnobValues* values = args.profile->find(attention_key(args)))
    turn_attention_knobs(device, args, *values, tuning);
  return tuning;
}

// The most splits a step of the class may use.
uint32_t splits_of(const AttentionArgs& args, const AttentionDecodeTuning& t) {
  return std::max(kMinSplits, t.max_splits / std::max(1u, args.max_rows));
}

bool columns_shuffle(const gpu::DeviceInfo& device, const AttentionPrefillTuning& t) {
  return device.subgroups && device.subgroup_min >= t.columns;
}

// f16 arithmetic takes two products at a time; a software adapter only imitates it.
bool may_halve(const gpu::DeviceInfo& device, const AttentionArgs& args) {
  return args.numerics == Numerics::kFast && device.f16 &&
         device.type != gpu::AdapterType::kSoftware && args.kv.type != KvType::kF32 &&
         args.kv.head_dim % 16 == 0;
}

// A q of one part keeps a place of its own where halves leave room for it.
bool q_stays(const gpu::DeviceInfo& device, const AttentionArgs& args,
             const AttentionPrefillTuning& t) {
  return may_halve(device, args) && args.kv.head_dim / 4 <= t.columns;
}

// Bytes of workgroup memory of attention_prefill.wgsl.
uint32_t prefill_bytes(const gpu::DeviceInfo& device, const AttentionArgs& args,
                       const AttentionPrefillTuning& t) {
  const uint32_t rows = t.rows * t.row_groups;
  const uint32_t vectors =
      (4 * t.columns + rows + (q_stays(device, args, t) ? rows : 0)) * t.columns;
  return vectors * (may_halve(device, args) ? 8 : 16) +
         (columns_shuffle(device, t) ? 0 : rows * t.columns * 4);
}

Describe described(const AttentionArgs& args, std::string label, std::string_view kernel) {
  Describe call(std::move(label), kernel);
  call.constant("B_STEP", args.step);
  call.number("N_HEADS", args.n_heads).number("GROUP_HEADS", args.n_heads / args.kv.n_kv_heads);
  call.number("WINDOW", args.window).number("SOFTCAP", args.softcap > 0);
  if (args.chunks && args.window > 0) call.flag("CHUNKS");
  if (args.softcap > 0) call.real("SOFTCAP_VALUE", args.softcap);
  if (args.max_alibi_bias > 0) {
    const uint32_t own = std::bit_floor(args.n_heads);
    call.flag("ALIBI").number("ALIBI_HEADS", own);
    call.real("ALIBI_STEP", args.max_alibi_bias / static_cast<float>(own));
  }
  if (args.biases) call.number("BIAS_REACH", args.bias_reach);
  define_kv(call, args.kv, args.pages_per_sequence);
  call.number("V_DIM", v_dim_of(args)).number("CAUSAL", args.causal);
  // A step of one row has nothing around it.
  if (args.places && !args.append) call.flag("PLACES");
  if (args.own) call.flag("OWN_KEYS");
  return call;
}

void bind_operands(Describe& call, const AttentionArgs& args) {
  if (args.sinks) call.constant("B_SINKS", *args.sinks);
  if (args.biases) call.constant("B_BIASES", *args.biases);
  if (!args.own) call.constant("B_PAGES", args.pages);
  call.arena("B_OUT", args.out).real("SCALE", args.scale);
  if (args.own) {
    call.arena("B_Q", args.q);
    if (args.spans) call.arena("B_SPANS", *args.spans);
    return;
  }
  if (!args.append) {
    call.constant("B_K", args.k_cache).constant("B_V", args.v_cache).arena("B_Q", args.q);
    return;
  }
  const AttentionAppend& append = *args.append;
  call.flag("KV_APPEND").arena("B_K", args.k_cache).arena("B_V", args.v_cache);
  call.arena("B_QKV", append.qkv);
  if (append.v_norm) call.flag("V_NORM");
  define_rope(call, append.rope);
  if (append.table) call.constant("B_TABLE", *append.table);
  if (append.head_norms) call.constant("B_NORMS", *append.head_norms).real("EPS", append.norm_eps);
}

uint32_t combine_workgroup(const gpu::DeviceInfo& device, uint32_t head_vectors) {
  const uint32_t most = std::min(512u, device.limits.max_workgroup_invocations);
  return std::max(std::min(most, std::bit_ceil(head_vectors) * kCombineRunners),
                  std::bit_ceil(head_vectors));
}

// Of steps with several splits, or with one; `whole` says in the text that there is one.
void decode_rows(const gpu::DeviceInfo& device, const AttentionArgs& args,
                 const AttentionDecodeTuning& t, bool whole, uint32_t max_splits, GridDim splits,
                 GridDim rows, std::vector<KernelCall>& out) {
  Describe call = described(args, args.label, "attention/attention_decode.wgsl");
  bind_operands(call, args);
  call.number("HANDS_BYTES", args.hands_bytes);
  call.arena("B_SCRATCH", args.scratch)
      .number("MAX_ROWS", args.max_rows)
      .number("MAX_SPLITS", max_splits);
  call.number("WG", t.workgroup)
      .number("LANES", t.lanes)
      .number("LANES_LOG2", std::bit_width(t.lanes) - 1u);
  call.number("LANES_SHUFFLE", lanes_shuffle(device, t))
      .number("HEADS", t.heads)
      .number("KEYS", t.keys)
      .number("MERGED", t.merged);
  if (whole) call.flag("WHOLE");
  const uint32_t chunks = div_up(args.n_heads / args.kv.n_kv_heads, t.heads);
  call.grid({Extent::kOne, args.kv.n_kv_heads * chunks, 1}, splits, rows).add_to(out);
}

void decode(const gpu::DeviceInfo& device, const AttentionArgs& args, const AttentionTuning& tuning,
            Extent rows, std::vector<KernelCall>& out) {
  const uint32_t max_splits = splits_of(args, tuning.decode);
  // One text serves both where they have one shape.
  const bool whole = tuning.whole != tuning.decode;
  decode_rows(device, args, tuning.whole, whole, max_splits, {Extent::kIfWhole}, {rows}, out);
  decode_rows(device, args, tuning.decode, false, max_splits, {Extent::kSplits}, {rows}, out);

  Describe combine = described(args, args.label + ".combine", "attention/attention_combine.wgsl");
  combine.arena("B_OUT", args.out).arena("B_SCRATCH", args.scratch);
  combine.number("MAX_ROWS", args.max_rows).number("MAX_SPLITS", max_splits);
  combine.number("HANDS_BYTES", args.hands_bytes);
  combine.number("WG", combine_workgroup(device, v_dim_of(args) / 4));
  combine.grid({Extent::kOne, args.n_heads, 1}, {rows}, {Extent::kIfSplit}).add_to(out);
}

void prefill(const gpu::DeviceInfo& device, const AttentionArgs& args,
             const AttentionPrefillTuning& t, std::vector<KernelCall>& out) {
  Describe call = described(args, args.label, "attention/attention_prefill.wgsl");
  bind_operands(call, args);
  call.number("ROWS", t.rows).number("ROW_GROUPS", t.row_groups).number("COLUMNS", t.columns);
  call.number("COLUMNS_SHUFFLE", columns_shuffle(device, t));
  const bool halves = may_halve(device, args);
  call.number("HALVES", halves).number("Q_STAYS", q_stays(device, args, t));
  call.grid({Extent::kOne, args.n_heads, 1}, {Extent::kOthers, 1, t.rows * t.row_groups})
      .add_to(out);
}

// Bytes of workgroup memory of attention_matrix.wgsl.
uint32_t matrix_bytes(const gpu::DeviceInfo& device, const AttentionMatrixTuning& t,
                      uint32_t head_dim) {
  const uint32_t rows = t.subgroups * device.matrix.m;
  return t.keys * (head_dim / 8 * vecs_of_eight(device) + 1) * 16 + rows * (t.keys / 4 + 1) * 16 +
         4;
}

// Matrix units serve prefill when fragments cover heads and tiles, and subgroups have one size.
std::optional<AttentionMatrixTuning> matrix_tuning(const gpu::DeviceInfo& device,
                                                   const AttentionArgs& args) {
  const gpu::MatrixShape& matrix = device.matrix;
  const uint32_t head_dim = args.kv.head_dim, v_dim = v_dim_of(args);
  if (args.numerics != Numerics::kFast || decodes(args) || !args.causal || args.biases ||
      args.kv.type == KvType::kF32 || !has_operands(device) || matrix.k < 8 || matrix.n % 8 != 0 ||
      device.subgroup_min == 0 || device.subgroup_min != device.subgroup_max ||
      device.subgroup_max % matrix.m != 0 || head_dim % 16 != 0 || v_dim % 16 != 0 ||
      head_dim % matrix.k != 0 || v_dim % matrix.n != 0 || head_dim > kMatrixHeadDim) {
    return std::nullopt;
  }
  for (const AttentionMatrixTuning& t : kMatrixTiles) {
    const uint32_t workgroup = t.subgroups * device.subgroup_max;
    const uint32_t row_lanes = device.subgroup_max / matrix.m;
    if (workgroup <= device.limits.max_workgroup_invocations && t.subgroups * matrix.m <= t.keys &&
        t.keys % (8 * row_lanes) == 0 && t.keys % matrix.n == 0 && t.keys % matrix.k == 0 &&
        t.keys * (head_dim / 8) % workgroup == 0 && t.keys * (v_dim / 8) % workgroup == 0 &&
        matrix_bytes(device, t, head_dim) <= device.limits.max_workgroup_bytes) {
      return t;
    }
  }
  return std::nullopt;
}

void matrix_prefill(const gpu::DeviceInfo& device, const AttentionArgs& args,
                    const AttentionMatrixTuning& t, std::vector<KernelCall>& out) {
  Describe call = described(args, args.label, "attention/attention_matrix.wgsl");
  bind_operands(call, args);
  // Scores in powers of two, unless a cap comes between.
  call.real("Q_SCALE", args.softcap > 0 ? args.scale : args.scale * std::numbers::log2e_v<float>);
  const uint32_t workgroup = t.subgroups * device.subgroup_max;
  call.number("SUBGROUP_COUNT", t.subgroups).number("KEYS", t.keys);
  call.number("K_PASSES", t.keys * (args.kv.head_dim / 8) / workgroup)
      .number("V_PASSES", t.keys * (v_dim_of(args) / 8) / workgroup);
  call.grid({Extent::kOne, args.n_heads, 1}, {Extent::kOthers, 1, t.subgroups * device.matrix.m})
      .add_to(out);
}

}  // namespace

AttentionSplits attention_splits(uint32_t max_splits, uint32_t n_kv) {
  const uint32_t wanted = n_kv <= kWholeTokens ? 1 : div_up(n_kv, kSplitTokens);
  return {std::clamp(wanted, 1u, std::max(1u, max_splits)), kSplitTokens};
}

uint32_t attention_max_singles(const AttentionArgs& args) {
  const auto singles = singles_of(args);
  return singles ? singles->max_rows : 0;
}

uint32_t attention_max_splits(const gpu::DeviceInfo& device, const AttentionArgs& args) {
  if (const auto singles = singles_of(args)) return attention_max_splits(device, *singles);
  if (!decodes(args)) return 1;
  return splits_of(args, decode_tuning(device, args).decode);
}

bool attention_appends(const gpu::DeviceInfo& device, const AttentionArgs& args) {
  if (!args.append) return false;
  const RopeParams& rope = args.append->rope;
  // Pairs lie in one unit of eight elements, or in two units at the same place.
  const uint32_t multiple = rope.pairs == RopePairs::kNeox ? 16 : 8;
  return args.max_rows == 1 && !is_block(args.kv.type) && args.kv.head_dim % 8 == 0 &&
         rope.n_rot % multiple == 0 && rope.n_rot <= args.kv.head_dim &&
         lanes_shuffle(device, decode_tuning(device, args).decode) &&
         8u + (args.append->head_norms ? 1 : 0) + (args.sinks ? 1 : 0) + (args.biases ? 1 : 0) <=
             device.limits.max_storage_buffers;
}

// Of one row the product after it makes the bytes itself.
bool attention_hands(const gpu::DeviceInfo& device, const AttentionArgs& args) {
  return decodes(args) && args.max_rows > 1 && device.subgroups && device.subgroup_min >= 8 &&
         v_dim_of(args) % quant::kUnit == 0;
}

uint64_t attention_scratch_bytes(const gpu::DeviceInfo& device, const AttentionArgs& args) {
  if (const auto singles = singles_of(args)) return attention_scratch_bytes(device, *singles);
  if (!decodes(args)) return 0;
  // For each row, head and split: the sums, and a vector with their maximum and divisor.
  return uint64_t{args.max_rows} * args.n_heads * attention_max_splits(device, args) *
         (v_dim_of(args) + 4) * 4;
}

std::vector<AttentionPrefillTuning> attention_prefill_tiles(const gpu::DeviceInfo& device,
                                                            const AttentionArgs& args) {
  std::vector<AttentionPrefillTuning> fitting;
  for (uint32_t most : {kPrefillVectors, kMostPrefillVectors}) {
    for (const AttentionPrefillTuning& t : kPrefillTiles) {
      if (t.rows * div_up(v_dim_of(args) / 4, t.columns) <= most &&
          t.row_groups * t.columns <= device.limits.max_workgroup_invocations &&
          prefill_bytes(device, args, t) <= device.limits.max_workgroup_bytes) {
        fitting.push_back(t);
      }
    }
    if (!fitting.empty()) break;
  }
  return fitting;
}

base::Result<AttentionTuning> attention_tuning(const gpu::DeviceInfo& device,
                                               const AttentionArgs& args) {
  PUNA_TRY(check_kv(args.label, args.kv, args.n_heads));
  const uint32_t most = args.own ? kMaxStepRows : kStepRoom;
  if (args.max_rows == 0 || args.max_rows > most) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("Attention {} is for {} rows; 1 to {} are possible.", args.label,
                                  args.max_rows, most));
  }
  if (args.own &&
      (args.causal || args.kv.type != KvType::kF32 || v_dim_of(args) != args.kv.head_dim)) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("Attention {} is of rows to each other, which is not causal, f32 "
                                  "and has values as long as keys.",
                                  args.label));
  }
  const uint32_t unit = args.kv.head_dim % 8 == 0 ? 8 : 4;
  if (v_dim_of(args) > args.kv.head_dim || v_dim_of(args) % unit != 0) {
    return base::fail(base::ErrorCode::kUnsupported,
                      fmt::format("Attention {} has values of {} elements in heads of {}; at most "
                                  "as many and a multiple of {} are possible.",
                                  args.label, args.v_dim, args.kv.head_dim, unit));
  }
  if (!args.causal && args.window > 0 && args.chunks) {
    return base::fail(base::ErrorCode::kUnsupported,
                      fmt::format("Attention {} has chunks of {} without being causal.", args.label,
                                  args.window));
  }
  if (!args.causal && args.places) {
    return base::fail(
        base::ErrorCode::kUnsupported,
        fmt::format("Attention {} asks for rows around a row without being causal.", args.label));
  }
  if (args.max_alibi_bias > 0 && (args.softcap > 0 || args.own || args.places)) {
    return base::fail(base::ErrorCode::kUnsupported,
                      fmt::format("Attention {} has ALiBi with a softcap, its own keys or rows "
                                  "around a row, which do not go together.",
                                  args.label));
  }
  if (args.biases &&
      (args.sinks || args.softcap > 0 || args.max_alibi_bias > 0 || args.own || args.places)) {
    return base::fail(base::ErrorCode::kUnsupported,
                      fmt::format("Attention {} has biases by distance with sinks, a softcap, "
                                  "ALiBi, its own keys or rows around a row, which do not go "
                                  "together.",
                                  args.label));
  }
  AttentionTuning tuning;
  if (decodes(args)) return decode_tuning(device, args);
  const std::vector<AttentionPrefillTuning> tiles = attention_prefill_tiles(device, args);
  if (tiles.empty()) {
    return base::fail(base::ErrorCode::kUnsupported,
                      fmt::format("Attention {} has heads of {} elements, too large for this "
                                  "device's workgroup memory ({} bytes).",
                                  args.label, args.kv.head_dim, device.limits.max_workgroup_bytes));
  }
  tuning.prefill = tiles.front();
  if (device.slow_compiler)
    tuning.prefill = std::ranges::count(tiles, kQuickTile) != 0 ? kQuickTile : tiles.back();
  tuning.matrix = matrix_tuning(device, args);
  if (args.profile != nullptr) {
    if (const KnobValues* values = args.profile->find(attention_key(args)))
      turn_attention_knobs(device, args, *values, tuning);
  }
  return tuning;
}

bool turn_attention_knobs(const gpu::DeviceInfo& device, const AttentionArgs& args,
                          const KnobValues& values, AttentionTuning& tuning) {
  AttentionTuning turned = tuning;
  if (!write_knobs(attention_knobs(attention_role(args)), values, turned)) return false;
  if (decodes(args)) {
    set_merged(args, turned.decode);
    if (!decode_fits(device, args, turned.decode)) return false;
  } else {
    const auto tiles = attention_prefill_tiles(device, args);
    if (std::find(tiles.begin(), tiles.end(), turned.prefill) == tiles.end()) return false;
  }
  tuning = turned;
  return true;
}

std::string_view attention_role(const AttentionArgs& args) {
  return decodes(args) ? kDecodeRole : kPrefillRole;
}

std::string attention_key(const AttentionArgs& args) {
  return fmt::format("{} {} {}/{} {}x{} x{}", attention_role(args), name(args.kv.type),
                     args.kv.head_dim, v_dim_of(args), args.kv.n_kv_heads, args.n_heads,
                     args.max_rows);
}

std::span<const Knob<AttentionTuning>> attention_knobs(std::string_view role) {
  using T = AttentionTuning;
  using D = AttentionDecodeTuning;
  using P = AttentionPrefillTuning;
  static constexpr Knob<T> kDecode[] = {
      make_knob<&T::decode, &D::workgroup, T>("workgroup", 64, 128, 256),
      make_knob<&T::decode, &D::keys, T>("keys", 1, 2, 4),
      make_knob<&T::decode, &D::max_splits, T>("max_splits", 16, 32, 64, 128),
  };
  static constexpr Knob<T> kPrefill[] = {
      make_knob<&T::prefill, &P::rows, T>("rows", 1, 2, 4, 8),
      make_knob<&T::prefill, &P::row_groups, T>("row_groups", 8, 16),
      make_knob<&T::prefill, &P::columns, T>("columns", 4, 8, 16),
  };
  if (role == kDecodeRole) return kDecode;
  if (role == kPrefillRole) return kPrefill;
  return {};
}

void attention_tuned(const gpu::DeviceInfo& device, const AttentionArgs& args,
                     const AttentionTuning& tuning, std::vector<KernelCall>& out) {
  if (decodes(args)) return decode(device, args, tuning, Extent::kTokens, out);
  if (const auto singles = singles_of(args))
    decode(device, *singles, decode_tuning(device, *singles), Extent::kSingles, out);
  if (tuning.matrix) {
    matrix_prefill(device, args, *tuning.matrix, out);
  } else {
    prefill(device, args, tuning.prefill, out);
  }
}

base::Result<void> attention(const gpu::DeviceInfo& device, const AttentionArgs& args,
                             std::vector<KernelCall>& out) {
  PUNA_TRY(const AttentionTuning tuning, attention_tuning(device, args));
  if (args.append && !attention_appends(device, args)) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("Attention {} cannot append its own keys.", args.label));
  }
  if (args.hands_bytes && !attention_hands(device, args)) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("Attention {} cannot leave its result as int8.", args.label));
  }
  attention_tuned(device, args, tuning, out);
  return {};
}

}  // namespace puna::kernels
