#include "cli/media_rows.h"

#include <fmt/format.h>

namespace puna::cli {

using base::ErrorCode;
using base::Result;
using models::Sense;
using service::EncodedMedia;
using service::MediaFile;

MediaRows::MediaRows(service::OpenOptions options, std::optional<service::FoundEncoder> encoder,
                     std::optional<uint32_t> max_tokens)
    : options_(std::move(options)), encoder_(std::move(encoder)), max_tokens_(max_tokens) {}

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
                      options_.model, picture ? "sees no pictures" : "hears no sounds"));
    }
    pictures |= picture;
    wanted.push_back(file);
    now.push_back(*file);
  }
  if (now.empty()) return {};
  service::OpenOptions of_encoder = options_;
  of_encoder.model = encoder_->path;
  // The number of tokens is of pictures alone.
  PUNA_TRY(auto encoded, service::encode_media(of_encoder, now,
                                               pictures ? max_tokens_ : std::nullopt));
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
