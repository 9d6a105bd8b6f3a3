// Embeddings and logits of texts, as jobs beside the texts that are written.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "service/model.h"

namespace puna::service {

// The embeddings of texts, each as engine::Engine::embed() gives it. `cancelled`: looked at before
// each step; null: nobody cancels. Errors: those of Engine::embed(), with the text's number (from
// 1); kUnsupported for a model that gives text; kCancelled.
base::Task<base::Result<std::vector<std::vector<float>>>> embed(
    LoadedModel& model, std::vector<std::vector<int32_t>> texts,
    const std::atomic<bool>* cancelled = nullptr);

// float32 [tokens, vocab]. `cancelled`: as above. Errors: those of engine::Engine::logits().
base::Task<base::Result<std::vector<float>>> logits(LoadedModel& model, engine::Prompt prompt,
                                                    const std::atomic<bool>* cancelled = nullptr);

}  // namespace puna::service
