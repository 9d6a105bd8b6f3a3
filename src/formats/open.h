// Opens a model by path: a file, whose container is told by its content and whose other parts are
// followed, or a folder of Hugging Face or MLC weights (folder.h).
#pragma once

#include <string>

#include "formats/model_file.h"

namespace puna::formats {

struct OpenOptions {
  // Map files into memory instead of reading them with pread. Worth it only where weights are used
  // in place: a loader that copies would hold the mapped pages beside its copies.
  bool map = false;
};

// Errors: kNotFound, kIo; kCorrupt with tensor or key and byte offset; kUnsupported naming what is
// missing.
base::Task<base::Result<ModelFile>> open_model(std::string path, OpenOptions options = {});
// The encoder of pictures and sounds that a path names: an mmproj file, or that of a folder of
// Hugging Face weights. Errors: as above.
base::Task<base::Result<ModelFile>> open_encoder(std::string path, OpenOptions options = {});
// Whether a folder has one that is known. Errors: kIo, kCorrupt.
base::Result<bool> has_encoder(const std::string& folder);
// One source that holds a whole model (tests, browser). Split files are refused with kUnsupported.
base::Task<base::Result<ModelFile>> open_model(std::unique_ptr<io::ByteSource> source);

}  // namespace puna::formats
