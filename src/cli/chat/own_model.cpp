#include "cli/chat/own_model.h"

#include <fmt/format.h>

#include <utility>

#include "api/model_facts.h"
#include "api/ollama/asked.h"
#include "api/ollama/options.h"
#include "api/ollama/show.h"
#include "cli/form_flags.h"
#include "cli/model_flags.h"
#include "cli/terminal.h"
#include "service/create.h"
#include "service/open.h"
#include "service/senses.h"
#include "service/shown.h"
#include "store/modelfile_parameters.h"

namespace puna::cli {

using base::ErrorCode;
using base::Json;
using base::Result;

Result<std::unique_ptr<OwnModel>> OwnModel::open(Open open, const std::string& name, Begin begin,
                                                 store::Modelfile given) {
  const base::Timer timer;
  PUNA_TRY(service::LoadedModel model, open(name));
  std::unique_ptr<OwnModel> out(new OwnModel(std::move(open), std::move(begin), std::move(given)));
  out->take(std::move(model), name);
  out->load_ms_ = timer.ms();
  return out;
}

bool OwnModel::has(models::Sense sense) const {
  return model().senses && model().senses->has(sense);
}

void OwnModel::take(service::LoadedModel model, const std::string& name) {
  asked_name_ = name;
  base_ = begin_(model.defaults);
  model.defaults.request = base_;
  // Options are read as of Ollama's dialect, whose own values stand behind those of the flags.
  model.defaults.named.insert({"top_p", "min_p"});
  host_ = std::make_unique<service::HostThread>(std::move(model));
}

Result<service::Request> OwnModel::request(const Asked& asked, const ChatSettings& settings) const {
  service::Request request = base_;
  request.messages = asked.messages;
  request.prompt = asked.prompt;
  request.media = asked.media;
  request.think = settings.think;
  request.form = settings.form;
  if (settings.options.members().empty()) return request;
  PUNA_TRY(api::ollama::Options options, api::ollama::read_options(&settings.options, model()));
  if (!settings.options.find("seed")) options.sampling.seed = base_.sampling.seed;
  request.sampling = std::move(options.sampling);
  if (options.max_tokens) request.max_tokens = options.max_tokens;
  if (!options.stop.empty()) request.stop = std::move(options.stop);
  if (!options.num_ctx || (request.messages.empty() && request.prompt.empty())) return request;
  api::ollama::Asked narrowed;
  narrowed.request = std::move(request);
  narrowed.num_ctx = options.num_ctx;
  PUNA_TRY(api::ollama::fit(narrowed, model()));
  return std::move(narrowed.request);
}

Result<ChatAnswer> OwnModel::answer(const Asked& asked, const ChatSettings& settings,
                                    const OnPiece& on_piece) {
  PUNA_TRY(service::Request made, request(asked, settings));
  ++base_.sampling.seed;  // the same question may get another answer
  PUNA_TRY(service::encode_media(*host_, std::span(&made, 1)));
  PUNA_TRY(service::Prepared prepared, service::prepare(model(), std::move(made)));
  return run(std::move(prepared), on_piece);
}

Result<ChatAnswer> OwnModel::answer(std::vector<int32_t> tokens, const OnPiece& on_piece) {
  service::Request request = base_;
  request.tokens = std::move(tokens);
  PUNA_TRY(service::Prepared prepared, service::prepare(model(), std::move(request)));
  return run(std::move(prepared), on_piece);
}

Result<ChatAnswer> OwnModel::run(service::Prepared prepared, const OnPiece& on_piece) {
  const base::Timer timer;
  PUNA_TRY(service::Reply reply,
           service::run(*host_, std::move(prepared), [&](const service::Event& event) {
             on_piece(event.text, event.kind == service::Event::Kind::kReasoning);
           }));
  const engine::GenerateStats& stats = reply.stats;
  return ChatAnswer{.message = service::assistant_message(model(), reply),
                    .tokens = std::move(reply.tokens),
                    .figures = {.total_ms = timer.ms(),
                                .load_ms = std::exchange(load_told_, true) ? 0 : load_ms_,
                                .prompt_ms = stats.prompt_ms,
                                .decode_ms = stats.decode_ms,
                                .n_prompt = stats.n_prompt,
                                .n_cached = stats.n_cached,
                                .n_generated = stats.n_generated,
                                .stop = stats.stop}};
}

Result<void> OwnModel::check(const ChatSettings& settings) {
  Asked asked;
  if (has_template()) asked.messages = {{"user", "Hello", {}}};
  if (!has_template()) asked.prompt = "Hello";
  PUNA_TRY(const service::Request made, request(asked, settings));
  // A switch that the template lacks would fail every message.
  if (settings.think != service::Think::kDefault) PUNA_TRY(service::prompt_tokens(model(), made));
  if (settings.form) PUNA_TRY(check_form(model(), *settings.form));
  return {};
}

Result<Json> OwnModel::show() {
  PUNA_TRY(const service::ShownModel shown, service::show_model(asked_name_));
  PUNA_TRY(service::ModelTexts texts, service::texts_of(shown, shown.parts.model_paths));
  // Another template may have been given.
  texts.chat_template = has_template() ? model().chat_template->source() : "";
  return api::ollama::shown_json(texts, api::facts_of(model()).card, model().engine->file(),
                                 /*verbose=*/false);
}

Result<void> OwnModel::save(const std::string& name, const ChatSettings& settings,
                            const std::string& system, const std::vector<chat::Message>& messages) {
  PUNA_TRY(const store::Store store, store::Store::of_environment());
  service::CreateRequest request{.name = name, .modelfile = given_, .paths = true};
  store::Modelfile& modelfile = request.modelfile;
  modelfile.from = {asked_name_};
  Json options = given_.parameters;
  for (const auto& [key, value] : settings.options.members()) options.set(key, value);
  PUNA_TRY(modelfile.parameters, store::read_parameters(options));
  if (!system.empty()) modelfile.system = system;
  for (const chat::Message& each : messages)
    modelfile.messages.push_back({.role = each.role, .content = each.content});
  interrupted() = false;
  Result<void> made = service::create(store, request, {.cancel = &interrupted()});
  interrupted() = false;  // it ends this work alone
  return made;
}

Result<void> OwnModel::load(const std::string& name) {
  // What is no model costs nobody the one that there is.
  ProgressBar bar;
  service::OpenOptions wanted;
  wanted.model = name;
  wanted.pull_options = transfer_options(bar);
  PUNA_TRY(service::find_model(wanted));
  bar.clear();
  const std::string before = asked_name_;
  host_.reset();  // there may be no room for both
  Result<service::LoadedModel> loaded = open_(name);
  if (loaded) {
    take(*std::move(loaded), name);
    return {};
  }
  interrupted() = false;  // Ctrl-C was meant for the other one
  PUNA_TRY_CONTEXT(service::LoadedModel again, open_(before),
                   fmt::format("While loading {} again", before));
  take(std::move(again), before);
  return std::unexpected(std::move(loaded.error()));
}

}  // namespace puna::cli
