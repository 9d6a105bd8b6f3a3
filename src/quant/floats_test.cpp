#include "quant/floats.h"

#include <doctest/doctest.h>

using namespace puna::quant;

TEST_CASE("f16 and bf16 elements decode to the value of their bits") {
  float out = 0;
  decode(BlockF16{0x3555}, &out);
  CHECK(out == 0.333251953125f);
  decode(BlockF16{0x0001}, &out);
  CHECK(out == 0x1p-24f);
  decode(BlockBf16{0xc049}, &out);
  CHECK(out == -3.140625f);
  decode(BlockF32{1.1f}, &out);
  CHECK(out == 1.1f);
}

TEST_CASE("f16 and bf16 encode to the nearest value") {
  const float x = 1.0f / 3;
  BlockF16 f16;
  BlockBf16 bf16;
  encode(&x, f16);
  encode(&x, bf16);
  CHECK(f16.bits == 0x3555);
  CHECK(bf16.bits == 0x3eab);
}
