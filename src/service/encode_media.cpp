#include "service/encode_media.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "media/decode.h"
#include "media/sound.h"
#include "store/sha256.h"

namespace puna::service {

using base::ErrorCode;
using base::Result;
using media::TileKind;
using media::TileRecipe;
using models::EncoderConfig;
using models::Sense;

namespace {

// Beyond the file: bounds that transformers' processors or llama.cpp have for a kind.
constexpr uint64_t kQwenLeastCells = 8, kQwenMostCells = 4096;
constexpr uint32_t kGemma4Tokens = 280, kInternvlTiles = 12;

Result<uint32_t> number(const formats::ModelFile& file, const char* key, uint32_t otherwise) {
  PUNA_TRY(const uint64_t value, file.get_uint(key, otherwise));
  if (value <= UINT16_MAX) return static_cast<uint32_t>(value);
  return base::fail(
      ErrorCode::kCorrupt,
      fmt::format("The key \"{}\" is {}, but at most {} is expected.", key, value, UINT16_MAX));
}

// What a kind needs beyond what all have.
Result<void> nothing(const formats::ModelFile&, std::optional<uint32_t>, TileRecipe&) { return {}; }

Result<void> of_gemma4(const formats::ModelFile&, std::optional<uint32_t> max_tokens,
                       TileRecipe& recipe) {
  recipe.max_tokens = max_tokens.value_or(kGemma4Tokens);
  return {};
}

Result<void> of_qwen(const formats::ModelFile&, std::optional<uint32_t> max_tokens,
                     TileRecipe& recipe) {
  const uint64_t side = uint64_t{recipe.patch_size} * recipe.merge;
  const uint64_t most = max_tokens ? *max_tokens : kQwenMostCells;
  recipe.min_pixels = std::min(kQwenLeastCells, most) * side * side;
  recipe.max_pixels = most * side * side;
  return {};
}

Result<void> of_idefics3(const formats::ModelFile& file, std::optional<uint32_t>,
                         TileRecipe& recipe) {
  PUNA_TRY(recipe.longer_side,
           number(file, "clip.vision.preproc_image_size", 4 * recipe.image_size));
  return {};
}

Result<void> of_internvl(const formats::ModelFile& file, std::optional<uint32_t>,
                         TileRecipe& recipe) {
  PUNA_TRY(recipe.min_tiles, number(file, "clip.vision.preproc_min_tiles", 1));
  PUNA_TRY(recipe.max_tiles, number(file, "clip.vision.preproc_max_tiles", kInternvlTiles));
  return {};
}

struct Preprocessing {
  const char* kind;  // clip.projector_type
  TileKind tiles;
  Result<void> (*complete)(const formats::ModelFile& file, std::optional<uint32_t> max_tokens,
                           TileRecipe& recipe);
  bool takes_any_size = false;  // so that max_tokens bounds it
  bool takes_least = false;     // and there may be a least number of tokens
};
constexpr Preprocessing kPreprocessing[] = {
    {"gemma3", TileKind::kGemma3, nothing},
    {"gemma4v", TileKind::kGemma4, of_gemma4, /*takes_any_size=*/true},
    {"idefics3", TileKind::kIdefics3, of_idefics3},
    {"internvl", TileKind::kInternvl, of_internvl},
    {"mlp", TileKind::kLlava, nothing},
    {"pixtral", TileKind::kPixtral, nothing},
    {"qwen2.5o", TileKind::kQwen, of_qwen, /*takes_any_size=*/true, /*takes_least=*/true},
    {"qwen2.5vl_merger", TileKind::kQwen, of_qwen, /*takes_any_size=*/true, /*takes_least=*/true},
    {"qwen2vl_merger", TileKind::kQwen, of_qwen, /*takes_any_size=*/true, /*takes_least=*/true},
    {"qwen3vl_merger", TileKind::kQwen, of_qwen, /*takes_any_size=*/true, /*takes_least=*/true},
};

Result<void> check_choice(const Preprocessing& kind, const PictureTokens& tokens) {
  if ((tokens.most && !kind.takes_any_size) || (tokens.least && !kind.takes_least)) {
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("Encoders of the kind \"{}\" take pictures of sizes of their own, "
                    "so there is no {}number of tokens to choose.",
                    kind.kind, tokens.most && !kind.takes_any_size ? "" : "least "));
  }
  if (!tokens.least || !tokens.most || *tokens.least <= *tokens.most) return {};
  return base::fail(ErrorCode::kInvalidArgument,
                    fmt::format("A picture may have {} tokens at least and {} at most, which is "
                                "none.",
                                *tokens.least, *tokens.most));
}

Result<TileRecipe> recipe_of(const formats::ModelFile& file, const EncoderConfig& config,
                             const PictureTokens& tokens) {
  const auto* const found =
      std::ranges::find(kPreprocessing, config.projector.kind, &Preprocessing::kind);
  if (found == std::end(kPreprocessing)) {
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("How pictures are cut for encoders of the kind \"{}\" is not "
                                  "known.",
                                  config.projector.kind));
  }
  PUNA_TRY(check_choice(*found, tokens));
  TileRecipe recipe{.kind = found->tiles,
                    .image_size = config.image_size,
                    .patch_size = config.patch_size,
                    .merge = config.rows.merge,
                    .mean = config.mean,
                    .std = config.std};
  PUNA_TRY(found->complete(file, tokens.most, recipe));
  if (tokens.least) {
    const uint64_t side = uint64_t{recipe.patch_size} * recipe.merge;
    recipe.min_pixels = std::min(*tokens.least * side * side, recipe.max_pixels);
  }
  return recipe;
}

