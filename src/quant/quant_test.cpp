// What holds for every row of the table.
#include "quant/quant.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "quant/random_rows.h"

using namespace puna::quant;

namespace {

std::vector<float> normal(size_t n, uint32_t seed, float deviation = 1.0f) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution(0, deviation);
  std::vector<float> values(n);
  for (float& v : values) v = distribution(random);
  return values;
}

std::vector<float> round_trip(const TypeInfo& type, const std::vector<float>& in) {
  std::vector<std::byte> blocks(row_bytes(type.type, in.size()));
  type.encode(in.data(), blocks.data(), in.size());
  std::vector<float> out(in.size());
  type.decode(blocks.data(), out.data(), out.size());
  return out;
}

double relative_rmse(const std::vector<float>& in, const std::vector<float>& out) {
  double error = 0;
  double power = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    error += std::pow(double{in[i]} - out[i], 2);
    power += std::pow(double{in[i]}, 2);
  }
  return std::sqrt(error / power);
}

struct Expected {
  std::string_view name;
  uint32_t gguf_id, elements, bytes;
  double bits;
  double rmse;  // limit for normal values; simple max-abs scaling is above it for every type that
                // searches
};

constexpr Expected kExpected[] = {
    {"f32", 0, 1, 4, 32, 0},
    {"f16", 1, 1, 2, 16, 3e-4},
    {"bf16", 30, 1, 2, 16, 2e-3},
    {"q4_0", 2, 32, 18, 4.5, 0.0815},
    {"q4_1", 3, 32, 20, 5, 0.0720},
    {"q5_0", 6, 32, 22, 5.5, 0.0415},
    {"q5_1", 7, 32, 24, 6, 0.0365},
    {"q8_0", 8, 32, 34, 8.5, 6e-3},
    {"q2_k", 10, 256, 84, 2.625, 0.29},
    {"q3_k", 11, 256, 110, 3.4375, 0.15},
    {"q4_k", 12, 256, 144, 4.5, 0.0735},
    {"q5_k", 13, 256, 176, 5.5, 0.0375},
    {"q6_k", 14, 256, 210, 6.5625, 0.0180},
    {"iq2_xxs", 16, 256, 66, 2.0625, 0},
    {"iq2_xs", 17, 256, 74, 2.3125, 0},
    {"iq3_xxs", 18, 256, 98, 3.0625, 0},
    {"iq1_s", 19, 256, 50, 1.5625, 0},
    {"iq4_nl", 20, 32, 18, 4.5, 0.0750},
    {"iq3_s", 21, 256, 110, 3.4375, 0},
    {"iq2_s", 22, 256, 82, 2.5625, 0},
    {"iq4_xs", 23, 256, 136, 4.25, 0},
    {"iq1_m", 29, 256, 56, 1.75, 0},
    {"tq1_0", 34, 256, 54, 1.6875, 1},
    {"tq2_0", 35, 256, 66, 2.0625, 1},
    {"mxfp4", 39, 32, 17, 4.25, 0.12},
    {"nvfp4", 40, 64, 36, 4.5, 0},
    {"q1_0", 41, 128, 18, 1.125, 0},
    {"q4f16_1", kNoGgufId, 32, 18, 4.5, 0},
    {"q4f32_1", kNoGgufId, 32, 20, 5, 0},
};

}  // namespace

TEST_CASE("every type has the geometry of the GGUF specification") {
  REQUIRE(types().size() == std::size(kExpected));
  for (size_t i = 0; i < types().size(); ++i) {
    const TypeInfo& type = types()[i];
    CAPTURE(std::string(type.name));
    CHECK(type.type == static_cast<Type>(i));
    CHECK(type.name == kExpected[i].name);
    CHECK(type.gguf_id == kExpected[i].gguf_id);
    CHECK(type.block_elements == kExpected[i].elements);
    CHECK(type.block_bytes == kExpected[i].bytes);
    CHECK(type.bits_per_weight() == kExpected[i].bits);
    CHECK(&info(type.type) == &type);
    CHECK(find(type.name) == &type);
    CHECK(find_gguf(type.gguf_id) == (type.gguf_id == kNoGgufId ? nullptr : &type));
    CHECK(row_bytes(type.type, 512) == 512 / type.block_elements * type.block_bytes);
  }
}

