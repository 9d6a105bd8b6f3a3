#include "media/picture_file.h"

#include <fmt/format.h>

namespace puna::media {

base::Result<Picture> blank_picture(std::string_view format, uint64_t width, uint64_t height,
                                    const PictureLimits& limits) {
  const auto refuse = [&](std::string_view why, uint64_t limit) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("The {} picture has {} x {} pixels, which is {} {}.", format,
                                  width, height, why, limit));
  };
  if (width == 0 || height == 0) return refuse("fewer than", 1);
  if (width > limits.max_side || height > limits.max_side) {
    return refuse("more on a side than", limits.max_side);
  }
  if (width * height > limits.max_pixels) return refuse("more in all than", limits.max_pixels);
  Picture picture{static_cast<uint32_t>(width), static_cast<uint32_t>(height), {}};
  picture.rgb.resize(static_cast<size_t>(width * height * 3));
  return picture;
}

}  // namespace puna::media
