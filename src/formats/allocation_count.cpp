#include "formats/allocation_count.h"

#include <atomic>
#include <cstdlib>
#include <new>

#include "base/sanitized.h"

namespace {
std::atomic<size_t> g_allocated{0};
}  // namespace

namespace puna::formats {
const bool kCountsAllocations = !base::kSanitized;
void reset_allocated() { g_allocated = 0; }
size_t allocated() { return g_allocated; }
}  // namespace puna::formats

#if !PUNA_SANITIZED
void* operator new(size_t n) {
  g_allocated += n;
  if (void* p = std::malloc(n ? n : 1)) return p;
  std::abort();
}
void* operator new(size_t n, const std::nothrow_t&) noexcept {
  g_allocated += n;
  return std::malloc(n ? n : 1);
}
void* operator new[](size_t n, const std::nothrow_t& tag) noexcept { return operator new(n, tag); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
#endif
