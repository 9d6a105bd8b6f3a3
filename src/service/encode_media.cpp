#include "service/encode_media.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "io/byte_source.h"
#include "media/decode.h"
#include "media/mel.h"
#include "media/sound.h"
#include "media/tiles.h"
#include "service/find_encoder.h"
#include "service/media_encoder.h"
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
};
constexpr Preprocessing kPreprocessing[] = {
    {"gemma3", TileKind::kGemma3, nothing},
    {"gemma4v", TileKind::kGemma4, of_gemma4, /*takes_any_size=*/true},
    {"idefics3", TileKind::kIdefics3, of_idefics3},
    {"internvl", TileKind::kInternvl, of_internvl},
    {"mlp", TileKind::kLlava, nothing},
    {"pixtral", TileKind::kPixtral, nothing},
    {"qwen2.5vl_merger", TileKind::kQwen, of_qwen, /*takes_any_size=*/true},
    {"qwen3vl_merger", TileKind::kQwen, of_qwen, /*takes_any_size=*/true},
};

Result<TileRecipe> recipe_of(const formats::ModelFile& file, const EncoderConfig& config,
                             std::optional<uint32_t> max_tokens) {
  const auto* const found =
      std::ranges::find(kPreprocessing, config.projector.kind, &Preprocessing::kind);
  if (found == std::end(kPreprocessing)) {
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("How pictures are cut for encoders of the kind \"{}\" is not "
                                  "known.",
                                  config.projector.kind));
  }
  if (max_tokens && !found->takes_any_size) {
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("Encoders of the kind \"{}\" take pictures of sizes of their own, "
                    "so there is no number of tokens to choose.",
                    config.projector.kind));
  }
  TileRecipe recipe{.kind = found->tiles,
                    .image_size = config.image_size,
                    .patch_size = config.patch_size,
                    .merge = config.rows.merge,
                    .mean = config.mean,
                    .std = config.std};
  PUNA_TRY(found->complete(file, max_tokens, recipe));
  return recipe;
}

// What the encoder reads of one file, in its order.
struct Input {
  std::vector<std::vector<float>> values;  // of each tile or window
  std::vector<models::EncoderInput> tiles;
  models::MediaShape shape;  // without the cells of its tiles

  void add(std::vector<float> tile, uint32_t height, uint32_t width) {
    values.push_back(std::move(tile));
    tiles.push_back({values.back(), height, width});
  }
};

Result<Input> cut_picture(const MediaFile& file, const TileRecipe& recipe) {
  PUNA_TRY(const media::Picture picture, media::decode_picture(file.bytes));
  PUNA_TRY(const media::Tiles tiles, media::cut_tiles(picture, recipe));
  Input out;
  out.shape.tile_columns = tiles.columns;
  out.shape.tile_rows = tiles.rows;
  out.shape.whole_last = tiles.whole_last;
  for (const media::Picture& tile : tiles.tiles)
    out.add(media::normalized(tile, recipe), tile.height, tile.width);
  return out;
}

Result<Input> cut_sound(const MediaFile& file, uint32_t n_bins) {
  PUNA_TRY(const media::Sound sound, media::decode_sound(file.bytes));
  PUNA_TRY(std::vector<media::MelWindow> windows, media::log_mel(sound, n_bins));
  Input out;
  for (media::MelWindow& window : windows)
    out.add(std::move(window.values), n_bins, media::kMelFrames);
  return out;
}

// The encoder of one sense, and what it reads of the files of it.
struct Senses {
  std::optional<MediaEncoder> encoder;
  std::vector<Input> inputs;
  size_t next = 0;
};

Result<Senses> prepare(const OpenOptions& options, std::span<const MediaFile> files, Sense sense,
                       std::optional<uint32_t> max_tokens) {
  Senses out;
  if (std::ranges::count(files, sense, &MediaFile::sense) == 0) return out;
  PUNA_TRY(formats::ModelFile mmproj, open_encoder_file(options));
  PUNA_TRY(const EncoderConfig config, models::read_encoder(mmproj, sense));
  TileRecipe recipe;
  if (sense == Sense::kPictures) {
    PUNA_TRY(recipe, recipe_of(mmproj, config, max_tokens));
  }
  uint32_t most_rows = 1;
  for (const MediaFile& file : files) {
    if (file.sense != sense) continue;
    const std::string reading = fmt::format("While reading {}", file.name);
    auto input =
        sense == Sense::kPictures ? cut_picture(file, recipe) : cut_sound(file, config.n_bins);
    PUNA_TRY_CONTEXT(out.inputs.emplace_back(), std::move(input), reading);
    for (const models::EncoderInput& tile : out.inputs.back().tiles) {
      PUNA_TRY_CONTEXT(const uint32_t n, models::count_rows(config, tile.height, tile.width),
                       reading);
      most_rows = std::max(most_rows, n);
    }
  }
  PUNA_TRY(out.encoder, open_encoder(std::move(mmproj), options, sense, most_rows));
  return out;
}

Result<std::shared_ptr<const EncodedMedia>> encode(const MediaEncoder& use, Input& input) {
  PUNA_TRY(engine::Encoded encoded,
           base::run_until(use.encoder->run(input.tiles), [&] { use.poll(); }));
  const models::Projector& projector = use.encoder->config().projector;
  input.shape.tiles = std::move(encoded.tiles);
  auto out = std::make_shared<EncodedMedia>();
  out->pieces = models::pieces(projector, input.shape);
  out->rows = std::move(encoded.media.rows);
  out->row_width = projector.row_width();
  out->both_ways = projector.both_ways;
  uint64_t n_rows = 0;
  for (const models::MediaPiece& piece : out->pieces) n_rows += piece.n_rows;
  PUNA_CHECK(n_rows * out->row_width == out->rows.size());
  store::Sha256 hash;
  hash.add(std::as_bytes(std::span(out->rows)));
  const store::Digest digest = hash.finish();
  std::ranges::transform(digest.bytes(), out->digest.begin(),
                         [](uint8_t byte) { return std::byte{byte}; });
  return out;
}

}  // namespace

Result<MediaFile> read_media_file(const std::string& path, Sense sense) {
  PUNA_TRY(const auto source, io::open_file(path));
  // Decoders have limits of their own, which name both numbers.
  constexpr uint64_t kMostBytes = uint64_t{1} << 30;
  if (source->size() > kMostBytes) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("The file {} has {} bytes; pictures and sounds may have {}.",
                                  path, source->size(), kMostBytes));
  }
  MediaFile out{.name = path, .sense = sense, .bytes = {}};
  out.bytes.resize(static_cast<size_t>(source->size()));
  PUNA_TRY(base::run_until(io::read(*source, 0, out.bytes), [] {}));
  return out;
}

Result<std::vector<std::shared_ptr<const EncodedMedia>>> encode_media(
    const OpenOptions& options, std::span<const MediaFile> files,
    std::optional<uint32_t> max_tokens) {
  PUNA_TRY(Senses pictures, prepare(options, files, Sense::kPictures, max_tokens));
  PUNA_TRY(Senses sounds, prepare(options, files, Sense::kSounds, max_tokens));
  std::vector<std::shared_ptr<const EncodedMedia>> out;
  for (const MediaFile& file : files) {
    Senses& of = file.sense == Sense::kPictures ? pictures : sounds;
    PUNA_TRY_CONTEXT(out.emplace_back(), encode(*of.encoder, of.inputs[of.next++]),
                     fmt::format("While encoding {}", file.name));
  }
  return out;
}

}  // namespace puna::service
