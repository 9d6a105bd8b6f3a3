// PUNA_CHECK guards cheap invariants that protect memory and is always on; PUNA_DCHECK guards the
// rest and is on in debug builds. A failed check prints where and stops the process: it marks a bug
// in Puna, never bad input.
#pragma once

namespace puna::base {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}  // namespace puna::base

#define PUNA_CHECK(condition)             \
  (static_cast<bool>(condition) ? void(0) \
                                : ::puna::base::check_failed(#condition, __FILE__, __LINE__))

#ifndef NDEBUG
#define PUNA_DCHECK(condition) PUNA_CHECK(condition)
#else
#define PUNA_DCHECK(condition) void(sizeof(static_cast<bool>(condition)))
#endif
