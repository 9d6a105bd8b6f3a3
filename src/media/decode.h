// Files of pictures to pixels: PNG, JPEG, WebP, BMP and the first frame of a GIF, told apart by
// what they begin with, never by a name. The pixels are those of Pillow's
// ImageOps.exif_transpose(image).convert("RGB"), which models were trained with: palettes and grey
// become RGB, alpha is dropped and not blended.
//
// A file is refused by what its header says before anything is allocated for its pixels. A new
// format is a file beside png.cpp and a row in decode.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "media/picture.h"

namespace puna::media {

// What a decoder may be asked for, whatever a file says of itself.
struct PictureLimits {
  uint64_t max_file_bytes = uint64_t{64} << 20;
  uint32_t max_side = 32768;                 // pixels
  uint64_t max_pixels = uint64_t{64} << 20;  // width times height
};

// "PNG", "JPEG", "WebP", "GIF" or "BMP"; empty where the bytes begin like none of them.
std::string_view picture_format(std::span<const std::byte> file);

// The file's pixels, turned upright where its EXIF orientation says so.
// Errors: kInvalidArgument when the file is empty or larger than a limit (with both numbers),
// kUnsupported when it is of no known format or a part of one that is not read, kCorrupt when it
// ends early or breaks its format, kOutOfMemory.
base::Result<Picture> decode_picture(std::span<const std::byte> file,
                                     const PictureLimits& limits = {});

}  // namespace puna::media
