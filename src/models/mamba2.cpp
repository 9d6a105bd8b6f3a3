// Mamba-2 (Dao and Gu 2024): layers of one block each, a state space model with a scalar decay for
// each head, behind a short convolution. No attention, no FFN, no positions.

#include <fmt/format.h>

#include "models/mamba2_layer.h"

namespace puna::models {

using plan::Value;

base::Result<Mamba2Config> mamba2_config(const formats::ModelFile& file, const Config& c) {
  constexpr uint64_t kMost = 1 << 20;
  const std::string p = c.architecture + ".ssm.";
  PUNA_TRY(const uint32_t inner, count(file, p + "inner_size", kMost));
  Mamba2Config m;
  PUNA_TRY(m.n_heads, count(file, p + "time_step_rank", kMost));
  PUNA_TRY(m.n_state, count(file, p + "state_size", kMost));
  PUNA_TRY(m.n_groups, count(file, p + "group_count", kMost));
  if (inner % m.n_heads != 0 || m.n_heads % m.n_groups != 0) {
    return base::fail(
        base::ErrorCode::kCorrupt,
        fmt::format("The keys \"{}\" give {} elements over {} heads in {} groups, which do not "
                    "divide.",
                    p + "*", inner, m.n_heads, m.n_groups));
  }
  m.head_dim = inner / m.n_heads;
  return m;
}

Value mamba2_layer(plan::Builder& b, const Config& c, const Mamba2Config& m, uint32_t layer,
                   Value h) {
  const auto name = [&](std::string_view part) { return fmt::format("blk.{}.{}", layer, part); };
  plan::SsdSpec scan;
  scan.layer = layer;
  scan.a = name("ssm_a");
  scan.d = name("ssm_d");
  scan.dt_bias = name("ssm_dt.bias");
  scan.shape.n_heads = m.n_heads;
  scan.shape.head_dim = m.head_dim;
  scan.shape.n_state = m.n_state;
  scan.shape.n_groups = m.n_groups;
  // The columns of the projection: z, then x, B and C, then dt.
  scan.shape.z_column = 0;
  scan.shape.dt_column = scan.shape.inner() + scan.shape.xbc_columns();

  plan::ConvSpec conv;
  conv.layer = layer;
  conv.weight = name("ssm_conv1d.weight");
  if (b.has(name("ssm_conv1d.bias"))) conv.bias = name("ssm_conv1d.bias");
  conv.x_column = scan.shape.inner();
  conv.n_channels = scan.shape.xbc_columns();

  const Value in = b.matmul({name("ssm_in.weight")}, h);
  Value y = b.ssd(b.conv(in, conv), in, scan);
  if (const std::string norm = name("ssm_norm.weight"); b.has(norm)) {
    y = m.n_groups == 1 ? b.rms_norm(y, norm, c.norm_eps)
                        : b.group_norm(y, norm, m.n_groups, c.norm_eps);
  }
  return b.matmul({name("ssm_out.weight")}, y);
}

base::Result<plan::Graph> build_mamba2(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const Mamba2Config m, mamba2_config(file, c));
  plan::Builder b(file, /*n_heads=*/0);
  Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    const Value h = b.rms_norm(x, layer_name(l, "attn_norm"), c.norm_eps);
    x = b.add(x, mamba2_layer(b, c, m, l, h));
  }
  return finish_logits(b, c, x);
}

}  // namespace puna::models