Result<void> cut_picture(const MediaFile& file, const TileRecipe& recipe, MediaInput& out) {
  PUNA_TRY(const media::Picture picture, media::decode_picture(file.bytes));
  PUNA_TRY(media::Tiles tiles, media::cut_tiles(picture, recipe));
  out.pictures = std::move(tiles.tiles);
  out.shape.tile_columns = tiles.columns;
  out.shape.tile_rows = tiles.rows;
  out.shape.whole_last = tiles.whole_last;
  return {};
}

Result<void> cut_sound(const MediaFile& file, const EncoderConfig& config, const MayTake& may_take,
                       MediaInput& out) {
  media::SoundLimits limits;
  if (may_take) {
    // By whole windows: what is left of the sound behind them may be no row.
    const models::Cells window = models::count_cells(config, {{}, config.n_bins, media::kMelFrames})
                                     .value_or(models::Cells());
    limits.may_last = [&may_take, n = uint64_t{window.rows} * window.columns](uint64_t seconds) {
      return may_take(seconds / media::kMelWindowSeconds * n);
    };
  }
  PUNA_TRY(const media::Sound sound, media::decode_sound(file.bytes, limits));
  const media::MelKind kind =
      config.projector.kind == "gemma4a" ? media::MelKind::kGemma4 : media::MelKind::kWhisper;
  PUNA_TRY(out.windows, media::log_mel(sound, {config.n_bins, config.sound.padded_seconds, kind}));
  // What is left of a long sound may be too short for a row.
  if (out.windows.size() > 1 && out.windows.back().n_sounding < config.sound.least_frames())
    out.windows.pop_back();
  return {};
}

// Height and width of each tile, as the encoder counts them.
std::vector<models::EncoderInput> sizes_of(const MediaInput& input) {
  std::vector<models::EncoderInput> out;
  for (const media::Picture& tile : input.pictures) out.push_back({{}, tile.height, tile.width});
  for (const media::MelWindow& window : input.windows)
    out.push_back({{}, window.n_bins, window.n_frames, window.n_sounding});
  return out;
}

}  // namespace

