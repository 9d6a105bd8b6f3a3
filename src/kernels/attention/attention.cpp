// GPU form of attention.h: few rows go to the split kernel and its combine, many to the tiled one.
#include "kernels/attention/attention.h"

#include <algorithm>
#include <array>
#include <bit>

#include "kernels/common/describe.h"
#include "kernels/common/kv_call.h"

namespace puna::kernels {
namespace {

// Batch classes up to this many rows decode: one workgroup a row reads all of its keys, which pays
// while rows share no keys.
constexpr uint32_t kDecodeRows = 16;

// Decode.
constexpr uint32_t kDecodeWorkgroup = 128;
constexpr uint32_t kSplitTokens = 64;  // KV tokens that are worth a workgroup of their own
constexpr uint32_t kWholeTokens =
    128;  // up to here one split: a combine would cost more than it saves
constexpr uint32_t kMaxSplits = 64;  // of a class of one row; shared out over more
constexpr uint32_t kMinSplits = 4;
constexpr uint32_t kHeadUnits =
    8;  // query heads x units a lane: registers of q and of the sums, 8 floats a unit each
constexpr uint32_t kRegisterUnits = 12;  // those, and the keys in flight
constexpr uint32_t kMaxKeys = 4;
constexpr uint32_t kMergeBytes = 8192;  // workgroup memory for merging, at most

// Combine.
constexpr uint32_t kCombineWorkgroup = 128;

// Prefill: the first shape that fits workgroup memory and registers is taken.
struct PrefillTile {
  uint32_t rows;  // of an invocation
  uint32_t row_groups;
  uint32_t columns;
  uint32_t keys;  // of an invocation
};
constexpr std::array<PrefillTile, 8> kPrefillTiles = {{
    {4, 16, 8, 4},
    {4, 8, 8, 4},
    {4, 16, 8, 2},
    {4, 8, 8, 2},
    {2, 16, 8, 2},
    {2, 16, 8, 1},
    {1, 16, 8, 1},
    {1, 8, 4, 1},
}};
constexpr uint32_t kPrefillVectors = 16;  // of four sums, an invocation holds

struct DecodeShape {
  uint32_t lanes, steps, heads, keys, merged;
  bool shuffle;
};

DecodeShape decode_shape(const gpu::DeviceInfo& device, const AttentionArgs& args) {
  const uint32_t head_dim = args.kv.head_dim;
  const uint32_t units = head_dim % 8 == 0 ? head_dim / 8 : head_dim / 4;
  DecodeShape s{};
  s.shuffle = device.subgroups && device.subgroup_min > 1;
  s.lanes = std::min(std::bit_ceil(units),
                     s.shuffle ? std::bit_floor(device.subgroup_min) : kDecodeWorkgroup);
  s.lanes = std::min(s.lanes, kDecodeWorkgroup);
  s.steps = div_up(units, s.lanes);
  const uint32_t group = args.n_heads / args.kv.n_kv_heads;
  const uint32_t chunks = div_up(group, std::max(1u, kHeadUnits / s.steps));
  s.heads = div_up(group, chunks);
  const uint32_t used = s.heads * s.steps;
  s.keys = std::bit_floor(
      std::clamp(kRegisterUnits > used ? (kRegisterUnits - used) / s.steps : 1u, 1u, kMaxKeys));
  if (!s.shuffle && s.lanes > 1) s.keys = 1;  // each key in flight costs workgroup memory there
  const uint32_t group_bytes = kDecodeWorkgroup / s.lanes * head_dim * 4;
  s.merged = std::clamp(kMergeBytes / group_bytes, 1u, s.heads);
  return s;
}

uint32_t prefill_bytes(const PrefillTile& t, uint32_t head_dim, bool shuffle) {
  const uint32_t tile = t.columns * t.keys * (head_dim / 4 + 1) * 16;
  const uint32_t weights = t.rows * t.row_groups * (t.columns + 1) * t.keys * 4;
  return tile + weights + (shuffle ? 0 : t.rows * t.row_groups * t.columns * 4);
}

bool columns_shuffle(const gpu::DeviceInfo& device, const PrefillTile& t) {
  return device.subgroups && device.subgroup_min >= t.columns;
}

Describe described(const AttentionArgs& args, std::string label, std::string_view kernel) {
  Describe call(std::move(label), kernel);
  call.constant("B_STEP", args.step);
  call.number("N_HEADS", args.n_heads).number("GROUP_HEADS", args.n_heads / args.kv.n_kv_heads);
  call.number("WINDOW", args.window).number("SOFTCAP", args.softcap > 0);
  if (args.softcap > 0) call.real("SOFTCAP_VALUE", args.softcap);
  define_kv(call, args.kv, args.pages_per_sequence);
  return call;
}

void bind_operands(Describe& call, const AttentionArgs& args) {
  call.constant("B_PAGES", args.pages).constant("B_K", args.k_cache).constant("B_V", args.v_cache);
  call.arena("B_Q", args.q).arena("B_OUT", args.out).real("SCALE", args.scale);
}

base::Result<void> decode(const gpu::DeviceInfo& device, const AttentionArgs& args,
                          std::vector<KernelCall>& out) {
  const uint32_t max_splits = attention_max_splits(device, args);
  const DecodeShape s = decode_shape(device, args);
  Describe call = described(args, args.label, "attention/attention_decode.wgsl");
  bind_operands(call, args);
  call.arena("B_SCRATCH", args.scratch)
      .number("MAX_ROWS", args.max_rows)
      .number("MAX_SPLITS", max_splits);
  call.number("WG", kDecodeWorkgroup)
      .number("LANES", s.lanes)
      .number("LANES_LOG2", std::bit_width(s.lanes) - 1u);
  call.number("LANES_SHUFFLE", s.shuffle)
      .number("HEADS", s.heads)
      .number("KEYS", s.keys)
      .number("MERGED", s.merged);
  const uint32_t chunks = div_up(args.n_heads / args.kv.n_kv_heads, s.heads);
  call.grid({Extent::kOne, args.kv.n_kv_heads * chunks, 1}, {Extent::kSplits}, {Extent::kTokens})
      .add_to(out);

  Describe combine = described(args, args.label + ".combine", "attention/attention_combine.wgsl");
  combine.arena("B_OUT", args.out).arena("B_SCRATCH", args.scratch);
  combine.number("MAX_ROWS", args.max_rows).number("MAX_SPLITS", max_splits);
  combine.number("WG", std::max(kCombineWorkgroup, std::bit_ceil(args.kv.head_dim / 4)));
  combine.grid({Extent::kOne, args.n_heads, 1}, {Extent::kTokens}, {Extent::kIfSplit}).add_to(out);
  return {};
}

base::Result<void> prefill(const gpu::DeviceInfo& device, const AttentionArgs& args,
                           std::vector<KernelCall>& out) {
  const uint32_t head_vectors = args.kv.head_dim / 4;
  const auto fits = [&](const PrefillTile& t) {
    return t.rows * div_up(head_vectors, t.columns) <= kPrefillVectors &&
           t.row_groups * t.columns <= device.limits.max_workgroup_invocations &&
           prefill_bytes(t, args.kv.head_dim, columns_shuffle(device, t)) <=
               device.limits.max_workgroup_bytes;
  };
  const auto tile = std::find_if(kPrefillTiles.begin(), kPrefillTiles.end(), fits);
  if (tile == kPrefillTiles.end()) {
    return base::fail(base::ErrorCode::kUnsupported,
                      fmt::format("Attention {} has heads of {} elements, too large for this "
                                  "device's workgroup memory ({} bytes).",
                                  args.label, args.kv.head_dim, device.limits.max_workgroup_bytes));
  }
  Describe call = described(args, args.label, "attention/attention_prefill.wgsl");
  bind_operands(call, args);
  call.number("ROWS", tile->rows)
      .number("ROW_GROUPS", tile->row_groups)
      .number("COLUMNS", tile->columns)
      .number("KEYS", tile->keys);
  call.number("COLUMNS_SHUFFLE", columns_shuffle(device, *tile));
  call.grid({Extent::kOne, args.n_heads, 1}, {Extent::kTokens, 1, tile->rows * tile->row_groups})
      .add_to(out);
  return {};
}

}  // namespace

AttentionSplits attention_splits(uint32_t max_splits, uint32_t n_kv) {
  const uint32_t wanted = n_kv <= kWholeTokens ? 1 : div_up(n_kv, kSplitTokens);
  return {std::clamp(wanted, 1u, std::max(1u, max_splits)), kSplitTokens};
}

uint32_t attention_max_splits(const gpu::DeviceInfo&, const AttentionArgs& args) {
  return args.max_rows > kDecodeRows
             ? 1
             : std::max(kMinSplits, kMaxSplits / std::max(1u, args.max_rows));
}

uint64_t attention_scratch_bytes(const gpu::DeviceInfo& device, const AttentionArgs& args) {
  if (args.max_rows > kDecodeRows) return 0;
  // For each row, head and split: the sums, and a vector with their maximum and divisor.
  return uint64_t{args.max_rows} * args.n_heads * attention_max_splits(device, args) *
         (args.kv.head_dim + 4) * 4;
}

base::Result<void> attention(const gpu::DeviceInfo& device, const AttentionArgs& args,
                             std::vector<KernelCall>& out) {
  PUNA_TRY(check_kv(args.label, args.kv, args.n_heads));
  if (args.max_rows == 0 || args.max_rows > kMaxStepTokens) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("Attention {} is for {} rows; 1 to {} are possible.", args.label,
                                  args.max_rows, kMaxStepTokens));
  }
  return args.max_rows <= kDecodeRows ? decode(device, args, out) : prefill(device, args, out);
}

}  // namespace puna::kernels
