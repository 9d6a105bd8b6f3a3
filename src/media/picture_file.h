// What the decoders of pictures share: a decoder a format, each with its header (png.h ...), all of
// the same shape, called by the table in decode.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "media/decode.h"
#include "media/picture.h"

namespace puna::media {

// A file's pixels as they lie in it, and how to turn them.
struct PictureFile {
  Picture picture;
  uint32_t orientation = 1;  // as EXIF has it, 1 to 8; see exif.h
};

// A picture of that size with all bytes 0.
// Errors: kInvalidArgument when it has no pixels or more than the limits (with both numbers).
base::Result<Picture> blank_picture(std::string_view format, uint64_t width, uint64_t height,
                                    const PictureLimits& limits);

}  // namespace puna::media
