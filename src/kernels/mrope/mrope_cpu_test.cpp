#include <doctest/doctest.h>

#include "kernels/mrope/mrope.h"
#include "kernels/testing/operation_cpu_test.h"

namespace puna::kernels {
namespace {

TEST_CASE("rope of several coordinates is right for every order of sections on the CPU") {
  test::check_operation_cpu("mrope");
}

std::vector<uint32_t> sections_of(SectionOrder order, std::array<uint32_t, kSections> sizes) {
  MropeShape shape{{}, sizes, order, 128};
  shape.rope.n_rot = 2 * (sizes[0] + sizes[1] + sizes[2] + sizes[3]);
  const auto pairs = section_pairs(shape);
  REQUIRE(pairs);
  std::vector<uint32_t> sections;
  for (const SectionPair& pair : *pairs) sections.push_back(pair.section);
  return sections;
}

TEST_CASE("pairs go to sections in turn, or by threes with time where a section has ended") {
  CHECK(sections_of(SectionOrder::kInTurn, {2, 0, 3, 1}) ==
        std::vector<uint32_t>{0, 0, 2, 2, 2, 3});
  CHECK(sections_of(SectionOrder::kByThrees, {4, 2, 1, 0}) ==
        std::vector<uint32_t>{0, 1, 2, 0, 1, 0, 0});
}

TEST_CASE("sections that do not fit what is turned are refused") {
  MropeShape shape{{}, {16, 24, 24, 0}, SectionOrder::kInTurn, 128};
  shape.rope.n_rot = 128;
  CHECK(section_pairs(shape));
  shape.sections[3] = 1;
  CHECK_FALSE(section_pairs(shape));
  shape.sections = {16, 24, 23, 0};
  CHECK_FALSE(section_pairs(shape));
  shape.sections = {16, 24, 24, 0};
  shape.head_dim = 64;
  CHECK_FALSE(section_pairs(shape));
}

}  // namespace
}  // namespace puna::kernels
