// The sizes that pictures are brought to for an encoder, by the kind of its preprocessing; tiles.h
// uses them. Computed in double precision in the order of transformers' image processors, so that
// what lies at an edge is rounded to the same side.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "media/tiles.h"

namespace puna::media {

struct Size {
  uint64_t width = 0;
  uint64_t height = 0;

  uint64_t pixels() const { return width * height; }
};

// Both sides rounded to multiples of f, half to even, and scaled where that has more than
// max_pixels or fewer than min_pixels. Errors: kInvalidArgument where a side is more than 200 times
// the other. Source: qwen2_vl, smart_resize.
base::Result<Size> qwen_size(const Size& from, const TileRecipe& recipe);

// The largest multiples of f that have at most max_tokens * f * f pixels in the aspect ratio.
// Source: gemma4, get_aspect_ratio_preserving_size.
Size gemma4_size(const Size& from, const TileRecipe& recipe);

// Reduced until the longer side is at most image_size, then up to multiples of f.
// Source: pixtral, get_resize_output_image_size.
Size pixtral_size(const Size& from, const TileRecipe& recipe);

// The longer side at longer_side, the other one even. Source: idefics3,
// get_resize_output_image_size.
Size idefics3_size(const Size& from, const TileRecipe& recipe);

// Up to multiples of a tile. Source: idefics3, resize_for_vision_encoder.
Size idefics3_grid_size(const Size& from, const TileRecipe& recipe);

// Columns and rows: of the grids of min_tiles to max_tiles the one nearest in aspect ratio; of two
// as near the larger one where the picture has more than half its pixels. Source: got_ocr2,
// get_optimal_tiled_canvas.
Size internvl_grid(const Size& from, const TileRecipe& recipe);

}  // namespace puna::media
