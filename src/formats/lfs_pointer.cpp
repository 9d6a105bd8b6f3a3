#include "formats/lfs_pointer.h"

#include <fmt/format.h>

#include <array>

namespace puna::formats {

namespace {

constexpr uint64_t kMostPointerBytes = 1024;  // "must be less than 1024 bytes"

}  // namespace

base::Error lfs_pointer(std::string_view file_name) {
  return {base::ErrorCode::kCorrupt,
          fmt::format("{} is only a Git LFS pointer, the text that stands in for a file that was "
                      "not fetched; run `git lfs pull` in its folder or download the file itself.",
                      file_name),
          {}};
}

base::Task<base::Result<void>> refuse_lfs_pointer(io::ByteSource& source) {
  std::array<std::byte, kLfsPointerStart.size()> first_bytes{};
  if (source.size() < first_bytes.size() || source.size() >= kMostPointerBytes) co_return {};
  auto reading = io::read(source, 0, first_bytes);
  PUNA_CO_TRY(co_await std::move(reading));
  if (is_lfs_pointer(first_bytes)) co_return std::unexpected(lfs_pointer(source.name()));
  co_return {};
}

}  // namespace puna::formats
