// GIF files; see picture_file.h.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "media/picture_file.h"

namespace puna::media {

// The first frame, on a canvas of the first colour, or of the transparent one where there is one.
// Source: GIF89a Specification, W3C copy of 1990.
base::Result<PictureFile> decode_gif(std::span<const std::byte> file, const PictureLimits& limits);

}  // namespace puna::media
