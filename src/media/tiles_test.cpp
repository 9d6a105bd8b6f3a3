#include "media/tiles.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "media/decode.h"
#include "media/resize.h"
#include "media/testing/fixtures.h"

namespace puna::media {
namespace {

Picture picture_of(const std::string& name) {
  auto picture = decode_picture(testing::read_fixture(name));
  REQUIRE(picture.has_value());
  return *std::move(picture);
}

constexpr std::string_view kKinds[] = {"gemma3", "gemma4",  "qwen",    "idefics3",
                                       "llava",  "pixtral", "internvl"};

TileRecipe recipe_of(const base::Json& json) {
  TileRecipe recipe;
  for (size_t i = 0; i < std::size(kKinds); ++i) {
    if (json.find("kind")->string() == kKinds[i]) recipe.kind = static_cast<TileKind>(i);
  }
  const auto number = [&](const char* key, auto& to) {
    if (const auto* value = json.find(key))
      to = static_cast<std::remove_reference_t<decltype(to)>>(value->integer());
  };
  number("image_size", recipe.image_size);
  number("patch_size", recipe.patch_size);
  number("merge", recipe.merge);
  number("longer_side", recipe.longer_side);
  number("min_pixels", recipe.min_pixels);
  number("max_pixels", recipe.max_pixels);
  number("max_tokens", recipe.max_tokens);
  number("max_tiles", recipe.max_tiles);
  recipe.mean = {0.48145466F, 0.4578275F, 0.40821073F};
  return recipe;
}

TEST_CASE("a resized picture is Pillow's to the byte") {
  const base::Json facts = testing::read_facts("pictures.json");
  const Picture picture = picture_of("photo.png");
  for (const auto& fact : facts.find("resized")->items()) {
    const auto& numbers = fact.items();
    CAPTURE(fact.dump());
    const Picture resized = resize(picture, static_cast<uint32_t>(numbers[1].integer()),
                                   static_cast<uint32_t>(numbers[2].integer()),
                                   static_cast<Filter>(numbers[0].integer()));
    CHECK(testing::crc_of(resized) == numbers[3].integer());
  }
}

TEST_CASE("every kind of preprocessing is that of transformers to the byte") {
  const base::Json facts = testing::read_facts("pictures.json");
  for (const auto& fact : facts.find("cut")->items()) {
    CAPTURE(fact.dump());
    const auto tiles = cut_tiles(picture_of(fact.find("file")->string()), recipe_of(fact));
    REQUIRE_MESSAGE(tiles.has_value(), (tiles ? "" : tiles.error().text()));
    const auto& expected = fact.find("tiles")->items();
    REQUIRE(tiles->tiles.size() == expected.size());
    CHECK(tiles->columns == fact.find("columns")->integer());
    CHECK(tiles->rows == fact.find("rows")->integer());
    CHECK(tiles->whole_last == (expected.size() > 1));
    for (size_t i = 0; i < expected.size(); ++i) {
      CHECK(tiles->tiles[i].width == expected[i].items()[0].integer());
      CHECK(tiles->tiles[i].height == expected[i].items()[1].integer());
      CHECK(testing::crc_of(tiles->tiles[i]) == expected[i].items()[2].integer());
    }
  }
}

TEST_CASE(
    "pictures of a line of pixels are cut, or refused where the model was not trained for them") {
  for (const auto& [width, height] :
       std::initializer_list<std::array<uint32_t, 2>>{{1, 700}, {700, 1}, {1, 1}}) {
    const Picture line{width, height, std::vector<uint8_t>(size_t{width} * height * 3, 9)};
    for (size_t kind = 0; kind < std::size(kKinds); ++kind) {
      CAPTURE(width);
      CAPTURE(kKinds[kind]);
      TileRecipe recipe;
      recipe.kind = static_cast<TileKind>(kind);
      recipe.image_size = 32;
      recipe.patch_size = 8;
      recipe.longer_side = 64;
      recipe.max_pixels = 1 << 20;
      recipe.max_tokens = 70;
      recipe.max_tiles = 12;
      const auto tiles = cut_tiles(line, recipe);
      if (recipe.kind == TileKind::kQwen && width * height > 1) {
        REQUIRE_FALSE(tiles.has_value());
        CHECK(tiles.error().message.find("more than 200 times") != std::string::npos);
        continue;
      }
      REQUIRE_MESSAGE(tiles.has_value(), (tiles ? "" : tiles.error().text()));
      for (const Picture& tile : tiles->tiles) {
        CHECK(tile.width > 0);
        CHECK(tile.rgb.size() == size_t{tile.width} * tile.height * 3);
        CHECK(tile.width % 8 == 0);
        CHECK(tile.height % 8 == 0);
      }
    }
  }
}

TEST_CASE("recipes without what their kind needs, and results without end, are refused") {
  const Picture picture{10, 10, std::vector<uint8_t>(300)};
  for (size_t kind = 0; kind < std::size(kKinds); ++kind) {
    TileRecipe recipe;
    recipe.kind = static_cast<TileKind>(kind);
    const auto tiles = cut_tiles(picture, recipe);
    REQUIRE_FALSE(tiles.has_value());
    CHECK(tiles.error().message.find("1 to 65536") != std::string::npos);
  }
  TileRecipe recipe;
  recipe.image_size = 10000;
  auto tiles = cut_tiles(picture, recipe);
  REQUIRE_FALSE(tiles.has_value());
  CHECK(tiles.error().message.find("10000 x 10000, which is more than 67108864") !=
        std::string::npos);
  recipe = {TileKind::kInternvl, 64, 8};
  recipe.max_tiles = 2000;
  CHECK_FALSE(cut_tiles(picture, recipe).has_value());
  recipe.max_tiles = 12;
  CHECK(cut_tiles(picture, recipe).has_value());
  CHECK_FALSE(cut_tiles(Picture{}, recipe).has_value());
  recipe = {TileKind::kQwen, 0, 14};
  recipe.min_pixels = 2;
  recipe.max_pixels = 1;
  CHECK_FALSE(cut_tiles(picture, recipe).has_value());
}

TEST_CASE("normalized bytes are numbers about 0") {
  TileRecipe recipe;
  recipe.mean = {0.5F, 0.25F, 0};
  recipe.std = {0.5F, 0.5F, 2};
  const std::vector<float> values = normalized(Picture{2, 1, {0, 255, 51, 255, 0, 0}}, recipe);
  const float expected[] = {-1, 1.5F, 0.1F, 1, -0.5F, 0};
  REQUIRE(values.size() == 6);
  for (size_t i = 0; i < 6; ++i) CHECK(values[i] == doctest::Approx(expected[i]).epsilon(1e-7));
}

}  // namespace
}  // namespace puna::media
