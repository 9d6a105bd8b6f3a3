#include "media/tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "media/resize.h"
#include "media/tile_sizes.h"

namespace puna::media {

namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

Size size_of(const Picture& picture) { return {picture.width, picture.height}; }

Result<Picture> stretched(const Picture& picture, const Size& size, Filter filter) {
  // The sides are looked at one by one, as their product could run over.
  if (size.width > kMaxTilePixels || size.height > kMaxTilePixels ||
      size.pixels() > kMaxTilePixels) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("The model takes the picture of {} x {} pixels as one of {} x {}, which is "
                    "more than {} "
                    "pixels.",
                    picture.width, picture.height, size.width, size.height, kMaxTilePixels));
  }
  return resize(picture, static_cast<uint32_t>(size.width), static_cast<uint32_t>(size.height),
                filter);
}

Result<Tiles> one_tile(const Picture& picture, const Size& size, Filter filter) {
  PUNA_TRY(Picture tile, stretched(picture, size, filter));
  Tiles tiles;
  tiles.tiles.push_back(std::move(tile));
  return tiles;
}

// The part of a picture from column x and row y on.
Picture part(const Picture& picture, uint32_t x, uint32_t y, uint32_t width, uint32_t height) {
  Picture out{width, height, std::vector<uint8_t>(size_t{width} * height * 3)};
  for (uint32_t row = 0; row < height; ++row) {
    const size_t from = (size_t{y + row} * picture.width + x) * 3;
    std::copy_n(picture.rgb.begin() + static_cast<ptrdiff_t>(from), size_t{width} * 3,
                out.rgb.begin() + static_cast<ptrdiff_t>(size_t{row} * width * 3));
  }
  return out;
}

// Square tiles of a picture that is a whole number of them, row by row.
Tiles cut(const Picture& picture, uint32_t side) {
  Tiles tiles;
  tiles.columns = picture.width / side;
  tiles.rows = picture.height / side;
  for (uint32_t row = 0; row < tiles.rows; ++row) {
    for (uint32_t column = 0; column < tiles.columns; ++column) {
      tiles.tiles.push_back(part(picture, column * side, row * side, side, side));
    }
  }
  return tiles;
}

Size square(const TileRecipe& recipe) { return {recipe.image_size, recipe.image_size}; }

Result<Tiles> gemma3(const Picture& picture, const TileRecipe& recipe) {
  return one_tile(picture, square(recipe), Filter::kBilinear);
}

Result<Tiles> gemma4(const Picture& picture, const TileRecipe& recipe) {
  return one_tile(picture, gemma4_size(size_of(picture), recipe), Filter::kBicubic);
}

Result<Tiles> qwen(const Picture& picture, const TileRecipe& recipe) {
  PUNA_TRY(const Size size, qwen_size(size_of(picture), recipe));
  return one_tile(picture, size, Filter::kBicubic);
}

Result<Tiles> pixtral(const Picture& picture, const TileRecipe& recipe) {
  return one_tile(picture, pixtral_size(size_of(picture), recipe), Filter::kBicubic);
}

Result<Tiles> llava(const Picture& picture, const TileRecipe& recipe) {
  if (picture.width == picture.height) {
    return one_tile(picture, square(recipe), Filter::kBicubic);
  }
  const uint32_t side = std::max(picture.width, picture.height);
  // As large as the picture would be resized to, at the least: what is refused is the padding.
  if (uint64_t{side} * side > kMaxTilePixels) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format(
            "The picture of {} x {} pixels is more than {} pixels once it is padded to a square, "
            "which is what the model takes.",
            picture.width, picture.height, kMaxTilePixels));
  }
  Picture padded{side, side, std::vector<uint8_t>(size_t{side} * side * 3)};
  for (size_t i = 0; i < padded.rgb.size(); ++i) {
    padded.rgb[i] = static_cast<uint8_t>(std::clamp(recipe.mean[i % 3], 0.0F, 1.0F) * 255);
  }
  const uint32_t left = (side - picture.width) / 2;
  const uint32_t top = (side - picture.height) / 2;
  const size_t row_bytes = size_t{picture.width} * 3;
  for (uint32_t y = 0; y < picture.height; ++y) {
    std::copy_n(picture.rgb.begin() + static_cast<ptrdiff_t>(y * row_bytes), row_bytes,
                padded.rgb.begin() + static_cast<ptrdiff_t>((size_t{top + y} * side + left) * 3));
  }
  return one_tile(padded, square(recipe), Filter::kBicubic);
}

