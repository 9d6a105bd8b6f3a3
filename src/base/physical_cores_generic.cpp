// n_physical_cores() where only the standard library is at hand: hardware threads, which may be
// more than cores.
#include <algorithm>
#include <thread>

#include "base/thread_pool.h"

namespace puna::base {

int n_physical_cores() {
  return static_cast<int>(std::max(std::thread::hardware_concurrency(), 1u));
}

}  // namespace puna::base
