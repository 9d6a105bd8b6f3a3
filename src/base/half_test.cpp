#include "base/half.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace puna::base;

TEST_CASE("every half survives the way to f32 and back") {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    const float f = f16_to_f32(static_cast<uint16_t>(h));
    if (std::isnan(f)) {
      CHECK(std::isnan(f16_to_f32(f32_to_f16(f))));
    } else {
      REQUIRE(f32_to_f16(f) == h);
    }
  }
}

TEST_CASE("f32 to f16 rounds to nearest even") {
  CHECK(f32_to_f16(1.0f + 0x1p-11f) == 0x3c00);             // tie, down to even
  CHECK(f32_to_f16(1.0f + 0x1p-11f + 0x1p-20f) == 0x3c01);  // above the tie
  CHECK(f32_to_f16(1.0f + 3 * 0x1p-11f) == 0x3c02);         // tie, up to even
  CHECK(f32_to_f16(65519.99f) == 0x7bff);
  CHECK(f32_to_f16(65520.0f) == 0x7c00);
  CHECK(f32_to_f16(0x1p-25f) == 0);  // tie at the smallest subnormal
  CHECK(f32_to_f16(0x1.000002p-25f) == 1);
  CHECK(f32_to_f16(-0.0f) == 0x8000);
}

TEST_CASE("bf16 rounds to nearest even and keeps NaN") {
  CHECK(f32_to_bf16(1.0f) == 0x3f80);
  CHECK(f32_to_bf16(1.0f + 0x1p-8f) == 0x3f80);
  CHECK(f32_to_bf16(1.0f + 3 * 0x1p-8f) == 0x3f82);
  CHECK(std::isnan(bf16_to_f32(f32_to_bf16(std::nanf("")))));
}
