// Prompts with pictures and sounds: a text and what an encoder made of each become tokens and
// spans. What goes around the rows, special tokens of the model's family, comes from its projector;
// nothing that stands in the text can take its place.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/prompt.h"
#include "models/vision/projector.h"
#include "service/media_file.h"
#include "tokenizer/tokenizer.h"

namespace puna::service {

// What an encoder made of a picture or sound.
struct EncodedMedia {
  std::vector<models::MediaPiece> pieces;
  std::vector<float> rows;             // [rows of all pieces, row_width]; none: it is only counted
  uint32_t row_width = 0;              // models::Projector::row_width()
  bool both_ways = false;              // models::Projector::both_ways
  std::array<std::byte, 32> digest{};  // SHA-256 of the file, the encoder's and all that the rows
                                       // depend on
};

// Where it stands: before byte `at` of a text, or of the content of one of several messages.
struct PlacedMedia {
  size_t message = 0;
  size_t at = 0;
  std::shared_ptr<const EncodedMedia> media{};  // null: of the file (request_media.h)
  std::shared_ptr<const MediaFile> file{};
};

// What stands for a picture or sound in texts of files and the command line.
constexpr std::string_view kMediaMark = "<__media__>";
struct UnmarkedText {
  std::string text;
  std::vector<size_t> places;  // where marks stood, rising
};
UnmarkedText take_marks(std::string_view text, std::string_view mark = kMediaMark);

// `media` of one message, in their order in it; `ends`: with the end token, where the vocabulary
// adds it to texts.
engine::Prompt media_prompt(const tokenizer::Tokenizer& tokenizer, std::string_view text,
                            std::span<const PlacedMedia> media, bool ends);

}  // namespace puna::service
