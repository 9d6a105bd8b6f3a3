// Rerankers that are language models: asked whether a text answers a question, they score it by the
// share of "yes" beside "no" (Qwen3 Embedding, Zhang et al. 2025).
#pragma once

#include "formats/folder.h"

namespace puna::formats {

// Makes a classifier of the output layer's rows of both words, and says how the question is put,
// where README.md tells that the folder is such a model: nothing else in it does. To be called when
// the vocabulary is there. Errors: kUnsupported where it has not the two words; kIo.
base::Task<base::Result<void>> put_judge(const ModelFolder& folder, ModelFile& file);

}  // namespace puna::formats
