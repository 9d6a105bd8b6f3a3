// The encoder of pictures and sounds (projector, mmproj file) that lies beside a model. Read next:
// gguf_files.h, which tells by names which is whose.
#pragma once

#include <string>

#include "base/result.h"
#include "store/store.h"

namespace puna::store {

// Its path; empty where the model has none. Of a stored model what its manifest or place says, else
// the mmproj*.gguf in the folder of the file, or in the folder of weights, or that folder, where it
// has an encoder (formats::open_encoder()). It is not opened. Errors: kInvalidArgument naming
// several of which names do not tell which; those of formats::has_encoder().
base::Result<std::string> projector_of(const Resolved& model);

}  // namespace puna::store
