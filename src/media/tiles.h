// What an image encoder reads: a picture resized, padded and cut as its model was trained, which
// is mostly not said in the model's file. A way of preprocessing is a value of TileKind, a file
// beside tiles.cpp where it is more than some lines, and a row in the table there.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "media/picture.h"

namespace puna::media {

// Named for the family that brought it up; sizes are in pixels. f = patch_size * merge throughout.
enum class TileKind {
  kGemma3,    // stretched to image_size squared, bilinear
  kGemma4,    // sides multiples of f, as near to max_tokens * f^2 pixels as that allows, bicubic
  kQwen,      // sides to the nearest multiples of f, pixels from min_pixels to max_pixels, bicubic
  kIdefics3,  // longer side to longer_side, then tiles of image_size and the whole as the last one,
              // Lanczos
  kLlava,     // padded to a square with the colour of mean, then to image_size squared, bicubic
  kPixtral,   // longer side at most image_size, then up to multiples of f, bicubic
  kInternvl,  // grid of at most max_tiles tiles of image_size, nearest in aspect ratio; the whole
              // last where it is more than one, bicubic
};

// What a model's file says of its preprocessing, beyond its kind. Fields that the kind does not
// name are not looked at.
struct TileRecipe {
  TileKind kind = TileKind::kGemma3;
  uint32_t image_size = 0;
  uint32_t patch_size = 0;
  uint32_t merge = 1;        // patches a row of embeddings stands for, along each axis
  uint32_t longer_side = 0;  // kIdefics3
  uint64_t min_pixels = 0;   // kQwen
  uint64_t max_pixels = 0;   // kQwen
  uint32_t max_tokens = 0;   // kGemma4
  uint32_t min_tiles = 1;    // kInternvl
  uint32_t max_tiles = 1;    // kInternvl
  std::array<float, 3> mean = {0, 0, 0};
  std::array<float, 3> std = {1, 1, 1};
};

struct Tiles {
  std::vector<Picture> tiles;  // in the order in which they are encoded
  uint32_t columns = 1;        // of the grid that the tiles but a whole one lie in, row by row
  uint32_t rows = 1;
  bool whole_last = false;  // the last tile is the whole picture once more
};

// Errors: kInvalidArgument when the picture has no pixels, the recipe lacks what its kind names,
// or the result would be larger than kMaxTilePixels.
base::Result<Tiles> cut_tiles(const Picture& picture, const TileRecipe& recipe);

// Of all tiles of a picture together.
inline constexpr uint64_t kMaxTilePixels = uint64_t{64} << 20;

// (x / 255 - mean) / std of each byte: [height, width, 3].
std::vector<float> normalized(const Picture& tile, const TileRecipe& recipe);

}  // namespace puna::media
