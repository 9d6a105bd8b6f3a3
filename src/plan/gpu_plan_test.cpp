#include "plan/gpu_plan.h"

#include <doctest/doctest.h>

namespace puna::plan {
namespace {

std::vector<GpuPlan::BatchClass> classes(std::initializer_list<uint32_t> rows) {
  std::vector<GpuPlan::BatchClass> out;
  for (const uint32_t n : rows) out.push_back({n, {}, {}});
  return out;
}

TEST_CASE(
    "a step runs in the smallest class that takes it, one with prompts in those for prompts") {
  const auto all = classes({1, 2, 4, 8, 16, 32, 64, 128, 512, 2048});
  const auto rows = [&](uint32_t n, bool with_prompts) {
    return all[class_for(all, n, with_prompts)].max_rows;
  };
  CHECK(rows(1, false) == 1);
  CHECK(rows(3, false) == 4);
  CHECK(rows(100, false) == 128);
  CHECK(rows(129, false) == 512);
  CHECK(rows(3, true) == 4);
  CHECK(rows(16, true) == 16);
  CHECK(rows(17, true) == 512);
  CHECK(rows(512, true) == 512);  // not the large one, whose tiles it would leave half empty
  CHECK(rows(513, true) == 2048);
}

TEST_CASE("the last class takes what no other does") {
  const auto few = classes({1, 8, 32});
  CHECK(few[class_for(few, 20, true)].max_rows == 32);
  const auto one = classes({100});
  CHECK(class_for(one, 7, true) == 0);
}

}  // namespace
}  // namespace puna::plan
