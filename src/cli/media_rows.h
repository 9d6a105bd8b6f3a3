// What the encoder of a model makes of the pictures and sounds of a conversation: each is encoded
// once, however often it is asked about.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cli/prompt_media.h"

namespace puna::cli {

// A picture or sound of a text, or of the content of one of several messages, before byte `at`.
struct AskedMedia {
  size_t message = 0;
  size_t at = 0;
  std::shared_ptr<const service::MediaFile> file;
};

class MediaRows {
 public:
  MediaRows() = default;
  // Flags and defaults are those of the text model; `max_tokens` of a picture, where its encoder
  // can choose.
  MediaRows(ModelFlags model, Defaults defaults, std::optional<service::FoundEncoder> encoder,
            std::optional<uint32_t> max_tokens);

  bool sees() const { return encoder_ && encoder_->sees; }
  bool hears() const { return encoder_ && encoder_->hears; }
  const std::optional<service::FoundEncoder>& encoder() const { return encoder_; }

  // Encodes those that are not known yet; the encoder is open for as long as that takes. Errors:
  // kUnsupported where the model has no encoder of that sense; those of service::encode_media().
  base::Result<void> encode(std::span<const std::shared_ptr<const service::MediaFile>> files);
  // The same, and what stands in the prompt.
  base::Result<std::vector<service::PlacedMedia>> place(std::span<const AskedMedia> media);

 private:
  std::shared_ptr<const service::EncodedMedia> find(const service::MediaFile& file) const;

  ModelFlags model_;
  Defaults defaults_;
  std::optional<service::FoundEncoder> encoder_;
  std::optional<uint32_t> max_tokens_;
  std::vector<std::pair<std::shared_ptr<const service::MediaFile>,
                        std::shared_ptr<const service::EncodedMedia>>>
      known_;
};

}  // namespace puna::cli
