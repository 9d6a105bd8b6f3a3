// BMP files; see picture_file.h.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "media/picture_file.h"

namespace puna::media {

// Palettes, run lengths, 16, 24 and 32 bits with or without masks; headers of Windows and OS/2.
// Source: Windows GDI, BITMAPV5HEADER and "Bitmap Compression".
base::Result<PictureFile> decode_bmp(std::span<const std::byte> file, const PictureLimits& limits);

}  // namespace puna::media
