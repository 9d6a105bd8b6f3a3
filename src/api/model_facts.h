// What is said of a loaded model wherever models are listed. As JSON it crosses the border of a
// process (manager/child_words.h).
#pragma once

#include <cstdint>

#include "base/json.h"
#include "base/result.h"
#include "service/model.h"
#include "service/model_card.h"

namespace puna::api {

struct ModelFacts {
  service::ModelCard card{};
  int vocab_type = 0;  // as llama.cpp numbers the kinds of vocabularies; 0: none
  uint64_t n_vocab = 0;
  uint64_t context = 0;                      // tokens that a text may have
  bool embeddings = false;                   // it was loaded to give nothing else
  uint64_t memory_bytes = 0, gpu_bytes = 0;  // of all devices; of the GPU
};
ModelFacts facts_of(const service::LoadedModel& model);

base::Json to_json(const ModelFacts& facts);
// Errors: kInvalidArgument for what to_json() has not made.
base::Result<ModelFacts> read_facts(const base::Json& json);

}  // namespace puna::api
