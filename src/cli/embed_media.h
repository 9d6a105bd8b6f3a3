// puna embed --mmproj: the rows that an encoder makes of a picture or a sound.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/model_flags.h"
#include "cli/prompt_media.h"

namespace puna::cli {

struct EmbedMedia {
  PromptMedia files;
  std::string pixels;  // a .npy file of what the encoder reads, instead of a file
};

// Writes them to `output` as .npy, [rows, width].
base::Result<int> embed_media(const ModelFlags& model, const EmbedMedia& media,
                              const std::string& output);

}  // namespace puna::cli
