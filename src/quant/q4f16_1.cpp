#include "quant/q4f16_1.h"

#include "quant/planes_builder.h"
#include "quant/q4_0.h"

namespace puna::quant {
namespace {

void read_codes(const uint8_t* qs, UnitCodes& out) {
  for (int j = 0; j < 16; ++j) {
    out.code[2 * j] = static_cast<int8_t>((qs[j] & 15) - 7);
    out.code[2 * j + 1] = static_cast<int8_t>((qs[j] >> 4) - 7);
  }
}

}  // namespace

void read_unit(const BlockQ4F16_1& block, uint32_t, UnitCodes& out) {
  read_codes(block.qs, out);
  set_scale(base::f16_to_f32(block.d), out);
}

void read_unit(const BlockQ4F32_1& block, uint32_t, UnitCodes& out) {
  read_codes(block.qs, out);
  set_scale(block.d, out);
}

void q4_0_of_q4f16_1(const std::byte* in, std::byte* out, size_t n) {
  for (size_t i = 0; i < n / BlockQ4F16_1::kElements; ++i) {
    const auto block = load_block<BlockQ4F16_1>(in, i);
    const auto code = [&](int element) {
      return 15 - (block.qs[element / 2] >> (element % 2 * 4) & 15);
    };
    BlockQ4_0 same;
    same.d = block.d ^ 0x8000;
    for (int j = 0; j < 16; ++j) same.qs[j] = static_cast<uint8_t>(code(j) | code(j + 16) << 4);
    store_block(same, out, i);
  }
}

TypePlanes BlockQ4F32_1::planes() { return mlc_planes("f4", 32); }

void set_scale(float x, BlockQ4F32_1& block) { block.d = x; }

TypePlanes BlockQ4F16_1::planes() { return mlc_planes("s4", 16); }

}  // namespace puna::quant
