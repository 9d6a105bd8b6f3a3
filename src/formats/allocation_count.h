// For tests: how many bytes operator new was asked for. Linking allocation_count.cpp replaces it in
// the whole program.
#pragma once

#include <cstddef>

namespace puna::formats {

extern const bool kCountsAllocations;  // false under a sanitizer, which owns operator new
void reset_allocated();
// Bytes asked for since the last reset, freed or not.
size_t allocated();

}  // namespace puna::formats
