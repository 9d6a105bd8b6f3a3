// Runs the self-test's cases of one role in a role's own tests.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "kernels/selftest/check.h"

namespace puna::kernels::test {

inline void check_operation(CheckedDevice device, std::string_view role) {
  int n = 0;
  const auto wanted = [&](std::string_view of, std::string_view) { return of == role; };
  const auto record = [&](const std::string&, const std::string& type, const std::string& shape,
                          double nmse, double limit) -> base::Result<void> {
    INFO(type << ", " << shape);
    CHECK(nmse <= limit);
    ++n;
    return {};
  };
  Check check(device, wanted, record);
  const auto result = check_all(check);
  REQUIRE_MESSAGE(result, result.error().text());
  CHECK(n > 0);
}

}  // namespace puna::kernels::test
