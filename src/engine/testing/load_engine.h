// Loads an engine, whose devices are polled meanwhile.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <utility>

#include "engine/engine.h"

namespace puna::engine::test {

// Null device: the CPU.
inline base::Result<std::unique_ptr<Engine>> try_load_engine(formats::ModelFile file,
                                                             std::unique_ptr<gpu::Device> device,
                                                             EngineOptions options) {
  gpu::Device* const first = device.get();
  const MoreGpus more = options.more_gpus;
  return base::run_until(Engine::load(std::move(file), std::move(device), std::move(options)), [&] {
    if (first) first->poll();
    more.poll();
  });
}

inline std::unique_ptr<Engine> load_engine(formats::ModelFile file,
                                           std::unique_ptr<gpu::Device> device,
                                           EngineOptions options) {
  auto engine = try_load_engine(std::move(file), std::move(device), std::move(options));
  REQUIRE_MESSAGE(engine.has_value(), engine.error().text());
  return *std::move(engine);
}

}  // namespace puna::engine::test
