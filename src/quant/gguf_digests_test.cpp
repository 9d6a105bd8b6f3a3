// Decoding equals the gguf package for Python bit for bit: both decode the same pseudo-random
// blocks, and the digests of the floats are compared. tools/compare_decoding.py wrote
// gguf_digests.inc and compares whole blocks.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "quant/test_blocks.h"
#include "quant/unit.h"

using namespace puna::quant;

namespace {

struct Digest {
  std::string_view type;
  uint64_t value;
};
constexpr Digest kDigests[] = {
#include "quant/gguf_digests.inc"
};

// FNV-1a over the 32-bit words.
uint64_t digest(const std::vector<float>& values) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const float value : values) hash = (hash ^ std::bit_cast<uint32_t>(value)) * 0x100000001b3u;
  return hash;
}

}  // namespace

TEST_CASE("every block type decodes to the floats that the gguf package gives") {
  size_t compared = 0;
  for (const Digest& expected : kDigests) {
    CAPTURE(std::string(expected.type));
    const TypeInfo* type = find(expected.type);
    REQUIRE(type);
    const std::vector<std::byte> blocks = test_blocks(*type, /*n_blocks=*/300);
    std::vector<float> values(300 * size_t{type->block_elements});
    type->decode(blocks.data(), values.data(), values.size());
    CHECK(digest(values) == expected.value);
    ++compared;
  }
  CHECK(compared == kTypeCount - 5);  // all but f32, f16, bf16 and the two of MLC
}

TEST_CASE("units hold the codes and scales of the decoded values, and no code is above the limit") {
  for (const TypeInfo& type : types()) {
    if (!type.read_units) continue;
    CAPTURE(std::string(type.name));
    const std::vector<std::byte> blocks = test_blocks(type, /*n_blocks=*/64);
    std::vector<float> values(64 * size_t{type.block_elements});
    type.decode(blocks.data(), values.data(), values.size());
    float largest = 0;
    // From the second unit on, every other place of an array.
    std::vector<UnitCodes> units(2 * values.size() / 32);
    type.read_units(blocks.data(), 0, 1, units.data(), 2);
    type.read_units(blocks.data(), 1, static_cast<uint32_t>(values.size() / 32) - 1, &units[2], 2);
    for (size_t e = 0; e < values.size(); ++e) {
      const UnitCodes& unit = units[e / 32 * 2];
      const auto code = static_cast<float>(unit.code[e % 32]);
      REQUIRE(values[e] == unit.scale[e % 32 / 16] * code);
      largest = std::max(largest, std::fabs(code));
    }
    CHECK(largest == static_cast<float>(type.max_code));
  }
}
