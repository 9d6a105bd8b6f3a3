// POST /v1/embeddings. Source: OpenAI API reference, "Embeddings"; llama.cpp's server for
// embd_normalize.
#pragma once

#include <string>

#include "api/embedding_rows.h"
#include "api/exchange.h"
#include "api/fields.h"

namespace puna::api::openai {

struct Embeddings {
  Inputs inputs;
  Encoding encoding = Encoding::kFloat;
  int norm = 2;                        // normalize()
  std::optional<size_t> dimensions{};  // of the first numbers of a row; none: all
};
std::span<const Field> embedding_fields();

// Errors: kInvalidArgument naming the field and what stands there; kUnsupported for fields whose
// effect Puna cannot give.
base::Result<Embeddings> read_embeddings(const base::Json& body, const service::LoadedModel& model);
// {object: "list", data, model, usage}
base::Json embeddings_json(const Embeddings& asked, std::vector<std::vector<float>> rows,
                           std::string_view model);

// Errors: those of read_embeddings(); kInvalidArgument for a model that gives a row for each token,
// or scores. 501 for one that was loaded to give text.
base::Result<Exchange> embeddings(const Call& call);

}  // namespace puna::api::openai
