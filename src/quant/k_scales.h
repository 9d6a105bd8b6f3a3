// The 12 bytes of q4_k and q5_k that hold 8 scales and 8 mins of 6 bits each.
// Groups 0..3: scale in the low six bits of byte j, min in those of byte j + 4. Groups 4..7: low
// four bits of both in byte j + 4, their top two bits in the unused tops of bytes j - 4 (scale) and
// j (min).
#pragma once

#include <cstdint>

namespace puna::quant {

struct ScaleMin {
  uint8_t scale;  // 0..63
  uint8_t min;    // 0..63
};

inline ScaleMin unpack_scale_min(const uint8_t bytes[12], int group) {
  if (group < 4) return {uint8_t(bytes[group] & 63), uint8_t(bytes[group + 4] & 63)};
  const uint8_t low = bytes[group + 4];
  return {uint8_t((low & 15) | (bytes[group - 4] >> 6 << 4)),
          uint8_t((low >> 4) | (bytes[group] >> 6 << 4))};
}

inline void pack_scale_mins(const uint8_t scale[8], const uint8_t min[8], uint8_t bytes[12]) {
  for (int j = 0; j < 4; ++j) {
    bytes[j] = static_cast<uint8_t>(scale[j] | (scale[j + 4] >> 4 << 6));
    bytes[j + 4] = static_cast<uint8_t>(min[j] | (min[j + 4] >> 4 << 6));
    bytes[j + 8] = static_cast<uint8_t>((scale[j + 4] & 15) | (min[j + 4] << 4));
  }
}

}  // namespace puna::quant
