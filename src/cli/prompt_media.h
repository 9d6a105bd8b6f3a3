// Files of pictures and sounds beside a prompt, as puna logits, embed and run take them. Read next:
// media_rows.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/model_flags.h"
#include "service/encode_media.h"
#include "service/find_encoder.h"
#include "service/open.h"

namespace puna::cli {

using MediaFiles = std::vector<std::shared_ptr<const service::MediaFile>>;

struct PromptMedia {
  std::string mmproj;
  bool no_mmproj = false;
  std::vector<std::string> images, sounds;
  std::optional<uint32_t> image_max_tokens;
  std::vector<models::Sense> order;  // of images and sounds, as the command line has them

  bool any() const { return !order.empty(); }
  service::EncoderWish wish() const { return {.named = mmproj, .none = no_mmproj}; }
};

// --mmproj, --image, --audio, --image-max-tokens.
void add_media_flags(CLI::App& app, PromptMedia& media);
// --no-mmproj
void add_no_mmproj(CLI::App& app, PromptMedia& media);
// Notes the order of the files; refuses what would have no effect. `more_may_come`: files are named
// later, too. Errors: kUsage.
base::Result<void> check_media(const CLI::App& app, PromptMedia& media, bool more_may_come);

// In the order of the command line. Errors: those of service::read_media_file().
base::Result<MediaFiles> read_media(const PromptMedia& media);

// A text with a mark for each of `n_media` files, or with none, which puts them first: the text
// without marks, and where the files stand. Errors: kInvalidArgument with both numbers.
base::Result<service::UnmarkedText> place_media(std::string_view text, size_t n_media);

}  // namespace puna::cli
