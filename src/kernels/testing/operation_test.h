// Runs the self-test's cases of one role in a role's own tests.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "kernels/selftest/operations_cases.h"

namespace puna::kernels::test {

inline void check_operation(Operations& device, std::string_view role) {
  int n = 0;
  const auto wanted = [&](std::string_view of, std::string_view) { return of == role; };
  const auto record = [&](std::string_view, std::string_view type, std::string shape, double nmse,
                          double limit) -> base::Result<void> {
    INFO(std::string(type) << ", " << shape);
    CHECK(nmse <= limit);
    ++n;
    return {};
  };
  const auto result = OperationCases(device, wanted, record).run();
  REQUIRE_MESSAGE(result, result.error().text());
  CHECK(n > 0);
}

}  // namespace puna::kernels::test
