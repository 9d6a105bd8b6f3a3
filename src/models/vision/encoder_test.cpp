#include "models/vision/encoder.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace puna;
using models::Cells;
using models::MediaPiece;
using models::MediaShape;
using models::Projector;
using models::Sense;

namespace {

// Keys of a picture encoder without tensors.
formats::ModelFile keys(const std::string& kind) {
  formats::ModelFile file;
  file.name = "mmproj.gguf";
  const auto set = [&](const char* key, formats::Value value) {
    file.metadata.emplace_back(key, std::move(value));
  };
  set("general.architecture", std::string("clip"));
  set("clip.has_vision_encoder", true);
  set("clip.projector_type", kind);
  set("clip.vision.projection_dim", uint64_t{64});
  set("clip.vision.image_size", uint64_t{96});
  set("clip.vision.patch_size", uint64_t{8});
  set("clip.vision.embedding_length", uint64_t{64});
  set("clip.vision.feed_forward_length", uint64_t{128});
  set("clip.vision.block_count", uint64_t{2});
  set("clip.vision.attention.head_count", uint64_t{4});
  set("clip.vision.attention.layer_norm_epsilon", 1e-6);
  set("clip.vision.image_mean", std::vector<double>{0.5, 0.5, 0.5});
  set("clip.vision.image_std", std::vector<double>{0.5, 0.5, 0.5});
  set("clip.use_gelu", true);
  return file;
}

void put(formats::ModelFile& file, const std::string& key, formats::Value value) {
  for (auto& [name, stored] : file.metadata) {
    if (name != key) continue;
    stored = std::move(value);
    return;
  }
  file.metadata.emplace_back(key, std::move(value));
}

std::string refusal(const formats::ModelFile& file, Sense sense = Sense::kPictures) {
  const auto config = models::read_encoder(file, sense);
  return config ? "" : config.error().message;
}

Projector projector(const std::string& kind, Sense sense = Sense::kPictures) {
  Projector out;
  out.kind = kind;
  out.sense = sense;
  return out;
}

// "<a>[2]<b>": texts, and how many rows stand between them.
std::string written(const std::vector<MediaPiece>& pieces) {
  std::string out;
  uint32_t next = 0;
  for (const MediaPiece& piece : pieces) {
    out += piece.text;
    if (piece.n_rows == 0) continue;
    CHECK(piece.first_row == next);
    next += piece.n_rows;
    out += "[" + std::to_string(piece.n_rows) + "]";
  }
  return out;
}

}  // namespace

TEST_CASE("keys of an encoder are read, with what the kind has where there is no key") {
  const auto config = models::read_encoder(keys("gemma3"), Sense::kPictures);
  REQUIRE_MESSAGE(config.has_value(), config.error().text());
  CHECK(config->projector.width == 64);
  CHECK(config->projector.row_width() == 64);
  CHECK(config->projector.both_ways);
  CHECK(config->rows.merge == 4);
  CHECK(config->head_dim() == 16);
  CHECK(config->activation == kernels::Activation::kGeluTanh);
  CHECK(*models::count_rows(*config, 96, 96) == 144);
}

TEST_CASE("a file may name the kind for each sense") {
  formats::ModelFile file = keys("?");
  put(file, "clip.vision.projector_type", std::string("gemma4v"));
  const auto config = models::read_encoder(file, Sense::kPictures);
  REQUIRE_MESSAGE(config.has_value(), config.error().text());
  CHECK(config->projector.kind == "gemma4v");
}

TEST_CASE("text models of two widths let pictures attend one way only") {
  formats::ModelFile file = keys("gemma4v");
  CHECK(models::read_projector(file, Sense::kPictures)->both_ways);
  put(file, "clip.vision.projection_dim", uint64_t{2560});
  CHECK(!models::read_projector(file, Sense::kPictures)->both_ways);
}