Result<Tiles> idefics3(const Picture& picture, const TileRecipe& recipe) {
  PUNA_TRY(Picture sized,
           stretched(picture, idefics3_size(size_of(picture), recipe), Filter::kLanczos));
  PUNA_TRY(const Picture whole,
           stretched(sized, idefics3_grid_size(size_of(sized), recipe), Filter::kLanczos));
  Tiles tiles = cut(whole, recipe.image_size);
  if (tiles.tiles.size() > 1) {
    tiles.tiles.push_back(resize(whole, recipe.image_size, recipe.image_size, Filter::kLanczos));
    tiles.whole_last = true;
  }
  return tiles;
}

Result<Tiles> internvl(const Picture& picture, const TileRecipe& recipe) {
  const Size grid = internvl_grid(size_of(picture), recipe);
  PUNA_TRY(const Picture sized,
           stretched(picture, {grid.width * recipe.image_size, grid.height * recipe.image_size},
                     Filter::kBicubic));
  Tiles tiles = cut(sized, recipe.image_size);
  if (tiles.tiles.size() > 1) {
    tiles.tiles.push_back(resize(picture, recipe.image_size, recipe.image_size, Filter::kBicubic));
    tiles.whole_last = true;
  }
  return tiles;
}

struct Kind {
  std::string_view name;
  Result<Tiles> (*cut)(const Picture&, const TileRecipe&);
  // The sizes that a recipe has to name, each above 0; nothing where it may do without.
  uint32_t TileRecipe::* sizes[2];
};

constexpr Kind kKinds[] = {
    // In the order of TileKind.
    {"gemma3", gemma3, {&TileRecipe::image_size}},
    {"gemma4v", gemma4, {&TileRecipe::patch_size, &TileRecipe::max_tokens}},
    {"qwen", qwen, {&TileRecipe::patch_size}},
    {"idefics3", idefics3, {&TileRecipe::image_size, &TileRecipe::longer_side}},
    {"llava", llava, {&TileRecipe::image_size}},
    {"pixtral", pixtral, {&TileRecipe::image_size, &TileRecipe::patch_size}},
    {"internvl", internvl, {&TileRecipe::image_size, &TileRecipe::max_tiles}},
};

// Above what any model has; keeps the products of sizes small.
constexpr uint32_t kMaxRecipeSize = 1 << 16;

Result<void> check(const TileRecipe& recipe, const Kind& kind) {
  const auto wrong = [&](std::string_view what, uint64_t value) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("The preprocessing \"{}\" has {} {}, which has to be from 1 to {}.",
                            kind.name, what, value, kMaxRecipeSize));
  };
  const auto bad = [](uint32_t value) { return value == 0 || value > kMaxRecipeSize; };
  for (const auto size : kind.sizes) {
    if (size != nullptr && bad(recipe.*size)) return wrong("a size of", recipe.*size);
  }
  if (bad(recipe.merge)) return wrong("patches merged by", recipe.merge);
  // Grids are tried one by one.
  constexpr uint32_t kMaxTiles = 1024;
  if (recipe.max_tiles > kMaxTiles) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("The preprocessing \"{}\" has up to {} tiles, but at most {} are taken.",
                    kind.name, recipe.max_tiles, kMaxTiles));
  }
  if (recipe.kind == TileKind::kQwen &&
      (recipe.max_pixels == 0 || recipe.min_pixels > recipe.max_pixels)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("The preprocessing \"{}\" takes from {} to {} pixels, which is none.",
                            kind.name, recipe.min_pixels, recipe.max_pixels));
  }
  return {};
}

}  // namespace

Result<Tiles> cut_tiles(const Picture& picture, const TileRecipe& recipe) {
  const Kind& kind = kKinds[static_cast<size_t>(recipe.kind)];
  if (picture.width == 0 || picture.height == 0 ||
      picture.rgb.size() != size_t{picture.width} * picture.height * 3) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("A picture of {} x {} pixels and {} bytes is none.", picture.width,
                            picture.height, picture.rgb.size()));
  }
  PUNA_TRY(check(recipe, kind));
  return kind.cut(picture, recipe);
}

std::vector<float> normalized(const Picture& tile, const TileRecipe& recipe) {
  // There are few different bytes.
  float table[3][256];
  for (size_t channel = 0; channel < 3; ++channel) {
    for (size_t byte = 0; byte < 256; ++byte) {
      table[channel][byte] = static_cast<float>(
          (static_cast<double>(byte) / 255 - recipe.mean[channel]) / recipe.std[channel]);
    }
  }
  std::vector<float> out(tile.rgb.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = table[i % 3][tile.rgb[i]];
  return out;
}

}  // namespace puna::media
