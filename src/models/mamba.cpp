// Mamba (Gu and Dao 2023): layers of one block each, a state space model whose decay, for each
// channel and state, hangs on the token, behind a short convolution. No attention, no FFN, no
// positions. Falcon Mamba (TII 2024) has RMS norms without weights of what dt is made of, of B and
// of C.

#include <fmt/format.h>

#include "models/mamba_layer.h"

namespace puna::models {

using plan::Value;

base::Result<MambaConfig> mamba_config(const formats::ModelFile& file, const Config& c) {
  constexpr uint64_t kMost = 1 << 20;
  const std::string p = c.architecture + ".ssm.";
  MambaConfig m;
  PUNA_TRY(m.inner, count(file, p + "inner_size", kMost));
  PUNA_TRY(m.n_rank, count(file, p + "time_step_rank", kMost));
  PUNA_TRY(m.norms, file.get_bool(p + "dt_b_c_rms", false));
  PUNA_TRY(m.norm_eps, positive(file, p + "dt_b_c_rms_epsilon", double{c.norm_eps}));
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    const std::string bias = fmt::format("blk.{}.ssm_dt.bias", l);
    if (!file.find_tensor(layer_name(l, "ssm_dt")) || file.find_tensor(bias)) continue;
    return base::fail(base::ErrorCode::kNotFound, fmt::format("Tensor \"{}\" is missing.", bias));
  }
  return m;
}

namespace {

void norm_parameters(plan::Builder& b, const MambaConfig& m, uint32_t l, Value dt, Value bc) {
  const std::string dt_norm = layer_name(l, "ssm_dt_norm");
  const bool weighted = b.has(dt_norm);
  if (!weighted && !m.norms) return;
  plan::PartsSpec spec;
  spec.shape.eps = m.norm_eps;
  if (weighted) spec.gamma = {dt_norm};
  b.norm_parts(dt, spec);
  spec.shape.n_parts = 2;
  spec.shape.weights_by_part = weighted;
  if (weighted) spec.gamma = {layer_name(l, "ssm_b_norm"), layer_name(l, "ssm_c_norm")};
  b.norm_parts(bc, spec);
}

}  // namespace

Value mamba_layer(plan::Builder& b, const MambaConfig& m, uint32_t l, Value h) {
  const auto name = [&](std::string_view part) { return fmt::format("blk.{}.{}", l, part); };
  plan::ConvSpec conv;
  conv.layer = l;
  conv.weight = name("ssm_conv1d.weight");
  if (b.has(name("ssm_conv1d.bias"))) conv.bias = name("ssm_conv1d.bias");
  conv.n_channels = m.inner;
  // The columns of the projection: x, then z.
  const Value in = b.matmul({name("ssm_in.weight")}, h);
  const Value x = b.conv(in, conv);
  const auto [low, bc] = b.matmul_parted(name("ssm_x.weight"), m.n_rank, x);
  norm_parameters(b, m, l, low, bc);
  const Value dt = b.matmul({name("ssm_dt.weight")}, low);
  const plan::ScanSpec scan{l, name("ssm_a"), name("ssm_d"), /*z_column=*/m.inner};
  return b.matmul({name("ssm_out.weight")}, b.scan(x, dt, bc, in, scan));
}

base::Result<plan::Graph> build_mamba(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const MambaConfig m, mamba_config(file, c));
  plan::Builder b(file, /*n_heads=*/0);
  Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    const Value h = b.rms_norm(x, layer_name(l, "attn_norm"), c.norm_eps);
    x = b.add(x, mamba_layer(b, m, l, h));
  }
  return finish_logits(b, c, x);
}

}  // namespace puna::models
