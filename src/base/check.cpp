#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace puna::base {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "puna: check failed: %s (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace puna::base
