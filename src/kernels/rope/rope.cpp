// GPU form of rope.h: the table of turns, and the variant for cache type, norms and pairs.
#include "kernels/rope/rope.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/common/describe.h"
#include "kernels/common/kv_call.h"
#include "kernels/rope/rope_call.h"

namespace puna::kernels {
namespace {
constexpr uint32_t kWorkgroup = 64;  // invocations, about; whole heads of head_dim / 4 each
constexpr double kTwoPi = 6.283185307179586;

// How much of freq_scale pair i gets: 0 to 1 along YaRN's ramp.
double scaled_share(const RopeParams& rope, uint32_t i) {
  if (rope.yarn.original_context == 0) return 1.0;
  // The pair that turns `times` times over the original context.
  const auto pair_of = [&](double times) {
    return rope.n_rot * std::log(rope.yarn.original_context / (times * kTwoPi)) /
           (2 * std::log(double{rope.base}));
  };
  double low = pair_of(double{rope.yarn.beta_fast});
  double high = pair_of(double{rope.yarn.beta_slow});
  if (rope.yarn.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, rope.n_rot - 1.0);
  return std::clamp((i - low) / std::max(high - low, 0.001), 0.0, 1.0);
}

// Sections are for pairs of three coordinates.
base::Result<void> check_sections(const std::string& label, const RopeParams& rope) {
  const auto& sizes = rope.sections.sizes;
  const uint64_t n = std::accumulate(sizes.begin(), sizes.end(), uint64_t{0});
  if (!rope.sections.any() || (n == rope.n_rot / 2 && sizes.back() == 0)) return {};
  return base::fail(
      base::ErrorCode::kUnsupported,
      fmt::format("Rope {} has sections of {} pairs, but three sections of {} together are needed.",
                  label, fmt::join(sizes, ", "), rope.n_rot / 2));
}

}  // namespace

uint32_t RopeSections::of(uint32_t pair) const {
  if (order == SectionOrder::kByThrees) {
    const uint32_t third = pair % 3;
    return pair < 3 * sizes[third] ? third : 0;
  }
  uint32_t section = 0;
  for (uint32_t end = sizes[0]; section + 1 < kSections && pair >= end; end += sizes[section])
    ++section;
  return section;
}

double rope_frequency(const RopeParams& rope, const float* freq_factors, uint32_t i) {
  const double share = scaled_share(rope, i);
  const double plain = std::pow(double{rope.base}, -2.0 * i / rope.n_rot);
  const double frequency = plain * (share * rope.freq_scale + (1 - share));
  return freq_factors ? frequency / freq_factors[i] : frequency;
}

TurnWords turn_words(double frequency) {
  const double turns = frequency / kTwoPi;
  const double fraction =
      (turns - std::floor(turns)) * 0x1p32;  // upper word and, behind the point, the lower
  if (!(fraction >= 0 && fraction < 0x1p32)) return {};
  return {static_cast<uint32_t>(fraction),
          static_cast<uint32_t>((fraction - std::floor(fraction)) * 0x1p32)};
}

std::vector<uint32_t> rope_table(const RopeParams& rope, const float* freq_factors) {
  std::vector<uint32_t> table;
  for (uint32_t i = 0; i < rope.n_rot / 2; ++i) {
    const TurnWords turns = turn_words(rope_frequency(rope, freq_factors, i));
    table.insert(table.end(), {turns.upper, turns.lower});
  }
  return table;
}

void define_rope(Describe& call, const RopeParams& rope) {
  call.number("N_ROT", rope.n_rot).number("NEOX", rope.pairs == RopePairs::kNeox);
  if (rope.magnitude != 1.0f) call.real("MAGNITUDE", rope.magnitude);
  if (rope.temperature.beta != 0.0f) {
    call.real("TEMPERATURE", rope.temperature.beta)
        .text("TEMPERATURE_PERIOD", fmt::format("{}u", rope.temperature.period));
    if (rope.temperature.offset > 0)
      call.text("TEMPERATURE_OFFSET", fmt::format("{}u", rope.temperature.offset));
  }
  // Where nothing turns, norms before and after are the same.
  if (rope.norms_last && rope.n_rot > 0) call.flag("NORMS_LAST");
  if (!rope.sections.any()) return;
  call.flag("SECTIONS").number("BY_THREES", rope.sections.order == SectionOrder::kByThrees);
  for (uint32_t i = 0; i < 3; ++i)
    call.text(fmt::format("SECTION_{}", i), fmt::format("{}u", rope.sections.sizes[i]));
}

base::Result<void> rope_append(const gpu::DeviceInfo& device, const RopeArgs& args,
                               std::vector<KernelCall>& out) {
  const uint32_t head_dim = args.kv.head_dim;
  const uint32_t largest = device.limits.max_workgroup_invocations * 4;
  PUNA_TRY(check_kv(args.label, args.kv, args.n_heads));
  if (head_dim > largest) {
    return base::fail(base::ErrorCode::kUnsupported,
                      fmt::format("Rope {} has heads of {} elements, above this device's {}.",
                                  args.label, head_dim, largest));
  }
  if (args.rope.n_rot % 2 != 0 || args.rope.n_rot > head_dim) {
    return base::fail(
        base::ErrorCode::kUnsupported,
        fmt::format("Rope {} rotates {} of {} elements; it must be an even number of at most all.",
                    args.label, args.rope.n_rot, head_dim));
  }
  if (args.rope.n_rot > 0 && !args.table) {
    return base::fail(
        base::ErrorCode::kInvalidArgument,
        fmt::format("Rope {} rotates {} elements but has no table.", args.label, args.rope.n_rot));
  }
  PUNA_TRY(check_sections(args.label, args.rope));
  if (args.rope.norms_last && args.rope.magnitude != 1.0f) {
    return base::fail(
        base::ErrorCode::kUnsupported,
        fmt::format("Rope {} norms heads after the turn, which then has no magnitude; "
                    "it is {}.",
                    args.label, args.rope.magnitude));
  }
  if (args.v_norm && !args.head_norms) {
    return base::fail(
        base::ErrorCode::kInvalidArgument,
        fmt::format("Rope {} norms its values, but not its queries and keys.", args.label));
  }
  const uint32_t lanes = head_dim / 4;
  const uint32_t all_heads = args.n_heads + (args.appends ? 2 * args.kv.n_kv_heads : 0);
  const uint32_t heads = std::clamp(kWorkgroup / lanes, 1u, all_heads);

  Describe call(args.label, "rope/rope.wgsl");
  call.constant("B_STEP", args.step);
  if (args.appends) call.constant("B_PAGES", args.pages);
  call.arena("B_QKV", args.qkv).arena("B_Q_OUT", args.q_out);
  if (args.appends) call.flag("APPENDS").arena("B_K", args.k_cache).arena("B_V", args.v_cache);
  if (args.rope.n_rot > 0) call.constant("B_TABLE", *args.table);
  if (args.head_norms) call.constant("B_NORMS", *args.head_norms).real("EPS", args.norm_eps);
  define_kv(call, args.kv, args.pages_per_sequence);
  call.number("N_HEADS", args.n_heads).number("HEADS", heads);
  if (args.v_norm) call.flag("V_NORM");
  define_rope(call, args.rope);
  call.grid({Extent::kOne, div_up(all_heads, heads), 1}, {Extent::kTokens}).add_to(out);
  return {};
}

}  // namespace puna::kernels
