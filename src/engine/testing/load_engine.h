// Loads an engine, whose device is polled meanwhile.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <utility>

#include "engine/engine.h"

namespace puna::engine::test {

// Null device: the CPU.
inline std::unique_ptr<Engine> load_engine(formats::ModelFile file,
                                           std::unique_ptr<gpu::Device> device,
                                           EngineOptions options) {
  gpu::Device* const at_work = device.get();
  auto engine =
      base::run_until(Engine::load(std::move(file), std::move(device), std::move(options)), [&] {
        if (at_work) at_work->poll();
      });
  REQUIRE_MESSAGE(engine.has_value(), engine.error().text());
  return *std::move(engine);
}

}  // namespace puna::engine::test
