// Files of pictures and sounds as they came, before anything looks into them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "models/vision/projector.h"

namespace puna::service {

struct MediaFile {
  std::string name;  // for errors
  models::Sense sense = models::Sense::kPictures;
  std::vector<std::byte> bytes;
  std::string url{};  // not empty: the bytes are still to be fetched from there
};

// Errors: kNotFound and kIo, kInvalidArgument for a file that is larger than any that is read.
base::Result<MediaFile> read_media_file(const std::string& path, models::Sense sense);

}  // namespace puna::service
