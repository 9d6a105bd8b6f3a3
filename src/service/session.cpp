#include "service/session.h"

#include <fmt/format.h>

namespace puna::service {

using base::ErrorCode;
using base::Result;

namespace {

Result<std::vector<int32_t>> prompt_tokens(const LoadedModel& model, const Request& request) {
  if (!request.tokens.empty()) return request.tokens;
  PUNA_TRY_CONTEXT(tokenizer_of(model), "While reading the prompt; token ids need no vocabulary");
  if (request.messages.empty()) return model.tokenizer->encode(request.prompt);
  if (!model.chat_template) {
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("The model {} has no chat template; it completes text only.", model.name));
  }
  const tokenizer::Vocabulary& vocabulary = model.tokenizer->vocabulary();
  const auto text_of = [&](std::optional<int32_t> id) {
    return id ? model.tokenizer->bytes(*id, /*special=*/true) : std::string();
  };
  base::Json extra = base::Json::object();
  extra.set("bos_token", text_of(vocabulary.bos)).set("eos_token", text_of(vocabulary.eos));
  PUNA_TRY_CONTEXT(const std::string text,
                   chat::render_chat(*model.chat_template, request.messages, true, extra),
                   "While rendering the model's chat template");
  std::vector<int32_t> tokens = model.tokenizer->encode(text);
  // Templates that write BOS themselves must not get a second one.
  const auto bos = vocabulary.bos;
  if (bos && tokens.size() > 1 && tokens[0] == *bos && tokens[1] == *bos)
    tokens.erase(tokens.begin());
  return tokens;
}

}  // namespace

Result<Reply> run(LoadedModel& model, const Request& request, const OnEvent& on_event) {
  PUNA_TRY(std::vector<int32_t> prompt, prompt_tokens(model, request));
  engine::GenerateOptions options;
  options.sampling = request.sampling;
  options.max_tokens = request.max_tokens;
  options.ignore_end = request.ignore_end;
  options.cancel = request.cancel;

  Reply reply;
  std::optional<tokenizer::StreamDecoder> decoder;
  std::vector<int32_t> end_tokens;
  if (model.tokenizer) {
    decoder.emplace(*model.tokenizer);
    end_tokens = model.tokenizer->vocabulary().end_tokens;
  }
  StopFilter filter(request.stop);
  const auto show = [&](int32_t token, const std::string& text) {
    reply.text += text;
    if (on_event) on_event({token, text});
  };
  auto task = model.engine->generate(
      0, std::move(prompt), options, std::move(end_tokens), [&](int32_t token) {
        reply.tokens.push_back(token);
        show(token, filter.push(decoder ? decoder->push(token) : std::string()));
        return !filter.stopped();
      });
  PUNA_TRY(reply.stats, base::run_until(std::move(task), [&] { model.engine->poll(); }));
  if (!filter.stopped()) {
    std::string rest = filter.push(decoder ? decoder->finish() : std::string());
    if (!filter.stopped()) rest += filter.finish();
    if (!rest.empty()) show(-1, rest);
  }
  return reply;
}

}  // namespace puna::service
