// Which encoder of pictures and sounds belongs to a model: one that is named, else what lies beside
// it (store/projector.h). All commands ask here. Read next: senses.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "formats/model_file.h"
#include "service/open.h"

namespace puna::service {

struct EncoderWish {
  std::string named{};  // --mmproj: a path or a name; empty: what lies beside the model
  bool none = false;    // --no-mmproj
};

struct FoundEncoder {
  std::string path{};  // what OpenOptions::model of an encoder names
  bool sees = false, hears = false;
  // What there is to say of it:
  std::vector<std::string> kinds{};  // of its projectors, "gemma3"
  std::string file_type{};           // "F16"; empty where the file does not say
  uint64_t n_parameters = 0, bytes = 0;
  uint64_t embedding = 0, width = 0;  // of its own rows, and of those for the model
};

// What options.model names: an mmproj file, or the encoder of a folder of Hugging Face weights.
// Errors: those of open_file().
base::Result<formats::ModelFile> open_encoder_file(const OpenOptions& options);

// The encoder of the model that `name` stands for, which has been opened as `model`; nothing where
// it has none. One that lies beside it and cannot be used, because it is damaged, missing, of an
// unknown kind or of another model, is a warning, and nothing. Errors, for one that is named: those
// of finding and opening it; kInvalidArgument with both files and widths where its rows do not fit
// the model; kUnsupported for what is no encoder or of an unknown kind. For one that is not:
// kInvalidArgument naming several of which names do not tell which.
base::Result<std::optional<FoundEncoder>> find_encoder(const std::string& name,
                                                       const formats::ModelFile& model,
                                                       const EncoderWish& wish);

// The same of what was looked up already, for who only shows it: nothing is an error.
std::optional<FoundEncoder> encoder_beside(const store::Resolved& found,
                                           const formats::ModelFile& model);

// An encoder whose file is known. `model`: null for one that is looked at alone. Errors: as above.
base::Result<FoundEncoder> check_encoder(const std::string& path, const formats::ModelFile* model);

}  // namespace puna::service
