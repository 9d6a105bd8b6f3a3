// Files of pictures and sounds to what stands in a prompt: decoded, cut as the encoder's kind was
// trained with, encoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "models/vision/encoder.h"
#include "service/media_prompt.h"
#include "service/open.h"

namespace puna::service {

struct MediaFile {
  std::string name;  // for errors
  models::Sense sense = models::Sense::kPictures;
  std::vector<std::byte> bytes;
};
// Errors: kNotFound and kIo, kInvalidArgument for a file that is larger than any that is read.
base::Result<MediaFile> read_media_file(const std::string& path, models::Sense sense);

// What becomes of each file, in their order. options.model names the mmproj file, which is open for
// as long as this takes. `max_tokens` of a picture, where its encoder takes any size. Errors, with
// the name of the file: those of decoding and cutting it; those of open_encoder() and of running
// it; kUnsupported for max_tokens where the encoder has no choice.
base::Result<std::vector<std::shared_ptr<const EncodedMedia>>> encode_media(
    const OpenOptions& options, std::span<const MediaFile> files,
    std::optional<uint32_t> max_tokens);

}  // namespace puna::service
