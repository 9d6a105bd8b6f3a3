// The range check every ByteSource makes before it reads.
#pragma once

#include <fmt/format.h>

#include "io/byte_source.h"

namespace puna::io {

inline base::Result<void> check_range(const ByteSource& source, uint64_t offset, uint64_t n) {
  if (offset <= source.size() && n <= source.size() - offset) return {};
  return base::fail(base::ErrorCode::kInvalidArgument,
                    fmt::format("{} bytes at offset {} lie outside \"{}\" ({} bytes).", n, offset,
                                source.name(), source.size()));
}

}  // namespace puna::io