TEST_CASE("a row of deepstack is as wide as all that it holds") {
  formats::ModelFile file = keys("qwen3vl_merger");
  put(file, "clip.vision.is_deepstack_layers", std::vector<bool>{false, true});
  const auto config = models::read_encoder(file, Sense::kPictures);
  REQUIRE_MESSAGE(config.has_value(), config.error().text());
  CHECK(config->projector.n_deepstack == 1);
  CHECK(config->projector.row_width() == 128);
  CHECK(config->projector.grid_positions);
}

TEST_CASE("keys that are missing or cannot be are refused by name") {
  CHECK(refusal(keys("resampler")) ==
        "Encoders of pictures of the kind \"resampler\" are not supported; these are: gemma3, "
        "gemma4v, idefics3, internvl, mlp, pixtral, qwen2.5o, qwen2.5vl_merger, "
        "qwen2vl_merger, qwen3vl_merger.");
  CHECK(refusal(keys("gemma3"), Sense::kSounds) ==
        "The file mmproj.gguf has no encoder of sounds.");
  formats::ModelFile file = keys("gemma3");
  put(file, "general.architecture", std::string("llama"));
  CHECK(refusal(file).find("a model of the architecture llama, no encoder") != std::string::npos);
  file = keys("idefics3");
  CHECK(refusal(file).find("clip.vision.projector.scale_factor") != std::string::npos);
  file = keys("gemma3");
  put(file, "clip.vision.attention.head_count", uint64_t{5});
  CHECK(refusal(file) ==
        "Rows of 64 values are divided among 5 heads; heads must have a multiple of 4.");
  file = keys("gemma3");
  put(file, "clip.vision.patch_size", uint64_t{0});
  CHECK(refusal(file) == "The key \"clip.vision.patch_size\" is 0; it must be 1 to 96.");
  file = keys("gemma3");
  put(file, "clip.vision.projector.scale_factor", uint64_t{5});
  CHECK(refusal(file) == "Pictures of 96 pixels are no whole number of 5 x 5 patches of 8.");
  file = keys("gemma3");
  put(file, "clip.vision.image_std", std::vector<double>{0.5, 0, 0.5});
  CHECK(refusal(file).find("image_std") != std::string::npos);
  file = keys("gemma3");
  put(file, "clip.use_silu", true);
  CHECK(refusal(file).find("both true") != std::string::npos);
  file = keys("mlp");
  put(file, "clip.vision.feature_layer", std::vector<uint64_t>{3});
  CHECK(refusal(file) ==
        "The key \"clip.vision.feature_layer\" is 3, but the encoder has 2 blocks.");
}

TEST_CASE(
    "cells of a sound are four frames by four bins, and beside pictures have keys of their own") {
  formats::ModelFile file = keys("?");
  put(file, "clip.vision.projector_type", std::string("gemma4v"));
  put(file, "clip.audio.projector_type", std::string("gemma4a"));
  put(file, "clip.has_audio_encoder", true);
  for (const auto& [key, n] : {std::pair<const char*, uint64_t>{"projection_dim", 64},
                               {"block_count", 2},
                               {"embedding_length", 64},
                               {"feed_forward_length", 256},
                               {"attention.head_count", 4},
                               {"num_mel_bins", 128}})
    put(file, std::string("clip.audio.") + key, n);
  CHECK(models::read_encoder(file, Sense::kPictures).has_value());
  const auto config = models::read_encoder(file, Sense::kSounds);
  REQUIRE_MESSAGE(config.has_value(), config.error().text());
  CHECK(!config->projector.both_ways);
  CHECK(*models::count_rows(*config, 128, 3000) == 24000);
  const auto outputs = [&](uint32_t n_frames, uint32_t n_sounding = 0) {
    const auto cells = models::count_cells(*config, {{}, 128, n_frames, n_sounding});
    REQUIRE_MESSAGE(cells.has_value(), cells.error().text());
    return cells->columns;
  };
  CHECK(outputs(1) == 1);
  CHECK(outputs(4) == 1);
  CHECK(outputs(5) == 2);
  CHECK(outputs(2999) == 750);
  CHECK(outputs(3000, /*n_sounding=*/8) == 2);
  const auto none = models::count_cells(*config, {{}, 128, 0});
  REQUIRE(!none.has_value());
  CHECK(none.error().message == "A sound has 0 frames; this encoder reads 1 to 8188 at once.");
  CHECK(!models::count_cells(*config, {{}, 128, 8189}).has_value());
  CHECK(!models::count_cells(*config, {{}, 80, 100}).has_value());
  put(file, "clip.audio.num_mel_bins", uint64_t{42});
  CHECK(refusal(file, Sense::kSounds) ==
        "The key \"clip.audio.num_mel_bins\" is 42; it must be a multiple of 4.");
}

