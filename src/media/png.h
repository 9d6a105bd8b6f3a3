// PNG files; see picture_file.h.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "media/picture_file.h"

namespace puna::media {

base::Result<PictureFile> decode_png(std::span<const std::byte> file, const PictureLimits& limits);

}  // namespace puna::media
