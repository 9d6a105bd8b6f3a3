#include "api/llama/infill.h"

#include <fmt/format.h>

#include "api/llama/completion.h"
#include "api/llama/fim.h"
#include "api/sampling.h"

namespace puna::api::llama {

using base::Json;
using base::Result;

namespace {

using Kind = Field::Kind;

constexpr Field kInfillFields[] = {
    Field{"input_prefix", Kind::kText, "What stands before."}.needed(),
    Field{"input_suffix", Kind::kText, "What stands behind."}.needed(),
    Field{"input_extra", Kind::kList, "Other files."}.shaped(
        R"([{"filename?": "string", "text": "string"}])"),
    {"prompt", Kind::kText, "The beginning of what is wanted."},
};

class PromptWriter {
 public:
  PromptWriter(const tokenizer::Tokenizer& tokenizer, const FimTokens& fim)
      : tokenizer_(tokenizer), fim_(fim) {
    const tokenizer::Vocabulary& vocabulary = tokenizer.vocabulary();
    if (vocabulary.add_bos && vocabulary.bos) tokens_.push_back(*vocabulary.bos);
  }

  void add(std::string_view text) {
    const auto ids = tokenizer_.encode(text, {.add_special = false, .parse_special = false});
    tokens_.insert(tokens_.end(), ids.begin(), ids.end());
  }
  void add(int32_t id) { tokens_.push_back(id); }

  // Other files come first, each under its name where the model knows files apart.
  Result<void> add_files(const Json& files) {
    if (fim_.repository && fim_.file) {
      add(*fim_.repository);
      add("project\n");
    }
    for (const Json& file : files.items()) {
      const Json* text = file.find("text");
      const Json* name = file.find("filename");
      if (!text || !text->is_string() || (name && !name->is_string()))
        return refuse_field("input_extra", files, "a list of {filename, text}");
      const std::string title = name ? name->string() : "file";
      if (fim_.file) {
        add(*fim_.file);
        add(title + "\n" + text->string());
      } else {
        add(text->string() + "\n\n");
      }
    }
    if (fim_.file) {
      add(*fim_.file);
      add("filename\n");
    }
    return {};
  }

  std::vector<int32_t> take() { return std::move(tokens_); }

 private:
  const tokenizer::Tokenizer& tokenizer_;
  const FimTokens& fim_;
  std::vector<int32_t> tokens_;
};

}  // namespace

std::span<const Field> infill_fields() { return kInfillFields; }

Result<Exchange> infill(const Call& call) {
  const service::LoadedModel& model = call.model->loaded();
  PUNA_TRY(const Body body, Body::read(call.body, {kInfillFields, completion_fields(),
                                                   answer_fields(), sampling_fields()}));
  PUNA_TRY(const Completion completion, read_completion(body, model));
  PUNA_TRY(const tokenizer::Tokenizer* tokenizer, service::tokenizer_of(model));
  const auto fim = fim_tokens(model);
  if (!fim) {
    return base::fail(
        base::ErrorCode::kUnsupported,
        fmt::format("The vocabulary of {} has no tokens for the prefix, suffix and middle of a "
                    "text, so nothing can be written in between.",
                    model.name));
  }
  for (const char* name : {"input_prefix", "input_suffix"}) {
    if (!body.has(name)) return refuse_field(name, Json(), "a text");
  }
  PromptWriter prompt(*tokenizer, *fim);
  const Json* files = body.find("input_extra");
  if (files && !files->items().empty()) PUNA_TRY(prompt.add_files(*files));
  const auto add_part = [&](int32_t mark, const char* name) {
    prompt.add(mark);
    prompt.add(*body.text(name));
  };
  const bool suffix_first = model.defaults.suffix_first;
  if (suffix_first) add_part(fim->suffix, "input_suffix");
  add_part(fim->prefix, "input_prefix");
  if (!suffix_first) add_part(fim->suffix, "input_suffix");
  prompt.add(fim->middle);
  prompt.add(body.text("prompt").value_or(""));
  std::vector<service::Request> requests = {completion.answer.request};
  requests.front().tokens = prompt.take();
  return complete(call, completion, std::move(requests), /*one=*/true);
}

}  // namespace puna::api::llama
