#include "quant/q6_k.h"

#include "quant/planes_builder.h"
#include "quant/search.h"

namespace puna::quant {

void decode(const BlockQ6_K& block, float* out) {
  const float d = base::f16_to_f32(block.d);
  for (int group = 0; group < 16; ++group) {
    const float scale = d * static_cast<float>(block.scales[group]);
    const int half = group / 8;
    const uint8_t* ql = block.ql + half * 64 + group % 4 * 16;
    const uint8_t* qh = block.qh + half * 32 + group % 2 * 16;
    const int low_shift = group % 8 / 4 * 4;
    const int high_shift = group % 8 / 2 * 2;
    for (int l = 0; l < 16; ++l) {
      const int q = (ql[l] >> low_shift & 15) | (qh[l] >> high_shift & 3) << 4;
      *out++ = scale * static_cast<float>(q - 32);
    }
  }
}

void encode(const float* in, BlockQ6_K& block) {
  const SuperSymmetric fit = search_super_symmetric(in, /*lo=*/-32, /*hi=*/31, /*scale_lo=*/-128);
  block = {};
  block.d = fit.d;
  std::memcpy(block.scales, fit.scale, 16);
  for (int e = 0; e < 256; ++e) {
    const int q = fit.q[e] + 32;
    uint8_t& low = block.ql[e / 128 * 64 + e % 64];
    uint8_t& high = block.qh[e / 128 * 32 + e % 32];
    low = static_cast<uint8_t>(low | (q & 15) << (e % 128 / 64 * 4));
    high = static_cast<uint8_t>(high | (q >> 4) << (e % 128 / 32 * 2));
  }
}

TypePlanes BlockQ6_K::planes() {
  PlanesBuilder b(256, "repack/k_quants.wgsl");
  b.row_plane("q4", 32);
  b.group_plane("q2", 64, 32);
  b.group_plane("sc", 16, 32);
  b.group_plane("d4", 2, 16);
  for (uint32_t byte = 0; byte < 128; ++byte) {
    const uint32_t e = byte / 64 * 128 + byte % 64;
    b.field("q4", q4_bit(e), 4);
    b.field("q4", q4_bit(e + 64), 4);
  }
  b.pairs_of_k();
  b.scale_bytes();
  b.field("d4", 0, 16);
  return b.take();
}

}  // namespace puna::quant
