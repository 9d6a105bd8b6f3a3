// Embeddings and logits of texts, as jobs beside the texts that are written.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "service/model.h"

namespace puna::service {

// The embeddings of texts, each as engine::Engine::embed() gives it. Errors: those of that, with
// the text's number (from 1); kUnsupported for a model that gives text.
base::Task<base::Result<std::vector<std::vector<float>>>> embed(
    LoadedModel& model, std::vector<std::vector<int32_t>> texts);

// float32 [tokens, vocab]. Errors: those of engine::Engine::logits().
base::Task<base::Result<std::vector<float>>> logits(LoadedModel& model, engine::Prompt prompt);

}  // namespace puna::service
