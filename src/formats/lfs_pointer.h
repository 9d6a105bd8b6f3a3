// The text that git leaves in place of a large file when Git LFS did not fetch it. Source: Git LFS
// specification (git-lfs/git-lfs, docs/spec.md).
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/result.h"
#include "base/task.h"
#include "io/byte_source.h"

namespace puna::formats {

inline constexpr std::string_view kLfsPointerStart = "version https://git-lfs.github.com/spec/";

inline bool is_lfs_pointer(std::string_view first_bytes) {
  return first_bytes.starts_with(kLfsPointerStart);
}
inline bool is_lfs_pointer(std::span<const std::byte> first_bytes) {
  return is_lfs_pointer(
      std::string_view(reinterpret_cast<const char*>(first_bytes.data()), first_bytes.size()));
}

// kCorrupt, and how to get the file itself.
base::Error lfs_pointer(std::string_view file_name);

// Refuses a source that is one. Reads only where it is as short as pointers are.
base::Task<base::Result<void>> refuse_lfs_pointer(io::ByteSource& source);

}  // namespace puna::formats