Result<MediaReader> MediaReader::create(const formats::ModelFile& mmproj, Sense sense,
                                        const PictureTokens& tokens) {
  MediaReader out;
  PUNA_TRY(out.config_, models::read_encoder(mmproj, sense));
  if (sense == Sense::kPictures) {
    PUNA_TRY(out.recipe_, recipe_of(mmproj, out.config_, tokens));
  }
  return out;
}

uint32_t MediaReader::most_patches() const {
  const uint64_t cell = uint64_t{recipe_.merge} * recipe_.merge;
  const uint64_t side = recipe_.patch_size > 0
                            ? (recipe_.image_size + recipe_.patch_size - 1) / recipe_.patch_size
                            : 0;
  // Sides go up to whole cells.
  const uint64_t along = (side + recipe_.merge - 1) / recipe_.merge * recipe_.merge;
  const uint64_t patch = uint64_t{recipe_.patch_size} * recipe_.patch_size;
  const uint64_t n = recipe_.max_tokens > 0   ? recipe_.max_tokens * cell
                     : recipe_.max_pixels > 0 ? recipe_.max_pixels / patch
                                              : along * along;
  return static_cast<uint32_t>(
      std::min<uint64_t>(n + (config_.rows.class_row ? 1 : 0), kernels::kMaxStepRows));
}

uint32_t MediaReader::most_tiles() const {
  if (recipe_.kind == TileKind::kInternvl) return recipe_.max_tiles + 1;  // and the whole picture
  if (recipe_.kind != TileKind::kIdefics3 || recipe_.image_size == 0) return 1;
  const uint32_t along = (recipe_.longer_side + recipe_.image_size - 1) / recipe_.image_size;
  return along * along + 1;
}

Result<MediaInput> MediaReader::read(const MediaFile& file, const MayTake& may_take) const {
  const std::string reading = fmt::format("While reading {}", file.name);
  MediaInput out{.name = file.name, .sense = file.sense};
  PUNA_TRY_CONTEXT(file.sense == Sense::kPictures ? cut_picture(file, recipe_, out)
                                                  : cut_sound(file, config_, may_take, out),
                   reading);
  for (const models::EncoderInput& tile : sizes_of(out)) {
    PUNA_TRY_CONTEXT(const uint32_t n, models::count_rows(config_, tile.height, tile.width),
                     reading);
    PUNA_TRY_CONTEXT(const models::Cells cells, models::count_cells(config_, tile), reading);
    out.n_patches = std::max(out.n_patches, n);
    out.shape.tiles.push_back(cells);
  }
  out.pieces = models::pieces(config_.projector, out.shape);
  for (const models::MediaPiece& piece : out.pieces) out.n_rows += piece.n_rows;
  return out;
}

MediaReader::Tiles MediaReader::tiles(const MediaInput& input) const {
  Tiles out{.values = {}, .inputs = sizes_of(input)};
  for (const media::Picture& picture : input.pictures)
    out.values.push_back(media::normalized(picture, recipe_));
  for (size_t i = 0; i < out.inputs.size(); ++i)
    out.inputs[i].values = input.pictures.empty() ? input.windows[i].values : out.values[i];
  return out;
}

std::shared_ptr<EncodedMedia> MediaReader::counted(const MediaInput& input) const {
  auto out = std::make_shared<EncodedMedia>();
  out->pieces = input.pieces;
  out->row_width = config_.projector.row_width();
  out->both_ways = config_.projector.both_ways;
  return out;
}

std::shared_ptr<const EncodedMedia> MediaReader::encoded(const MediaInput& input,
                                                         std::vector<float> rows) const {
  std::shared_ptr<EncodedMedia> out = counted(input);
  PUNA_CHECK(size_t{input.n_rows} * out->row_width == rows.size());
  out->rows = std::move(rows);
  store::Sha256 hash;
  hash.add(std::as_bytes(std::span(out->rows)));
  const store::Digest digest = hash.finish();
  std::ranges::transform(digest.bytes(), out->digest.begin(),
                         [](uint8_t byte) { return std::byte{byte}; });
  return out;
}

}  // namespace puna::service
