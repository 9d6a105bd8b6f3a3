// Pictures from hostile bytes: what decodes has the size that it says and can be cut for every
// kind of model.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "media/decode.h"
#include "media/tiles.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace puna;
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  media::PictureLimits limits;
  limits.max_pixels = 1 << 18;
  const auto picture = media::decode_picture(bytes, limits);
  if (!picture) {
    PUNA_CHECK(!picture.error().message.empty());
    return 0;
  }
  PUNA_CHECK(uint64_t{picture->width} * picture->height <= limits.max_pixels);
  PUNA_CHECK(picture->rgb.size() == size_t{picture->width} * picture->height * 3);
  media::TileRecipe recipe;
  recipe.kind = static_cast<media::TileKind>(size % 7);
  recipe.image_size = 32;
  recipe.patch_size = 8;
  recipe.longer_side = 64;
  recipe.max_pixels = 1 << 12;
  recipe.max_tokens = 70;
  recipe.max_tiles = 4;
  const auto tiles = media::cut_tiles(*picture, recipe);
  if (!tiles) return 0;
  PUNA_CHECK(!tiles->tiles.empty());
  for (const media::Picture& tile : tiles->tiles) {
    PUNA_CHECK(tile.rgb.size() == size_t{tile.width} * tile.height * 3);
  }
  return 0;
}
