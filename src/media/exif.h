// How a picture lies, by its EXIF data. Read next: picture_file.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "media/picture.h"

namespace puna::media {

// The orientation of TIFF's tag 274 in the first directory of EXIF data, with or without "Exif\0\0"
// before it: 1 (upright) to 8; 1 where it says none that exists.
uint32_t exif_orientation(std::span<const std::byte> exif);

// The picture mirrored and turned so that it is upright.
Picture upright(Picture picture, uint32_t orientation);

}  // namespace puna::media
