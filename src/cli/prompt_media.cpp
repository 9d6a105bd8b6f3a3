#include "cli/prompt_media.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "cli/options.h"

namespace puna::cli {

// Above what any encoder makes of a picture; each names its own bounds.
constexpr uint32_t kMostImageTokens = 16384;

using base::ErrorCode;
using base::Result;
using models::Sense;

void add_media_flags(CLI::App& app, PromptMedia& media) {
  not_empty(app.add_option("--mmproj", media.mmproj,
                           "The model's encoder of pictures and sounds, an mmproj file"));
  not_empty(
      app.add_option("--image", media.images, "A picture of the prompt; may be given several times")
          ->allow_extra_args(false));
  not_empty(
      app.add_option("--audio", media.sounds, "A sound of the prompt; may be given several times")
          ->allow_extra_args(false));
  add_number(app, "--image-max-tokens", media.image_max_tokens, {1, kMostImageTokens},
             "At most this many tokens a picture, where its encoder can choose");
}

Result<void> check_media(const CLI::App& app, PromptMedia& media) {
  for (const CLI::Option* option : app.parse_order()) {
    if (option->get_name() == "--image") media.order.push_back(Sense::kPictures);
    if (option->get_name() == "--audio") media.order.push_back(Sense::kSounds);
  }
  if (media.any() && media.mmproj.empty())
    return base::fail(ErrorCode::kUsage,
                      "--image and --audio need an encoder; give --mmproj FILE.");
  if (!media.any() && !media.mmproj.empty())
    return base::fail(ErrorCode::kUsage,
                      "--mmproj has nothing to encode; give --image or --audio.");
  if (media.images.empty() && media.image_max_tokens)
    return base::fail(ErrorCode::kUsage, "--image-max-tokens is of pictures; give --image.");
  return {};
}

Result<std::vector<std::shared_ptr<const service::EncodedMedia>>> encode_media(
    PromptMedia& media, const service::OpenOptions& options) {
  std::vector<service::MediaFile> files;
  size_t n_images = 0, n_sounds = 0;
  for (const Sense sense : media.order) {
    const bool picture = sense == Sense::kPictures;
    const std::string& path = picture ? media.images[n_images++] : media.sounds[n_sounds++];
    PUNA_TRY(files.emplace_back(), service::read_media_file(path, sense));
  }
  service::OpenOptions of_encoder = options;
  of_encoder.model = media.mmproj;
  PUNA_TRY(auto out, service::encode_media(of_encoder, files, media.image_max_tokens));
  for (const auto& one : out) {
    for (const models::MediaPiece& piece : one->pieces) {
      if (one->both_ways) media.rows_both_ways = std::max(media.rows_both_ways, piece.n_rows);
    }
  }
  return out;
}

Result<TextWithMedia> place_media(std::string_view text,
                                  std::vector<std::shared_ptr<const service::EncodedMedia>> media) {
  service::UnmarkedText unmarked = service::take_marks(text);
  if (unmarked.places.empty()) unmarked.places.assign(media.size(), 0);
  if (unmarked.places.size() != media.size()) {
    return base::fail(
        ErrorCode::kInvalidArgument,
        fmt::format("The prompt has {} marks {} for {} pictures and sounds; there must be as many, "
                    "or none, which puts them first.",
                    unmarked.places.size(), service::kMediaMark, media.size()));
  }
  TextWithMedia out{.text = std::move(unmarked.text), .media = {}};
  for (size_t i = 0; i < media.size(); ++i)
    out.media.push_back({.message = 0, .at = unmarked.places[i], .media = std::move(media[i])});
  return out;
}

}  // namespace puna::cli
