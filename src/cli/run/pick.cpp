#include "cli/run/pick.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/log.h"
#include "cli/output.h"
#include "cli/template_file.h"
#include "cli/terminal.h"
#include "cli/word_wrap.h"

namespace puna::cli {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

bool is_path(const std::string& model) {
  std::error_code ignored;
  return model.ends_with(".gguf") || std::filesystem::exists(model, ignored);
}

uint64_t count_of(const Json& line, std::string_view key) {
  const Json* n = line.find(key);
  return n && n->is_integer() && n->integer() > 0 ? static_cast<uint64_t>(n->integer()) : 0;
}

// Has the server fetch a model that it lacks.
Result<void> pull(const Client& client, const std::string& model) {
  ProgressBar bar;
  return client.stream("/api/pull", Json::object().set("model", model),
                       [&](const Json& line) -> Result<void> {
                         const uint64_t total = count_of(line, "total");
                         if (total > 0) bar.update("pulling", count_of(line, "completed"), total);
                         return {};
                       });
}

Result<bool> has_model(const Client& client, const std::string& model) {
  const auto shown = client.ask("/api/show", Json::object().set("model", model));
  if (shown) return true;
  if (shown.error().code == ErrorCode::kNotFound) return false;
  return std::unexpected(shown.error());
}

Result<std::optional<Client>> forced(const RunFlags& flags) {
  PUNA_TRY(Client client, find_server(flags.host));
  PUNA_TRY(const bool has, has_model(client, flags.model.model));
  if (!has) {
    PUNA_TRY_CONTEXT(pull(client, flags.model.model),
                     fmt::format("While having the server at {} fetch {}, which it lacks",
                                 client.server().text(), flags.model.model));
  }
  return client;
}

// A model whose template cannot be read is not sent raw text in its place: it was not trained on
// that.
Result<void> check_template(const service::LoadedModel& model) {
  if (model.chat_template || !model.template_error) return {};
  base::Error error = *model.template_error;
  error.context.emplace_back(
      "While preparing a chat; --raw goes without the chat template, --template FILE takes "
      "another");
  return std::unexpected(std::move(error));
}

}  // namespace

Result<std::optional<Client>> pick_server(const RunFlags& flags) {
  if (!flags.host.empty()) return forced(flags);
  if (flags.local || !own_option(flags).empty() || is_path(flags.model.model)) return std::nullopt;
  PUNA_TRY(const std::vector<ServerAddress> addresses, server_addresses(""));
  for (const ServerAddress& address : addresses) {
    Client client(address);
    Result<void> answers = client.answers();
    Result<bool> has = false;
    if (answers) has = has_model(client, flags.model.model);
    if (has && *has) return client;
    if (interrupted()) return base::fail(ErrorCode::kCancelled, "The request was interrupted.");
    if (address.from.empty()) continue;
    // Somebody counts on that server.
    const std::string why = !answers ? answers.error().text()
                            : !has   ? has.error().text()
                                     : "it does not have the model.";
    const std::string line =
        fmt::format("The server at {} ({}) is not used: {}\n", base::printable(address.text()),
                    address.from, base::printable(why));
    write_raw(stderr, wrapped(stderr, line));
  }
  return std::nullopt;
}

Result<std::unique_ptr<OwnModel>> open_own(const RunFlags& flags,
                                           const std::optional<service::AnswerForm>& form,
                                           const MediaFiles& media, bool more_may_come) {
  // Before a model is loaded in vain.
  store::Modelfile given{.parameters = options_of(flags)};
  if (flags.template_path) {
    PUNA_TRY(const chat::Template chat_template, read_template(*flags.template_path));
    given.chat_template = chat_template.source();
  }
  const bool chats = !flags.raw && !flags.tokens;
  auto open = [model_flags = flags.model, path = flags.template_path, chats,
               media_flags = flags.media, any = !media.empty(),
               more_may_come](const std::string& name) -> Result<service::LoadedModel> {
    ProgressBar bar;
    ModelFlags named = model_flags;
    named.model = name;
    PUNA_TRY(service::OpenOptions options, open_options(named, {}, bar));
    PUNA_TRY(formats::ModelFile file, service::open_file(options));
    // What the command line says of an encoder and of files is about its own model.
    const bool is_first = name == model_flags.model;
    if (more_may_come || any) {
      PUNA_TRY(const auto encoder,
               service::find_encoder(name, file,
                                     is_first ? media_flags.wish() : service::EncoderWish()));
      if (!encoder && any && is_first) return std::unexpected(no_encoder(name));
      options.mmproj = mmproj_of(media_flags);
      options.mmproj.path = encoder ? encoder->path : "";
    }
    PUNA_TRY(service::LoadedModel model, service::open(std::move(file), options));
    if (path) {
      PUNA_TRY(chat::Template given, read_template(*path));
      service::use_template(model, std::move(given));
    }
    if (chats) PUNA_TRY(check_template(model));
    return model;
  };
  PUNA_TRY(auto out,
           OwnModel::open(
               std::move(open), flags.model.model,
               [flags](const service::Defaults& defaults) { return request_of(flags, defaults); },
               std::move(given)));
  if (form) PUNA_TRY(check_form(out->model(), *form));
  const char* needs_template = !flags.system.empty()  ? "--system"
                               : !flags.think.empty() ? "--think"
                                                      : nullptr;
  if (needs_template && !out->has_template()) {
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("The model {} has no chat template; it takes no {}.", out->name(),
                                  needs_template));
  }
  return out;
}

}  // namespace puna::cli
