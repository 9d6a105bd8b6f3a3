// Damaged models and what is said of them, for tests on every device.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <functional>
#include <memory>

#include "engine/scheduler.h"
#include "engine/testing/damaged_model.h"
#include "engine/testing/load_engine.h"

namespace puna::engine::test {

using OpenDevice = std::function<std::unique_ptr<gpu::Device>()>;  // gives null for the CPU

inline EngineOptions exact() {
  EngineOptions options;
  options.numerics = kernels::Numerics::kExact;
  return options;
}

inline std::unique_ptr<Engine> load(formats::ModelFile file, const OpenDevice& device,
                                    EngineOptions options = {}) {
  options.n_threads = 2;
  return load_engine(std::move(file), device(), std::move(options));
}

// The error of decoding 20 tokens after 9, in chains where the device has them, and how many came.
struct Decoded {
  base::Error error;
  size_t n = 0;
};
inline Decoded decode(Engine& engine, float temperature, uint32_t n_sequences = 1) {
  std::vector<BatchRow> rows;
  for (uint32_t s = 0; s < n_sequences; ++s) {
    std::vector<int32_t> tokens;
    for (uint32_t i = 0; i < 9; ++i) tokens.push_back(static_cast<int32_t>(11 + 7 * i + s));
    rows.push_back({s, tokens, {.temperature = temperature}});
  }
  size_t n = 0;
  std::optional<uint32_t> undecided;
  const auto done =
      base::run_until(engine.decode(std::move(rows), 20,
                                    [&](std::span<const kernels::Chosen> chosen) {
                                      const auto none = std::ranges::find(chosen, kernels::kNoToken,
                                                                          &kernels::Chosen::id);
                                      if (none != chosen.end()) {
                                        undecided = static_cast<uint32_t>(none - chosen.begin());
                                      } else {
                                        ++n;
                                      }
                                      return true;
                                    }),
                      [&] { engine.poll(); });
  REQUIRE_MESSAGE(done.has_value(), done.error().text());
  REQUIRE(undecided);
  return {base::run_until(engine.no_choice(*undecided), [&] { engine.poll(); }), n};
}

inline bool says(const base::Error& error, const std::string& part) {
  const std::string text = error.text();
  CAPTURE(text);
  CAPTURE(part);
  const bool found = text.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

inline void names_the_tensor(const OpenDevice& device, const std::string& tensor, size_t index,
                             float value, const char* where) {
  CAPTURE(tensor);
  CAPTURE(value);
  const auto engine = load(damaged({}, tensor, index, value), device, exact());
  for (const float temperature : {0.0f, 0.8f}) {
    const Decoded decoded = decode(*engine, temperature);
    CHECK(decoded.n == 0);
    CHECK(decoded.error.code == base::ErrorCode::kCorrupt);
    says(decoded.error, "No token can be chosen at position 9");
    says(decoded.error, "Tensor \"" + tensor + "\" of tiny llama holds");
    says(decoded.error, where);
    CHECK(engine->cache().n_tokens(0) == 0);
  }
}

// A scale of q8_0 that is NaN, with int8 activations: neither they nor the cache hide it.
inline void names_a_tensor_of_blocks(const OpenDevice& device, kernels::KvType kv_type) {
  EngineOptions options;
  options.kv_type = kv_type;
  fixtures::TinyShape shape;
  shape.head_dim = 32;  // of blocks in the cache
  shape.types = {{"weight", quant::Type::kQ8_0}, {"norm.weight", quant::Type::kF32}};
  const std::array<std::byte, 2> nan = {std::byte{0x00}, std::byte{0x7e}};
  const auto engine =
      load(damaged(shape, "blk.0.attn_v.weight", 3 * 68 + 34, nan), device, options);
  says(decode(*engine, 0).error,
       "Tensor \"blk.0.attn_v.weight\" of tiny llama holds nan at row 3, column 32");
}

inline void tells_overflow_from_damage(const OpenDevice& device) {
  const auto engine = load(damaged({}, "output_norm.weight", 3, 3e38f), device);
  const Decoded decoded = decode(*engine, 0);
  CHECK(decoded.error.code == base::ErrorCode::kUnsupported);
  says(decoded.error, "All weights are numbers");
  says(decoded.error, "--numerics exact");
}

inline void fails_in_a_batch(const OpenDevice& device) {
  EngineOptions options;
  options.n_sequences = 3;
  const auto engine = load(damaged({}, "output_norm.weight", 3, NAN), device, options);
  const Decoded decoded = decode(*engine, 0.8f, 3);
  CHECK(decoded.n == 0);
  says(decoded.error, "output_norm.weight");
}

}  // namespace puna::engine::test
