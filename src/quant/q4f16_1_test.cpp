#include "quant/q4f16_1.h"

#include <cstring>

#include "quant/quant_test_util.h"
#include "quant/test_blocks.h"

using namespace puna::quant;

namespace {

// MLC's words: element 8w + i in bits 4i of word w.
int code_of(const uint8_t* qs, int e) {
  uint32_t words[4];
  std::memcpy(words, qs, 16);
  return static_cast<int>(words[e / 8] >> (e % 8 * 4) & 15);
}

}  // namespace

TEST_CASE("an MLC group written by hand decodes to the values meant") {
  BlockQ4F16_1 block{};
  block.d = 0x3800;                                          // 0.5
  const uint32_t words[4] = {0x0000007f, 0, 0, 0xf0000000};  // elements 0: 15, 1: 7, 31: 15
  std::memcpy(block.qs, words, 16);
  float out[32];
  decode_by_units(block, out);
  CHECK(out[0] == 4.0f);
  CHECK(out[1] == 0.0f);
  CHECK(out[2] == -3.5f);
  CHECK(out[31] == 4.0f);
}

TEST_CASE("q4f16_1 decodes every element as described") {
  check_decode<BlockQ4F16_1>(
      {0}, [](const BlockQ4F16_1& b, int e) { return double{half(b.d)} * (code_of(b.qs, e) - 7); });
}

TEST_CASE("q4f32_1 decodes every element as described") {
  const TypeInfo& type = info(Type::kQ4F32_1);
  const std::vector<std::byte> blocks = test_blocks(type, /*n_blocks=*/200);
  std::vector<float> values(200 * 32);
  type.decode(blocks.data(), values.data(), values.size());
  for (size_t i = 0; i < 200; ++i) {
    const auto block = load_block<BlockQ4F32_1>(blocks.data(), i);
    REQUIRE(std::isfinite(block.d));
    for (int e = 0; e < 32; ++e) {
      const float expected = block.d * static_cast<float>(code_of(block.qs, e) - 7);
      REQUIRE(std::bit_cast<uint32_t>(values[32 * i + static_cast<size_t>(e)]) ==
              std::bit_cast<uint32_t>(expected));
    }
  }
}

TEST_CASE("q4f16_1 as q4_0 holds the same values") {
  const std::vector<std::byte> blocks = test_blocks(info(Type::kQ4F16_1), /*n_blocks=*/500);
  std::vector<std::byte> others(500 * info(Type::kQ4_0).block_bytes);
  q4_0_of_q4f16_1(blocks.data(), others.data(), 500 * 32);
  std::vector<float> values(500 * 32), same(500 * 32);
  info(Type::kQ4F16_1).decode(blocks.data(), values.data(), values.size());
  info(Type::kQ4_0).decode(others.data(), same.data(), same.size());
  for (size_t i = 0; i < values.size(); ++i) REQUIRE(values[i] == same[i]);
}
