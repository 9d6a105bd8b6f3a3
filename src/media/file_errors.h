// Errors of files, in the same words for all formats.
#pragma once

#include <expected>
#include <string_view>

#include "base/error.h"

namespace puna::media {

// kCorrupt: 'The PNG file ' and what is wrong with it.
[[nodiscard]] std::unexpected<base::Error> corrupt_file(std::string_view format,
                                                        std::string_view what);

// kUnsupported, in the same words.
[[nodiscard]] std::unexpected<base::Error> unsupported_file(std::string_view format,
                                                            std::string_view what);

}  // namespace puna::media
