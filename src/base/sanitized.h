// Whether this is a build with a sanitizer that watches memory or threads: it has an allocator of
// its own, and is several times slower.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PUNA_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define PUNA_SANITIZED 1
#endif
#endif
#ifndef PUNA_SANITIZED
#define PUNA_SANITIZED 0
#endif

namespace puna::base {

inline constexpr bool kSanitized = PUNA_SANITIZED != 0;

// Tests with thousands of like cases take one of so many: sanitizers learn little from the others.
inline constexpr size_t kOneOf = kSanitized ? 5 : 1;

}  // namespace puna::base
