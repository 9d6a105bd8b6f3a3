#include "api/llama/infill.h"

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

// Tokens of other files, each under its name where the model knows files apart.
Result<std::vector<int32_t>> tokens_of_files(const Json& files,
                                             const tokenizer::Tokenizer& tokenizer,
                                             const FimTokens& fim) {
  std::vector<int32_t> out;
  const auto add = [&](std::optional<int32_t> mark, std::string_view text) {
    if (mark) out.push_back(*mark);
    add_part(tokenizer, text, out);
  };
  if (fim.repository && fim.file) add(fim.repository, "project\n");
  for (const Json& file : files.items()) {
    const Json* text = file.find("text");
    const Json* name = file.find("filename");
    if (!text || !text->is_string() || (name && !name->is_string()))
      return refuse_field("input_extra", files, "a list of {filename, text}");
    const std::string title = name ? name->string() : "file";
    if (fim.file) {
      add(fim.file, title + "\n" + text->string());
    } else {
      add({}, text->string() + "\n\n");
    }
  }
  if (fim.file) add(fim.file, "filename\n");
  return out;
}

}  // namespace

std::span<const Field> infill_fields() { return kInfillFields; }

Result<Exchange> infill(const Call& call) {
  const service::LoadedModel& model = call.model->loaded();
  PUNA_TRY(const Body body, Body::read(call.body, {kInfillFields, completion_fields(),
                                                   answer_fields(), sampling_fields()}));
  PUNA_TRY(const Completion completion, read_completion(body, model));
  PUNA_TRY(const FimTokens fim, need_fim_tokens(model));
  for (const char* name : {"input_prefix", "input_suffix"}) {
    if (!body.has(name)) return refuse_field(name, Json(), "a text");
  }
  std::vector<int32_t> front;
  const Json* files = body.find("input_extra");
  if (files && !files->items().empty()) {
    PUNA_TRY(front, tokens_of_files(*files, *model.tokenizer, fim));
  }
  std::vector<int32_t> prompt =
      tokens_between(*body.text("input_prefix"), *body.text("input_suffix"), fim, model, front);
  add_part(*model.tokenizer, body.text("prompt").value_or(""), prompt);
  std::vector<service::Request> requests = {completion.answer.request};
  requests.front().tokens = std::move(prompt);
  return complete(call, completion, std::move(requests), /*one=*/true);
}

}  // namespace puna::api::llama
