#include "kernels/selftest/checks.h"

namespace puna::kernels {

base::Result<void> check_all(Check& check) {
#define PUNA_RUN_CHECK(role) PUNA_TRY(check_##role(check));
  PUNA_CHECKED_ROLES(PUNA_RUN_CHECK)
#undef PUNA_RUN_CHECK
  return {};
}

}  // namespace puna::kernels
