#include "kernels/common/step.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>

#include "kernels/common/call.h"

using namespace puna::kernels;

TEST_CASE("step.wgsl declares the same numbers as step.h") {
  const std::string wgsl(wgsl_source("common/step.wgsl"));
  const auto declares = [&](const char* name, uint32_t value) {
    return wgsl.find("const " + std::string(name) + " = " + std::to_string(value) + "u;") !=
           std::string::npos;
  };
  CHECK(declares("STEP_ROOM", kStepRoom));
  CHECK(declares("PAGE_TOKENS", kPageTokens));
  CHECK(declares("STEP_TOKEN_COUNT", kStepTokenCount));
  CHECK(declares("STEP_OUTPUT_COUNT", kStepOutputCount));
  CHECK(declares("STEP_SPLIT_COUNT", kStepSplitCount));
  CHECK(declares("STEP_CHOICES", kStepChoices));
  CHECK(declares("STEP_GO_ON_COUNT", kStepGoOnCount));
  CHECK(declares("STEP_SINGLE_COUNT", kStepSingleCount));
  CHECK(declares("STEP_ZEROS", kStepZeros));
  // Eight words that no header reaches.
  CHECK(kStepZeros > kStepSingleCount);
  CHECK(kStepZeros + 8 <= kStepTokens);
  CHECK(declares("STEP_SPLIT_TOKENS", kStepSplitTokens));
  CHECK(declares("STEP_SPLIT_LIMIT", kStepSplitLimit));
  CHECK(declares("STEP_TOKENS", kStepTokens));
  CHECK(declares("STEP_POSITIONS", kStepPositions));
  CHECK(declares("STEP_SEQUENCES", kStepSequences));
  CHECK(declares("STEP_OUTPUT_ROWS", kStepOutputRows));
  CHECK(declares("STEP_WORDS", kStepWords));
}

TEST_CASE("places.wgsl declares the same numbers as RowPlace") {
  const std::string wgsl(wgsl_source("common/places.wgsl"));
  const auto declares = [&](const char* name, size_t value) {
    return wgsl.find("const " + std::string(name) + " = " + std::to_string(value) + "u;") !=
           std::string::npos;
  };
  CHECK(declares("STEP_PLACES", kStepPlaces));
  CHECK(declares("PLACE_WORDS", kPlaceWords));
  CHECK(offsetof(RowPlace, turns) == 0);
  CHECK(declares("PLACE_NEXT", offsetof(RowPlace, next) / sizeof(uint32_t)));
  CHECK(declares("PLACE_BEFORE", offsetof(RowPlace, before) / sizeof(uint32_t)));
  CHECK(declares("PLACE_AFTER", offsetof(RowPlace, after) / sizeof(uint32_t)));
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

TEST_CASE("the pages of a cache slice are what it holds, each once") {
  for (const auto type : {KvType::kF32, KvType::kF16, KvType::kQ8_0, KvType::kQ4_0}) {
    CAPTURE(name(type));
    const KvLayout layout{type, 5, 3, 96};
    std::vector<int> seen(layout.bytes());
    for (uint32_t page = 0; page < layout.n_pages; ++page) {
      for (const auto& [offset, bytes] : layout.page(page)) {
        CHECK(offset % 4 == 0);
        CHECK(bytes % 4 == 0);
        for (uint64_t i = offset; i < offset + bytes; ++i) ++seen.at(i);
      }
    }
    const uint64_t codes = uint64_t{5} * 3 * kPageTokens * 96 / (type == KvType::kQ4_0 ? 2 : 1);
    for (uint64_t i = 0; i < seen.size(); ++i) {
      const bool gap = is_block(type) && i >= codes && i < layout.scales_offset();
      REQUIRE(seen[i] == (gap ? 0 : 1));
    }
    CHECK(KvLayout{type, 5, 0, 0}.page(2)[0].bytes == 0);  // a layer without attention
  }
}
