// WebP files; see picture_file.h.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "media/picture_file.h"

namespace puna::media {

// The first frame where there are several.
base::Result<PictureFile> decode_webp(std::span<const std::byte> file, const PictureLimits& limits);

}  // namespace puna::media
