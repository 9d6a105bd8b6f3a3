#include "cli/prompt_media.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

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
  add_number(app, "--image-max-tokens", media.image_max_tokens, kPictureTokens,
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

service::MmprojOptions mmproj_of(const PromptMedia& media) {
  service::MmprojOptions out{.path = media.mmproj};
  out.picture_tokens.most = media.image_max_tokens;
  return out;
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

base::Error no_encoder(const std::string& model) {
  return {ErrorCode::kUnsupported,
          fmt::format("The model {} sees no pictures and hears no sounds; --mmproj names its "
                      "encoder, where there is one.",
                      model),
          {}};
}

Result<std::vector<service::PlacedMedia>> encode_media(const MediaFiles& files,
                                                       const service::OpenOptions& options,
                                                       service::MmprojOptions mmproj) {
  service::OpenOptions with_encoder = options;
  with_encoder.mmproj = std::move(mmproj);
  PUNA_TRY(const auto senses, service::open_senses(with_encoder));
  std::vector<service::PlacedMedia> out;
  for (const auto& file : files) {
    service::PlacedMedia& one = out.emplace_back();
    one.file = file;
    PUNA_TRY(const service::MediaInput input, senses->read(*file));
    PUNA_TRY(one.media,
             base::run_until(senses->encode(nullptr, service::Senses::key_of(*file), input),
                             [&] { senses->poll(); }));
  }
  return out;
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
