// POST /rerank and /v1/rerank: how well texts fit a question, in the form of Jina's API, or of
// Hugging Face's text-embeddings-inference where the texts are called so. Source: both
// references; llama.cpp's server, README, "POST /reranking".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/exchange.h"
#include "api/fields.h"

namespace puna::api::llama {

std::span<const Field> rerank_fields();

// Question and text as one: by the template that the file has for it, else each framed as the
// vocabulary says, [CLS] question [SEP] text [SEP] or <s> question </s></s> text </s>. Errors:
// those of tokenizer_of().
base::Result<std::vector<int32_t>> pair_tokens(const service::LoadedModel& model,
                                               std::string_view query, std::string_view text);

struct Ranking {
  std::string model;               // as answers call it
  std::vector<std::string> texts;  // those of the request
  size_t top_n = 0;                // so many of the best
  bool tei = false;                // the form of text-embeddings-inference
  bool return_texts = false;       // with the texts
  uint64_t n_tokens = 0;           // of all pairs
};
// The best first. Jina: {model, object, usage, results: [{index, relevance_score[, document]}]};
// TEI: [{index, score[, text]}].
base::Json ranking_json(const Ranking& ranking, std::span<const float> scores);

// {query, documents or texts, top_n, return_documents or return_text}. Errors: those of the fields.
// 501 for a model that gives no scores.
base::Result<Exchange> rerank(const Call& call);

}  // namespace puna::api::llama
