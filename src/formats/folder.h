// A folder of model files, reached by name: on a disk, or in whatever holds files for a page.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/task.h"
#include "formats/model_file.h"

namespace puna::formats {

// Opens a file by its path.
using OpenPart =
    std::function<base::Result<std::unique_ptr<io::ByteSource>>(const std::string& path)>;

struct ModelFolder {
  std::string path;  // without a slash at its end
  OpenPart open;

  base::Result<std::unique_ptr<io::ByteSource>> file(const std::string& name) const {
    return open(path + "/" + name);
  }
};

// The text of a file of the folder; nothing when it is not there. Errors: kIo, and kCorrupt for a
// file of more than 512 MB, which no description of a model is.
base::Task<base::Result<std::optional<std::string>>> read_text(const ModelFolder& folder,
                                                               std::string name);

// A model of a folder: of MLC's weights where there is mlc-chat-config.json, else as Hugging Face
// has them, with config.json. Errors: kNotFound naming what is missing; those of either.
base::Task<base::Result<ModelFile>> load_folder(ModelFolder folder);

// general.name and general.file_type, where they are not there.
void put_general(const ModelFolder& folder, ModelFile& file);
// What both kinds do at the end: the tokenizer by tokenizer.json and the files beside it, the
// chat template, general.name and general.file_type. A tokenizer that is not supported is left out
// with a warning: token ids can be used without it.
base::Task<base::Result<void>> describe_model(const ModelFolder& folder, ModelFile& file);

}  // namespace puna::formats
