// The table of encoders of pictures and sounds that folders hold beside their text models: what
// config.json calls the model, what mmproj files call the kind, and how tensors and keys become
// those of an mmproj file ("clip.*", "v.", "a.", "mm."). Read first: mapping.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "formats/hf/config.h"
#include "formats/model_file.h"
#include "formats/raw_tensor.h"

namespace puna::formats::hf {

// Files of the folder that say more of an encoder than config.json.
struct EncoderTexts {
  Config config{base::Json::object()};        // without what holds for the text part on top
  Config preprocessor{base::Json::object()};  // preprocessor_config.json; empty without one
  std::optional<uint64_t> break_token{};      // the id of [IMG_BREAK], of the tokenizer
};

// Whether a model of this config.json has an encoder that is known here.
bool has_encoder(const Config& config);

// The encoders alone, as their mmproj file has them. Errors: kUnsupported naming the model type and
// those that are known, or an option or tensor that is not; kNotFound and kCorrupt naming key or
// tensor.
base::Result<ModelFile> map_encoder(std::string name, const EncoderTexts& texts, RawModel raw);

}  // namespace puna::formats::hf
