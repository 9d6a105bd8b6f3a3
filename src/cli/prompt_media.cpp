#include "cli/prompt_media.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "cli/options.h"

namespace puna::cli {

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
  add_number(app, "--image-max-tokens", media.image_max_tokens, {1, kernels::kMaxStepTokens},
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

service::MmprojOptions mmproj_of(const PromptMedia& media) {
  service::MmprojOptions out{.path = media.mmproj};
  out.picture_tokens.most = media.image_max_tokens;
  return out;
}

Result<std::vector<service::PlacedMedia>> read_media(const PromptMedia& media) {
  std::vector<service::PlacedMedia> out;
  size_t n_images = 0, n_sounds = 0;
  for (const Sense sense : media.order) {
    const bool picture = sense == Sense::kPictures;
    const std::string& path = picture ? media.images[n_images++] : media.sounds[n_sounds++];
    PUNA_TRY(service::MediaFile file, service::read_media_file(path, sense));
    out.push_back({.file = std::make_shared<const service::MediaFile>(std::move(file))});
  }
  return out;
}

Result<std::vector<service::PlacedMedia>> encode_media(const PromptMedia& media,
                                                       const service::OpenOptions& options) {
  PUNA_TRY(std::vector<service::PlacedMedia> out, read_media(media));
  service::OpenOptions with_encoder = options;
  with_encoder.mmproj = mmproj_of(media);
  PUNA_TRY(const auto senses, service::open_senses(with_encoder));
  for (service::PlacedMedia& one : out) {
    PUNA_TRY(const service::MediaInput input, senses->read(*one.file));
    PUNA_TRY(one.media,
             base::run_until(senses->encode(nullptr, service::Senses::key_of(*one.file), input),
                             [&] { senses->poll(); }));
  }
  return out;
}

Result<TextWithMedia> place_media(std::string_view text, std::vector<service::PlacedMedia> media) {
  service::UnmarkedText unmarked = service::take_marks(text);
  if (unmarked.places.empty()) unmarked.places.assign(media.size(), 0);
  if (unmarked.places.size() != media.size()) {
    return base::fail(
        ErrorCode::kInvalidArgument,
        fmt::format("The prompt has {} marks {} for {} pictures and sounds; there must be as many, "
                    "or none, which puts them first.",
                    unmarked.places.size(), service::kMediaMark, media.size()));
  }
  for (size_t i = 0; i < media.size(); ++i) media[i].at = unmarked.places[i];
  return TextWithMedia{.text = std::move(unmarked.text), .media = std::move(media)};
}

}  // namespace puna::cli
