// puna embed --mmproj: the rows that an encoder makes of a picture or a sound.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/model_flags.h"

namespace puna::cli {

struct MediaFlags {
  std::string mmproj;
  std::string pixels;  // a .npy file
};

// Writes them to `output` as .npy, [rows, width].
base::Result<int> embed_media(const ModelFlags& model, const MediaFlags& media,
                              const std::string& output);

}  // namespace puna::cli
