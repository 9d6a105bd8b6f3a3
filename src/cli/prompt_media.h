// Files of pictures and sounds beside a prompt, as puna logits and puna run take them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/model_flags.h"
#include "service/open.h"

namespace puna::cli {

struct PromptMedia {
  std::string mmproj;
  std::vector<std::string> images, sounds;
  std::optional<uint32_t> image_max_tokens;
  std::vector<models::Sense> order;  // of images and sounds, as the command line has them

  bool any() const { return !order.empty(); }
};

// --mmproj, --image, --audio, --image-max-tokens.
void add_media_flags(CLI::App& app, PromptMedia& media);
// Notes the order of the files; refuses files without an encoder, and one without files. Errors:
// kUsage.
base::Result<void> check_media(const CLI::App& app, PromptMedia& media);

// How a model is opened whose encoder the flags name.
service::MmprojOptions mmproj_of(const PromptMedia& media);
// The files in their order, as they stand before a text: at its beginning. Errors: those of reading
// them, with their names.
base::Result<std::vector<service::PlacedMedia>> read_media(const PromptMedia& media);

// What the encoder makes of each file, without a model beside it. `options` are those of the text
// model. Errors: those of opening the encoder and of encoding the files.
base::Result<std::vector<service::PlacedMedia>> encode_media(const PromptMedia& media,
                                                             const service::OpenOptions& options);

// A text with a mark for each file, or with none, which puts them first: the text without marks,
// and where the files stand. Errors: kInvalidArgument with both numbers.
struct TextWithMedia {
  std::string text;
  std::vector<service::PlacedMedia> media;
};
base::Result<TextWithMedia> place_media(std::string_view text,
                                        std::vector<service::PlacedMedia> media);

}  // namespace puna::cli
