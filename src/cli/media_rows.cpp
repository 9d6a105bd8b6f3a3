#include "cli/media_rows.h"

#include <fmt/format.h>

namespace puna::cli {

using base::ErrorCode;
using base::Result;
using models::Sense;
using service::EncodedMedia;
using service::MediaFile;

MediaRows::MediaRows(ModelFlags model, Defaults defaults,
                     std::optional<service::FoundEncoder> encoder,
                     std::optional<uint32_t> max_tokens)
    : model_(std::move(model)),
      defaults_(defaults),
      encoder_(std::move(encoder)),
      max_tokens_(max_tokens) {}

std::shared_ptr<const EncodedMedia> MediaRows::find(const MediaFile& file) const {
  for (const auto& [known, encoded] : known_) {
    if (known.get() == &file || (known->sense == file.sense && known->bytes == file.bytes))
      return encoded;
  }
  return nullptr;
}

Result<void> MediaRows::encode(std::span<const std::shared_ptr<const MediaFile>> files) {
  std::vector<std::shared_ptr<const MediaFile>> wanted;
  std::vector<MediaFile> now;
  bool pictures = false;
  for (const auto& file : files) {
    if (find(*file)) continue;
    const bool picture = file->sense == Sense::kPictures;
    if (picture ? !sees() : !hears()) {
      return base::fail(
          ErrorCode::kUnsupported,
          fmt::format("The model {} {}; --mmproj names its encoder, where there is one.",
                      model_.model, picture ? "sees no pictures" : "hears no sounds"));
    }
    pictures |= picture;
    wanted.push_back(file);
    now.push_back(*file);
  }
  if (now.empty()) return {};
  ProgressBar bar;
  ModelFlags of_encoder = model_;
  of_encoder.model = encoder_->path;
  PUNA_TRY(const service::OpenOptions options, open_options(of_encoder, defaults_, bar));
  // The number of tokens is of pictures alone.
  PUNA_TRY(auto encoded,
           service::encode_media(options, now, pictures ? max_tokens_ : std::nullopt));
  for (size_t i = 0; i < wanted.size(); ++i)
    known_.emplace_back(std::move(wanted[i]), std::move(encoded[i]));
  return {};
}

Result<std::vector<service::PlacedMedia>> MediaRows::place(std::span<const AskedMedia> media) {
  MediaFiles files;
  for (const AskedMedia& each : media) files.push_back(each.file);
  PUNA_TRY(encode(files));
  std::vector<service::PlacedMedia> out;
  for (const AskedMedia& each : media)
    out.push_back({.message = each.message, .at = each.at, .media = find(*each.file)});
  return out;
}

}  // namespace puna::cli
