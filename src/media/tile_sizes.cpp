#include "media/tile_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace puna::media {

namespace {

// Idefics3 brings no picture to more than this on a side.
constexpr double kIdefics3MaxSide = 4096;

// The side that an aspect ratio is computed for is wanted as a whole number of units.
uint64_t floor_units(double length, double unit) {
  return static_cast<uint64_t>(std::floor(length / unit));
}
uint64_t ceil_units(double length, double unit) {
  return static_cast<uint64_t>(std::ceil(length / unit));
}

uint64_t factor(const TileRecipe& recipe) { return uint64_t{recipe.patch_size} * recipe.merge; }

}  // namespace

base::Result<Size> qwen_size(const Size& from, const TileRecipe& recipe) {
  constexpr uint64_t kMaxRatio = 200;
  const uint64_t longer = std::max(from.width, from.height);
  const uint64_t shorter = std::min(from.width, from.height);
  if (longer > kMaxRatio * shorter) {
    return base::fail(
        base::ErrorCode::kInvalidArgument,
        fmt::format(
            "The picture has {} x {} pixels, and one side is more than {} times the other, which "
            "the model cannot take.",
            from.width, from.height, kMaxRatio));
  }
  const uint64_t f = factor(recipe);
  const auto unit = static_cast<double>(f);
  const auto w = static_cast<double>(from.width);
  const auto h = static_cast<double>(from.height);
  // nearbyint rounds half to even.
  Size to{static_cast<uint64_t>(std::nearbyint(w / unit)) * f,
          static_cast<uint64_t>(std::nearbyint(h / unit)) * f};
  if (to.pixels() > recipe.max_pixels) {
    const double shrink = std::sqrt(h * w / static_cast<double>(recipe.max_pixels));
    to = {std::max(f, floor_units(w / shrink, unit) * f),
          std::max(f, floor_units(h / shrink, unit) * f)};
  } else if (to.pixels() < recipe.min_pixels) {
    const double grow = std::sqrt(static_cast<double>(recipe.min_pixels) / (h * w));
    to = {ceil_units(w * grow, unit) * f, ceil_units(h * grow, unit) * f};
  }
  // Without a lower bound a narrow side can have been rounded to nothing.
  return Size{std::max(to.width, f), std::max(to.height, f)};
}

Size gemma4_size(const Size& from, const TileRecipe& recipe) {
  const uint64_t f = factor(recipe);
  const auto unit = static_cast<double>(f);
  const auto w = static_cast<double>(from.width);
  const auto h = static_cast<double>(from.height);
  const double budget = static_cast<double>(recipe.max_tokens) * unit * unit;
  const double scale = std::sqrt(budget / (h * w));
  Size to{floor_units(scale * w, unit) * f, floor_units(scale * h, unit) * f};
  const uint64_t longest = recipe.max_tokens * f;
  if (to.height == 0) {
    to = {std::min(from.width / from.height * f, longest), f};
  } else if (to.width == 0) {
    to = {f, std::min(from.height / from.width * f, longest)};
  }
  return to;
}

Size pixtral_size(const Size& from, const TileRecipe& recipe) {
  const uint64_t f = factor(recipe);
  Size to = from;
  const double ratio = static_cast<double>(std::max(from.width, from.height)) / recipe.image_size;
  if (ratio > 1) {
    to = {floor_units(static_cast<double>(from.width), ratio),
          floor_units(static_cast<double>(from.height), ratio)};
  }
  const auto up = [&](uint64_t side) { return (std::max<uint64_t>(side, 1) + f - 1) / f * f; };
  return {up(to.width), up(to.height)};
}

Size idefics3_size(const Size& from, const TileRecipe& recipe) {
  const double ratio = static_cast<double>(from.width) / static_cast<double>(from.height);
  const bool wide = from.width >= from.height;
  const auto shorter = [&](double longer) {
    return static_cast<uint64_t>(wide ? longer / ratio : longer * ratio);
  };
  uint64_t longer = recipe.longer_side;
  uint64_t other = shorter(static_cast<double>(longer));
  other += other % 2;
  other = std::max<uint64_t>(other, 1);
  if (static_cast<double>(longer) > kIdefics3MaxSide) {
    const double bounded_ratio = wide ? static_cast<double>(longer) / static_cast<double>(other)
                                      : static_cast<double>(other) / static_cast<double>(longer);
    longer = static_cast<uint64_t>(kIdefics3MaxSide);
    other = static_cast<uint64_t>(wide ? kIdefics3MaxSide / bounded_ratio
                                       : kIdefics3MaxSide * bounded_ratio);
    other = std::max<uint64_t>(other, 1);
  }
  return wide ? Size{longer, other} : Size{other, longer};
}

Size idefics3_grid_size(const Size& from, const TileRecipe& recipe) {
  const uint64_t tile = recipe.image_size;
  const double ratio = static_cast<double>(from.width) / static_cast<double>(from.height);
  const auto up = [&](uint64_t side) { return (side + tile - 1) / tile * tile; };
  if (from.width >= from.height) {
    const uint64_t width = up(from.width);
    const auto height = static_cast<uint64_t>(static_cast<double>(width) / ratio);
    return {width, std::max(up(height), tile)};
  }
  const uint64_t height = up(from.height);
  const auto width = static_cast<uint64_t>(static_cast<double>(height) * ratio);
  return {std::max(up(width), tile), height};
}

Size internvl_grid(const Size& from, const TileRecipe& recipe) {
  const double ratio = static_cast<double>(from.width) / static_cast<double>(from.height);
  const double area = static_cast<double>(from.pixels());
  const double tile_area = static_cast<double>(recipe.image_size) * recipe.image_size;
  double nearest = std::numeric_limits<double>::infinity();
  Size best{1, 1};
  // Fewest tiles first; of as many, narrow grids first.
  for (uint64_t n = std::max(recipe.min_tiles, 1U); n <= recipe.max_tiles; ++n) {
    for (uint64_t columns = 1; columns <= n; ++columns) {
      if (n % columns != 0) continue;
      const uint64_t rows = n / columns;
      const double off = std::abs(ratio - static_cast<double>(columns) / static_cast<double>(rows));
      if (off < nearest || (off == nearest && area > 0.5 * tile_area * static_cast<double>(n))) {
        nearest = off;
        best = {columns, rows};
      }
    }
  }
  return best;
}

}  // namespace puna::media
