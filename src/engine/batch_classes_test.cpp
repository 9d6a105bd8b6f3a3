#include "engine/batch_classes.h"

#include <doctest/doctest.h>

#include "kernels/sample/sample.h"
#include "kernels/testing/devices.h"

namespace puna::engine {
namespace {

using Rows = std::vector<uint32_t>;

TEST_CASE("texts have classes of powers of two up to the batch") {
  CHECK(decode_classes(1) == Rows{1});
  CHECK(decode_classes(2) == Rows{1, 2});
  CHECK(decode_classes(5) == Rows{1, 2, 4, 8});
  CHECK(decode_classes(100'000).back() == kernels::kMaxBatch);
}

TEST_CASE("short prompts have classes of their own where kernels compile fast") {
  gpu::DeviceInfo device;
  CHECK(prompt_classes({}, 512, device) == Rows{64, 128, 512});
  CHECK(prompt_classes({}, 2048, device) == Rows{64, 128, 512, 2048});
  CHECK(prompt_classes({.short_prompts = false}, 512, device) == Rows{512});
  device.slow_compiler = true;
  CHECK(prompt_classes({}, 512, device) == Rows{512});

  const gpu::DeviceInfo units = kernels::test::with_matrix_units();
  CHECK(prompt_classes({}, 2048, units) == Rows{32, 128, 256, 512, 2048});
  CHECK(prompt_classes({.numerics = kernels::Numerics::kExact}, 512, units) == Rows{64, 128, 512});
}

}  // namespace
}  // namespace puna::engine
