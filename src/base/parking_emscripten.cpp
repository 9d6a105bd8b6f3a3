// The libc++ of Emscripten 3.1.69 polls in std::atomic::wait, with sleeps of growing length
// between.
#include <emscripten/threading.h>

#include <climits>
#include <limits>

#include "base/parking.h"

namespace puna::base {
namespace {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

volatile void* address(const std::atomic<uint32_t>& word) {
  return const_cast<std::atomic<uint32_t>*>(&word);
}

}  // namespace

void park(const std::atomic<uint32_t>& word, uint32_t seen) {
  emscripten_futex_wait(address(word), seen, std::numeric_limits<double>::infinity());
}
void unpark_one(std::atomic<uint32_t>& word) { emscripten_futex_wake(address(word), 1); }
void unpark_all(std::atomic<uint32_t>& word) { emscripten_futex_wake(address(word), INT_MAX); }

}  // namespace puna::base
