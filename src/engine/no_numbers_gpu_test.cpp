// On an adapter (software Vulkan will do): what a chain of steps ran on after the first that had no
// choice is dropped.
#include "engine/testing/forwarding_device.h"
#include "engine/testing/no_numbers_cases.h"

using namespace puna;

TEST_CASE("on a GPU too, logits that are no numbers are an error that names the tensor") {
  if (!engine::test::open_gpu()) return;
  const auto open = [] { return engine::test::open_gpu(); };
  engine::test::names_the_tensor(open);
  engine::test::names_a_tensor_of_blocks(open);
}

TEST_CASE("on a GPU too, overflow is told from damage, and a batch fails") {
  if (!engine::test::open_gpu()) return;
  for (const bool baseline : {false, true}) {
    const auto open = [baseline] { return engine::test::open_gpu(baseline); };
    engine::test::tells_overflow_from_damage(open);
    engine::test::fails_in_a_batch(open);
  }
}
