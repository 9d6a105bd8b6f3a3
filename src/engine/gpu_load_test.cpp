// Loading onto a device that fails, without a GPU.
#include <doctest/doctest.h>

#include "engine/placement.h"
#include "gpu/null/null.h"
#include "models/models.h"
#include "models/testing/tiny_model.h"
#include "plan/fuse.h"

namespace puna::engine {
namespace {

TEST_CASE(
    "wherever memory runs out while a model is loaded, that is the error, and nothing stays") {
  const formats::ModelFile file = fixtures::tiny_model({});
  const auto config = models::read_config(file);
  REQUIRE(config);
  int fail_at = 0;
  for (;; ++fail_at) {
    CAPTURE(fail_at);
    REQUIRE(fail_at < 1000);
    auto graph = models::build(file, *config);
    REQUIRE(graph);
    const auto device = gpu::null::create({.info = {}, .fail_at = fail_at});
    plan::CacheConfig cache;
    cache.n_pages = cache.pages_per_sequence = 1;
    auto loaded = base::run_until(
        load_gpu(file, plan::fuse(*std::move(graph)), cache, GpuOptions{}, *device, LoadHooks{}),
        [&] { device->poll(); });
    if (loaded) break;
    CHECK(loaded.error().code == base::ErrorCode::kOutOfMemory);
    CHECK(device->allocated_bytes() == 0);
  }
  // Each buffer, pipeline, bind group and piece of a weight could fail.
  CHECK(fail_at > 100);
}

TEST_CASE("weights are loaded while kernels compile") {
  const formats::ModelFile file = fixtures::tiny_model({});
  const auto config = models::read_config(file);
  REQUIRE(config);
  auto graph = models::build(file, *config);
  REQUIRE(graph);
  const auto device = gpu::null::create({.info = {}, .late_pipelines = true});
  plan::CacheConfig cache;
  cache.n_pages = cache.pages_per_sequence = 1;
  int n_polls = 0, polls_at_first_weight = -1;
  LoadHooks hooks;
  hooks.on_progress = [&](uint64_t, uint64_t) {
    if (polls_at_first_weight < 0) polls_at_first_weight = n_polls;
  };
  auto loaded = base::run_until(
      load_gpu(file, plan::fuse(*std::move(graph)), cache, GpuOptions{}, *device, hooks), [&] {
        ++n_polls;
        device->poll();
      });
  REQUIRE(loaded);
  // The null device has one more pipeline ready at each poll.
  CHECK(polls_at_first_weight > 0);
  CHECK(n_polls > 2 * polls_at_first_weight);
}

}  // namespace
}  // namespace puna::engine
