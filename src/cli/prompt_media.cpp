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
  not_empty(
      app.add_option("--mmproj", media.mmproj,
                     "The encoder of pictures and sounds, an mmproj file; default: the one beside "
                     "the model"));
  not_empty(
      app.add_option("--image", media.images, "A picture of the prompt; may be given several times")
          ->allow_extra_args(false));
  not_empty(
      app.add_option("--audio", media.sounds, "A sound of the prompt; may be given several times")
          ->allow_extra_args(false));
  add_number(app, "--image-max-tokens", media.image_max_tokens, {1, kernels::kMaxStepTokens},
             "At most this many tokens a picture, where its encoder can choose");
}

void add_no_mmproj(CLI::App& app, PromptMedia& media) {
  app.add_flag("--no-mmproj", media.no_mmproj, "Leave out the encoder that lies beside the model");
}

Result<void> check_media(const CLI::App& app, PromptMedia& media, bool more_may_come) {
  for (const CLI::Option* option : app.parse_order()) {
    if (option->get_name() == "--image") media.order.push_back(Sense::kPictures);
    if (option->get_name() == "--audio") media.order.push_back(Sense::kSounds);
  }
  const auto refuse = [](const char* why) { return base::fail(ErrorCode::kUsage, why); };
  if (media.no_mmproj && !media.mmproj.empty())
    return refuse("--mmproj names an encoder, and --no-mmproj goes without; one may be given.");
  if (media.no_mmproj && media.any())
    return refuse("--image and --audio need the encoder that --no-mmproj leaves out.");
  if (more_may_come) return {};
  if (!media.any() && !media.mmproj.empty())
    return refuse("--mmproj has nothing to encode; give --image or --audio.");
  if (media.images.empty() && media.image_max_tokens)
    return refuse("--image-max-tokens is of pictures; give --image.");
  return {};
}

Result<MediaFiles> read_media(const PromptMedia& media) {
  MediaFiles files;
  size_t n_images = 0, n_sounds = 0;
  for (const Sense sense : media.order) {
    const bool picture = sense == Sense::kPictures;
    const std::string& path = picture ? media.images[n_images++] : media.sounds[n_sounds++];
    PUNA_TRY(service::MediaFile file, service::read_media_file(path, sense));
    files.push_back(std::make_shared<const service::MediaFile>(std::move(file)));
  }
  return files;
}

Result<service::UnmarkedText> place_media(std::string_view text, size_t n_media) {
  service::UnmarkedText unmarked = service::take_marks(text);
  if (unmarked.places.empty()) unmarked.places.assign(n_media, 0);
  if (unmarked.places.size() == n_media) return unmarked;
  return base::fail(
      ErrorCode::kInvalidArgument,
      fmt::format("The prompt has {} marks {} for {} pictures and sounds; there must be as many, "
                  "or none, which puts them first.",
                  unmarked.places.size(), service::kMediaMark, n_media));
}

}  // namespace puna::cli
