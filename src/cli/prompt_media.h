// Files of pictures and sounds beside a prompt, as puna logits, embed and run take them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/model_flags.h"
#include "cli/options.h"
#include "service/find_encoder.h"
#include "service/media_file.h"
#include "service/open.h"

namespace puna::cli {

using MediaFiles = std::vector<std::shared_ptr<const service::MediaFile>>;

// How many tokens a picture may be asked to have: more than any encoder makes of it, each of which
// names its own bounds.
inline constexpr Range<uint32_t> kPictureTokens{1, 16384};

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

// How an encoder is opened whose file is known; what the flags say of pictures.
service::MmprojOptions mmproj_of(const PromptMedia& media);
// In the order of the command line. Errors: those of service::read_media_file().
base::Result<MediaFiles> read_media(const PromptMedia& media);

// What is said of files for a model that has no encoder. kUnsupported.
base::Error no_encoder(const std::string& model);

// What an encoder makes of them, without a model beside it. `options` are those of the text model;
// `mmproj` says which encoder. Errors: those of opening it and of encoding the files.
base::Result<std::vector<service::PlacedMedia>> encode_media(const MediaFiles& files,
                                                             const service::OpenOptions& options,
                                                             service::MmprojOptions mmproj);

// A text with a mark for each of `n_media` files, or with none, which puts them first: the text
// without marks, and where the files stand. Errors: kInvalidArgument with both numbers.
base::Result<service::UnmarkedText> place_media(std::string_view text, size_t n_media);

}  // namespace puna::cli
