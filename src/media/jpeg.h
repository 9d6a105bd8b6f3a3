// JPEG files; see picture_file.h.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "media/picture_file.h"

namespace puna::media {

// CMYK is turned to RGB as by Adobe's convention, in which it is stored inverted.
base::Result<PictureFile> decode_jpeg(std::span<const std::byte> file, const PictureLimits& limits);

}  // namespace puna::media