TEST_CASE("types are found whatever the case, and unknown ones are not found") {
  CHECK(find("Q4_K") == &info(Type::kQ4_K));
  CHECK(find("q4_k_m") == nullptr);
  CHECK(find("") == nullptr);
  CHECK(find_gguf(42) == nullptr);
  CHECK(find_gguf(4) == nullptr);
}

TEST_CASE("GGUF ids that are not supported still have their names") {
  CHECK(gguf_type_name(16) == "IQ2_XXS");
  CHECK(gguf_type_name(39) == "MXFP4");
  CHECK(gguf_type_name(14) == "Q6_K");
  CHECK(gguf_type_name(26) == "I32");
  CHECK(gguf_type_name(35) == "TQ2_0");
  CHECK(gguf_type_name(31) == "unknown");
  CHECK(gguf_type_name(4000000000u) == "unknown");
}

TEST_CASE("encoding normal values stays below the error each type allows") {
  const std::vector<float> in = normal(256 * 64, 3, 0.02f);
  for (size_t i = 0; i < types().size(); ++i) {
    CAPTURE(std::string(types()[i].name));
    if (!types()[i].encode) continue;
    CHECK(relative_rmse(in, round_trip(types()[i], in)) <= kExpected[i].rmse);
  }
}

TEST_CASE("zeros, tiny, huge and one-sided values encode to finite values near them") {
  for (const TypeInfo& type : types()) {
    CAPTURE(std::string(type.name));
    if (!type.encode) continue;
    // Powers of two reach a largest value by a ninth only.
    const double near = type.type == Type::kMXFP4 ? 0.12 : 0.01;
    for (const float v : round_trip(type, std::vector<float>(256, 0.0f))) CHECK(v == 0.0f);
    for (const float v : round_trip(type, std::vector<float>(256, 1e-30f)))
      CHECK(std::fabs(v) <= 1e-6f);
    for (const float v : round_trip(type, std::vector<float>(256, 3.0f)))
      CHECK(v == doctest::Approx(3.0f).epsilon(near));
    for (const float v : round_trip(type, std::vector<float>(256, -3.0f)))
      CHECK(v == doctest::Approx(-3.0f).epsilon(near));
    std::vector<float> spike(256, 0.0f);
    spike[77] = -1000.0f;
    const std::vector<float> out = round_trip(type, spike);
    CHECK(out[77] == doctest::Approx(-1000.0f).epsilon(near));
    CHECK(std::fabs(out[200]) <= 1.0f);
  }
}

TEST_CASE("values that are not finite never make an encoder misbehave") {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float largest = std::numeric_limits<float>::max();
  for (const TypeInfo& type : types()) {
    CAPTURE(std::string(type.name));
    if (type.block_elements == 1 || !type.encode) continue;  // plain floats carry them through
    for (const float bad : {inf, -inf, nan, largest, -largest}) {
      std::vector<float> in = normal(256, 5);
      in[9] = bad;
      for (const float v : round_trip(type, in)) CHECK(!std::isnan(v));
    }
  }
}

TEST_CASE("decode reads blocks that are not aligned") {
  for (const TypeInfo& type : types()) {
    CAPTURE(std::string(type.name));
    const std::vector<std::byte> aligned = random_rows(type.type, 1, 256, 11);
    std::vector<std::byte> blocks(1);
    blocks.insert(blocks.end(), aligned.begin(), aligned.end());
    std::vector<float> expected(256), out(256);
    type.decode(aligned.data(), expected.data(), 256);
    type.decode(blocks.data() + 1, out.data(), 256);
    CHECK(out == expected);
  }
}
