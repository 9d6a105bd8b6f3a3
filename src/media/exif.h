// How a picture lies, by its EXIF data and its XMP. Read next: picture_file.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "media/picture.h"

namespace puna::media {

// The orientation of TIFF's tag 274 in the first directory of EXIF data, with or without "Exif\0\0"
// before it: 1 (upright) to 8; 1 where it says one that does not exist. None where there is no tag.
std::optional<uint32_t> exif_orientation(std::span<const std::byte> exif);
// The same of EXIF data as PNG files of ImageMagick hold them in a text ("Raw profile type exif"):
// hexadecimal digits behind three lines.
std::optional<uint32_t> exif_orientation_of_text(std::string_view text);
// The digit behind the first "tiff:Orientation" of XMP that has one. Pillow looks here where EXIF
// data say nothing.
std::optional<uint32_t> xmp_orientation(std::string_view xmp);

// The picture mirrored and turned so that it is upright.
Picture upright(Picture picture, uint32_t orientation);

}  // namespace puna::media
