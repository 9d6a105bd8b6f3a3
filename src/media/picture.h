// A picture as models see it: rows of red, green and blue bytes. decode.h makes one of a file's
// bytes, resize.h another size of it, tiles.h what an encoder reads.
#pragma once

#include <cstdint>
#include <vector>

namespace puna::media {

struct Picture {
  uint32_t width = 0;        // pixels
  uint32_t height = 0;       // pixels
  std::vector<uint8_t> rgb;  // [height, width, 3]

  bool operator==(const Picture&) const = default;
};

}  // namespace puna::media
