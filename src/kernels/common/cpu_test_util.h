// Runs a test body once for every CPU variant that this machine has.
#pragma once

#include <doctest/doctest.h>

#include "kernels/matmul/cpu_matrix.h"

namespace puna::kernels::test {

template <class Body>
void for_every_variant(const Body& body) {
  for (const std::string_view name : cpu_variants()) {
    INFO("variant " << name);
    REQUIRE(set_cpu_variant(name).has_value());
    body();
  }
  REQUIRE(set_cpu_variant(cpu_variants().front()).has_value());
}

}  // namespace puna::kernels::test