TEST_CASE("an encoder of another width than the text model is refused with both") {
  Projector p = projector("gemma3");
  p.width = 64;
  CHECK(models::check_fits(p, "m.gguf", 64, "t.gguf").has_value());
  const auto fits = models::check_fits(p, "m.gguf", 96, "t.gguf");
  REQUIRE(!fits.has_value());
  CHECK(fits.error().message ==
        "The encoder m.gguf gives rows of 64 values, but t.gguf reads rows of 96: it belongs to "
        "another model.");
}

TEST_CASE("an encoder without its tensors is refused with the name of one") {
  formats::ModelFile file = keys("gemma3");
  file.index();
  const auto config = models::read_encoder(file, Sense::kPictures);
  REQUIRE(config.has_value());
  REQUIRE(models::arrange_encoder(file, *config).has_value());
  const auto graph = models::build_encoder(file, *config);
  REQUIRE(!graph.has_value());
  CHECK(graph.error().message == "Tensor \"v.patch_embd.weight\" is missing.");
}

TEST_CASE("special tokens stand around rows as each family was trained") {
  const MediaShape one{.tiles = {{3, 4}}};
  CHECK(written(pieces(projector("gemma3"), one)) == "<start_of_image>[12]<end_of_image>");
  CHECK(written(pieces(projector("gemma4v"), one)) == "<|image>[12]<image|>");
  CHECK(written(pieces(projector("mlp"), one)) == "[12]");
  CHECK(written(pieces(projector("pixtral"), one)) == "[14][IMG_END]");
  CHECK(written(pieces(projector("voxtral", Sense::kSounds), {.tiles = {{1, 5}, {1, 5}}})) ==
        "[BEGIN_AUDIO][10]");
  CHECK(written(pieces(projector("qwen2a", Sense::kSounds), {.tiles = {{1, 5}}})) ==
        "<|audio_bos|>[5]<|audio_eos|>");
  CHECK(written(pieces(projector("gemma4a", Sense::kSounds), {.tiles = {{1, 5}, {1, 2}}})) ==
        "<|audio>[7]<audio|>");
  CHECK(written(pieces(projector("ultravox", Sense::kSounds), {.tiles = {{1, 5}}})) == "[5]");
  CHECK(written(pieces(projector("qwen2.5o"), one)) == "<|vision_bos|>[12]<|vision_eos|>");
  const auto qwen = pieces(projector("qwen2.5vl_merger"), one);
  CHECK(written(qwen) == "<|vision_start|>[12]<|vision_end|>");
  CHECK(qwen[1].cells.rows == 3);
  CHECK(qwen[1].cells.columns == 4);
}

TEST_CASE("tiles of a picture are named by row and column, or follow each other") {
  MediaShape cut{.tiles = std::vector<Cells>(5, Cells{1, 2}),
                 .tile_columns = 2,
                 .tile_rows = 2,
                 .whole_last = true};
  CHECK(written(pieces(projector("internvl"), cut)) == "<img>[10]</img>");
  CHECK(written(pieces(projector("idefics3"), cut)) ==
        "<fake_token_around_image><row_1_col_1>[2]<fake_token_around_image><row_1_col_2>[2]\n"
        "<fake_token_around_image><row_2_col_1>[2]<fake_token_around_image><row_2_col_2>[2]\n\n"
        "<fake_token_around_image><global-img>[2]<fake_token_around_image>");
}
