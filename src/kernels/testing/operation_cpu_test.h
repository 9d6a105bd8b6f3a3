// A role's cases on every CPU variant of this machine.
#pragma once

#include "kernels/common/cpu_test_util.h"
#include "kernels/testing/operation_test.h"

namespace puna::kernels::test {

inline void check_operation_cpu(std::string_view role) {
  base::ThreadPool pool(2);
  for_every_variant([&] { check_operation({pool}, role); });
}

}  // namespace puna::kernels::test
