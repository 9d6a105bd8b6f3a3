#include "media/file_errors.h"

#include <fmt/format.h>

#include "base/result.h"

namespace puna::media {

std::unexpected<base::Error> corrupt_file(std::string_view format, std::string_view what) {
  return base::fail(base::ErrorCode::kCorrupt, fmt::format("The {} file {}.", format, what));
}

std::unexpected<base::Error> unsupported_file(std::string_view format, std::string_view what) {
  return base::fail(base::ErrorCode::kUnsupported, fmt::format("The {} file {}.", format, what));
}

}  // namespace puna::media
