// On an adapter (software Vulkan will do), where chains of steps run on after the first that has no
// choice: they are dropped.
#include "engine/testing/forwarding_device.h"
#include "engine/testing/no_numbers_cases.h"

using namespace puna;

namespace {
std::unique_ptr<gpu::Device> full() { return engine::test::open_gpu(); }
std::unique_ptr<gpu::Device> baseline() { return engine::test::open_gpu(/*baseline=*/true); }
}  // namespace

TEST_CASE("on a GPU too, logits that are no numbers are an error that names the tensor") {
  if (!full()) return;
  engine::test::names_the_tensor(full, "token_embd.weight", 90 * 64 + 3, NAN, "row 90, column 3");
  engine::test::names_the_tensor(full, "blk.0.attn_norm.weight", 63, INFINITY, "row 0, column 63");
  using enum kernels::KvType;
  for (const kernels::KvType kv_type : {kF16, kQ8_0, kQ4_0}) {
    CAPTURE(kernels::name(kv_type));
    engine::test::names_a_tensor_of_blocks(full, kv_type);
  }
  engine::test::names_a_tensor_of_blocks(baseline, kF16);
}

TEST_CASE("on a GPU too, overflow is told from damage, and a batch fails") {
  if (!full()) return;
  engine::test::tells_overflow_from_damage(full);
  engine::test::fails_in_a_batch(full);
}
