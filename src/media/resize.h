// Pictures in another size, to the byte as Pillow's Image.resize makes them.
#pragma once

#include <cstdint>

#include "media/picture.h"

namespace puna::media {

enum class Filter {
  kBilinear,  // a triangle of support 1
  kBicubic,   // Keys' cubic with a = -0.5, support 2
  kLanczos,   // the windowed sinc of support 3
};

// The picture stretched to width times height, both above 0, without regard to its aspect ratio.
// Along each axis the filter is widened by max(1, in / out) and its weights over the pixels inside
// are normalised, rounded to fixed point and summed up; the result of each axis is rounded to
// bytes. The width comes first, unless the height loses more than twice as many pixels as it does.
// A side that keeps its length is left alone.
// Source: Pillow 13, src/libImaging/Resample.c.
Picture resize(const Picture& picture, uint32_t width, uint32_t height, Filter filter);

}  // namespace puna::media
