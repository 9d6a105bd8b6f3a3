// Saved prefixes of an adapter (software Vulkan will do), of all of a model or of some layers.
#include <doctest/doctest.h>

#include "engine/testing/forwarding_device.h"
#include "engine/testing/saved_prefix_cases.h"

using namespace puna;
using namespace puna::engine::test;
using engine::EngineOptions;

namespace {

EngineOptions exact() {
  EngineOptions out;
  out.numerics = kernels::Numerics::kExact;
  out.kv_type = kernels::KvType::kF32;
  return out;
}

}  // namespace

TEST_CASE("a text goes on in another engine on the same adapter") {
  if (!open_gpu()) return;
  for (const char* architecture : {"llama", "gemma3", "qwen35"}) {
    CAPTURE(architecture);
    check_goes_on([&] { return load(architecture, open_gpu(), exact()); });
  }
  for (const auto type : {kernels::KvType::kF16, kernels::KvType::kQ8_0, kernels::KvType::kQ4_0}) {
    CAPTURE(kernels::name(type));
    EngineOptions options = exact();
    options.kv_type = type;
    check_goes_on([&] { return load("llama", open_gpu(/*baseline=*/true), options); });
  }
}

TEST_CASE("a text goes on where a model is on two devices") {
  if (!open_gpu()) return;
  EngineOptions split = exact();
  split.gpu_layers = 1;
  for (const char* architecture : {"llama", "qwen35"}) {
    CAPTURE(architecture);
    check_goes_on([&] { return load(architecture, open_gpu(), split); });
  }
}

TEST_CASE("pages come back from host memory as they were, on a GPU and on two devices") {
  if (!open_gpu()) return;
  for (const bool split : {false, true}) {
    CAPTURE(split);
    EngineOptions options = exact();
    if (split) options.gpu_layers = 1;
    for (const char* architecture : {"llama", "gemma3"}) {
      CAPTURE(architecture);
      check_comes_back(
          [&](const EngineOptions& with) { return load(architecture, open_gpu(), with); }, options);
    }
  }
}

TEST_CASE("what one device has saved is not taken up by another one") {
  if (!open_gpu()) return;
  const auto cpu = load("llama", nullptr, exact());
  engine::Scheduler writer(*cpu);
  generate(*cpu, writer, test_prompt(300), 1);
  const auto gpu = load("llama", open_gpu(), exact());
  engine::Scheduler scheduler(*gpu);
  const auto restored =
      restore(*gpu, scheduler, test_prompt(300), save_all(*cpu, test_prompt(300)).pieces);
  REQUIRE(restored.error);
  CHECK(
      restored.error->message.starts_with("The piece was saved with another \"device\": \"cpu\""));
  CHECK(restored.n_known == 0);
}
