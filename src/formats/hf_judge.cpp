#include "formats/hf_judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/raw_tensor.h"
#include "formats/tensor_view.h"

namespace puna::formats {

using base::ErrorCode;
using base::Result;
using base::Task;

namespace {

// The title of the makers' README.md.
constexpr std::string_view kTitle = "# Qwen3-Reranker";

// As the makers put it, with the instruction that they call the usual one. Both places are filled
// when the texts are there (api/llama/rerank.cpp); GGUF files carry the same.
constexpr std::string_view kQuestion =
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and "
    "the Instruct provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n"
    "<|im_start|>user\n<Instruct>: Given a web search query, retrieve relevant passages that "
    "answer the query\n<Query>: {query}\n<Document>: {document}<|im_end|>\n"
    "<|im_start|>assistant\n<think>\n\n</think>\n\n";

constexpr const char* kAnswers[] = {"yes", "no"};  // the score is the first one's share

Result<uint64_t> id_of(const ModelFile& file, std::string_view word) {
  const std::vector<std::string>& tokens = file.vocabulary.tokens;
  const auto found = std::ranges::find(tokens, word);
  if (found != tokens.end()) return static_cast<uint64_t>(found - tokens.begin());
  return base::fail(ErrorCode::kUnsupported,
                    fmt::format("README.md says that the model answers yes or no, but its "
                                "vocabulary has no token \"{}\".",
                                word));
}

// The rows of both answers as a matrix of their own.
Result<void> put_rows(ModelFile& file) {
  const Tensor* rows = file.find_tensor("output.weight");
  if (!rows) rows = file.find_tensor("token_embd.weight");
  if (!rows) return base::fail(ErrorCode::kNotFound, "Tensor \"token_embd.weight\" is missing.");
  const RawTensor raw{rows->name,   rows->type,   rows->type_name(), rows->shape,
                      rows->source, rows->offset, rows->bytes};
  std::vector<Strided> parts;
  for (const char* word : kAnswers) {
    PUNA_TRY(const uint64_t id, id_of(file, word));
    Strided& part = parts.emplace_back(raw, *file.sources[rows->source]);
    part.slice(0, id, 1);
    PUNA_TRY(part.check());
  }
  Tensor tensor;
  tensor.name = "cls.output.weight";
  tensor.type = rows->type;
  tensor.shape = {std::size(kAnswers), rows->columns()};
  tensor.bytes = quant::row_bytes(rows->type, rows->columns()) * std::size(kAnswers);
  tensor.source = static_cast<uint32_t>(file.sources.size());
  file.sources.push_back(make_view(file.sources[rows->source]->name(), std::move(parts), rows->type,
                                   make_view_tile()));
  file.tensors.push_back(std::move(tensor));
  file.index();
  return {};
}

}  // namespace

Task<Result<void>> put_judge(const ModelFolder& folder, ModelFile& file) {
  if (file.get_string("general.architecture", "").value_or("") != "qwen3") co_return {};
  auto reading = read_text(folder, "README.md");
  PUNA_CO_TRY(const auto text, co_await std::move(reading));
  if (!text || text->find(kTitle) == std::string::npos) co_return {};
  PUNA_CO_TRY(put_rows(file));
  if (!file.find("qwen3.pooling_type"))
    file.metadata.emplace_back("qwen3.pooling_type", uint64_t{4});  // rank
  file.metadata.emplace_back("qwen3.classifier.output_labels",
                             std::vector<std::string>(std::begin(kAnswers), std::end(kAnswers)));
  file.metadata.emplace_back("tokenizer.chat_template.rerank", std::string(kQuestion));
  co_return {};
}

}  // namespace puna::formats
