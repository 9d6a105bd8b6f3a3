#include "kernels/common/step.h"

#include <doctest/doctest.h>

#include <string>

#include "kernels/common/call.h"

using namespace puna::kernels;

TEST_CASE("step.wgsl declares the same numbers as step.h") {
  const std::string wgsl(wgsl_source("common/step.wgsl"));
  const auto declares = [&](const char* name, uint32_t value) {
    return wgsl.find("const " + std::string(name) + " = " + std::to_string(value) + "u;") !=
           std::string::npos;
  };
  CHECK(declares("MAX_STEP_TOKENS", kMaxStepTokens));
  CHECK(declares("PAGE_TOKENS", kPageTokens));
  CHECK(declares("STEP_TOKEN_COUNT", kStepTokenCount));
  CHECK(declares("STEP_OUTPUT_COUNT", kStepOutputCount));
  CHECK(declares("STEP_SPLIT_COUNT", kStepSplitCount));
  CHECK(declares("STEP_CHOICES", kStepChoices));
  CHECK(declares("STEP_SPLIT_TOKENS", kStepSplitTokens));
  CHECK(declares("STEP_SPLIT_LIMIT", kStepSplitLimit));
  CHECK(declares("STEP_TOKENS", kStepTokens));
  CHECK(declares("STEP_POSITIONS", kStepPositions));
  CHECK(declares("STEP_SEQUENCES", kStepSequences));
  CHECK(declares("STEP_OUTPUT_ROWS", kStepOutputRows));
  CHECK(declares("STEP_WORDS", kStepWords));
}

TEST_CASE("the bytes of a KV slice follow its type") {
  KvLayout kv{.type = KvType::kF32, .n_pages = 3, .n_kv_heads = 2, .head_dim = 96};
  CHECK(kv.bytes() == 3 * 2 * 32 * 96 * 4);
  CHECK(kv.scales_offset() == 0);
  kv.type = KvType::kF16;
  CHECK(kv.bytes() == 3 * 2 * 32 * 96 * 2);
  kv.type = KvType::kQ8_0;
  CHECK(kv.scales_offset() == 3 * 2 * 32 * 96);
  CHECK(kv.bytes() == kv.scales_offset() + 3 * 2 * 32 * 2 * 4);
}
