#include "plan/gpu_plan.h"

#include <doctest/doctest.h>

namespace puna::plan {
namespace {

std::vector<GpuPlan::BatchClass> classes(std::initializer_list<uint32_t> rows,
                                         std::initializer_list<uint32_t> of_prompts) {
  std::vector<GpuPlan::BatchClass> out;
  for (const uint32_t n : rows) out.push_back({n});
  for (const uint32_t n : of_prompts) out.push_back({n, /*prompts=*/true});
  return out;
}

TEST_CASE(
    "a step runs in the smallest class that takes it, one with prompts in those for prompts") {
  const auto all = classes({1, 2, 4, 8, 16, 32, 64}, {32, 128, 512, 2048});
  const auto check = [&](uint32_t n, bool with_prompts, uint32_t rows, bool of_prompts) {
    CAPTURE(n);
    const GpuPlan::BatchClass& c = all[class_for(all, n, with_prompts)];
    CHECK(c.max_rows == rows);
    CHECK(c.prompts == of_prompts);
  };
  check(1, false, 1, false);
  check(3, false, 4, false);
  check(30, false, 32, false);
  check(64, false, 64, false);
  check(65, false, 128, true);
  check(129, false, 512, true);
  check(3, true, 4, false);
  check(16, true, 16, false);
  check(17, true, 32, true);
  check(33, true, 128, true);
  check(129, true, 512, true);
  check(512, true, 512, true);  // not the large one, whose tiles it would leave half empty
  check(513, true, 2048, true);
}

TEST_CASE("the last class takes what no other does") {
  const auto few = classes({1, 8, 32}, {});
  CHECK(few[class_for(few, 20, true)].max_rows == 32);
  const auto one = classes({}, {100});
  CHECK(class_for(one, 7, true) == 0);
}

}  // namespace
}  // namespace puna::plan
