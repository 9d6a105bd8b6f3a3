// Files of pictures and sounds to what an encoder reads, decoded and cut as its kind was trained
// with, and back from its rows to what stands in a prompt. Without a device; any thread. Read next:
// senses.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "formats/model_file.h"
#include "media/mel.h"
#include "media/picture.h"
#include "media/tiles.h"
#include "models/vision/encoder.h"
#include "service/media_file.h"
#include "service/media_prompt.h"

namespace puna::service {

// How many tokens a picture becomes, where its encoder takes any size.
struct PictureTokens {
  std::optional<uint32_t> least, most;
};

// One file, decoded and cut. The bytes of pictures become numbers when they are encoded.
struct MediaInput {
  std::string name;  // of the file, for errors
  models::Sense sense = models::Sense::kPictures;
  std::vector<media::Picture> pictures{};   // the tiles of a picture, or
  std::vector<media::MelWindow> windows{};  // the windows of a sound
  models::MediaShape shape{};
  std::vector<models::MediaPiece> pieces{};
  uint32_t n_patches = 1;  // rows of its largest tile, as the encoder counts them
  uint32_t n_rows = 0;     // that stand in the prompt

  size_t n_tiles() const {
    return sense == models::Sense::kPictures ? pictures.size() : windows.size();
  }
};

// Told how many rows a file becomes at least, as soon as that is known; an error ends its reading.
using MayTake = std::function<base::Result<void>(uint64_t n_rows)>;

class MediaReader {
 public:
  // Errors: those of models::read_encoder(); kUnsupported for a number of tokens where the encoder
  // has no choice, kInvalidArgument for one that cannot be.
  static base::Result<MediaReader> create(const formats::ModelFile& mmproj, models::Sense sense,
                                          const PictureTokens& tokens);

  const models::EncoderConfig& config() const { return config_; }
  // Of the largest tile that a picture may be cut to.
  uint32_t most_patches() const;
  // Tiles of a picture at most, where they are all of one size; else 1.
  uint32_t most_tiles() const;

  // Of a long sound, who may take it is told before it is decoded. Errors, with the name of the
  // file: those of decoding and cutting it, and of `may_take`; and where the encoder does not take
  // what came of it.
  base::Result<MediaInput> read(const MediaFile& file, const MayTake& may_take = {}) const;
  // What the encoder reads: tiles whose values are those beside them, or of the windows of `input`.
  struct Tiles {
    std::vector<std::vector<float>> values;
    std::vector<models::EncoderInput> inputs;
  };
  Tiles tiles(const MediaInput& input) const;

  // What stands in a prompt: without its rows, to count it by; with those that the encoder made.
  std::shared_ptr<EncodedMedia> counted(const MediaInput& input) const;
  std::shared_ptr<const EncodedMedia> encoded(const MediaInput& input,
                                              std::vector<float> rows) const;

 private:
  models::EncoderConfig config_;
  media::TileRecipe recipe_;
};

}  // namespace puna::service
