#include "cli/chat/remote_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/answer_form.h"
#include "api/embedding_rows.h"
#include "base/clock.h"
#include "cli/client/loaded_models.h"

namespace puna::cli {

using base::ErrorCode;
using base::Json;
using base::Result;
using service::Think;

namespace {

std::string text_of(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value && value->is_string() ? value->string() : "";
}

double ms_of(const Json& line, std::string_view key) {
  const Json* ns = line.find(key);
  return ns && ns->is_number() ? ns->number() / 1e6 : 0;
}

uint32_t count_of(const Json& line, std::string_view key) {
  const Json* n = line.find(key);
  return n && n->is_integer()
             ? static_cast<uint32_t>(std::clamp<int64_t>(n->integer(), 0, INT32_MAX))
             : 0;
}

Json think_json(Think think) {
  switch (think) {
    case Think::kOff:
      return false;
    case Think::kOn:
      return true;
    case Think::kLow:
      return "low";
    case Think::kMedium:
      return "medium";
    case Think::kHigh:
      return "high";
    case Think::kDefault:
      break;
  }
  return nullptr;
}

// "json" is what servers without schemas know, too.
Result<Json> format_json(const service::AnswerForm& form) {
  if (form.kind != service::AnswerForm::Kind::kSchema) {
    return base::fail(
        ErrorCode::kUnsupported,
        "A server is asked for JSON or a JSON schema only; --local answers by grammars "
        "and expressions.");
  }
  if (form == api::any_object()) return Json("json");
  return Json::parse(form.text);
}

Json message_json(const chat::Message& message) {
  Json out = Json::object().set("role", message.role).set("content", message.content);
  if (const Json* thinking = message.fields.find("thinking")) out.set("thinking", *thinking);
  return out;
}

// The pictures and sounds of one message, which have one list. Where in it they stand is the
// server's to say.
Json images_json(const Asked& asked, size_t message) {
  Json out = Json::array();
  for (const service::PlacedMedia& each : asked.media) {
    if (each.message != message) continue;
    const std::vector<std::byte>& bytes = each.file->bytes;
    out.push(api::base64({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  }
  return out;
}

Json messages_json(const std::vector<chat::Message>& messages) {
  Json out = Json::array();
  for (const chat::Message& message : messages) out.push(message_json(message));
  return out;
}

// Of the last line. A server says "length" of both: the tokens that were asked for, and a context
// that is full.
engine::StopReason stop_of(const Json& line, const Json& options) {
  using engine::StopReason;
  if (text_of(line, "done_reason") != "length") return StopReason::kEnd;
  const Json* most = options.find("num_predict");
  const bool reached = most && most->is_integer() && most->integer() >= 0 &&
                       count_of(line, "eval_count") >= most->integer();
  return reached ? StopReason::kLength : StopReason::kContext;
}

}  // namespace

Result<std::unique_ptr<RemoteModel>> RemoteModel::open(Client client, const std::string& name,
                                                       Options options) {
  std::unique_ptr<RemoteModel> out(new RemoteModel(std::move(client), std::move(options)));
  PUNA_TRY(out->shown_, out->client_.ask("/api/show", Json::object().set("model", name)));
  out->name_ = name;
  return out;
}

uint32_t RemoteModel::context() const {
  const auto answer = client_.ask("/api/ps");
  const auto loaded = answer ? loaded_models(*answer) : std::vector<LoadedModelReport>();
  for (const LoadedModelReport& model : loaded.value_or(std::vector<LoadedModelReport>())) {
    if (same_model(model.name, name_)) return static_cast<uint32_t>(model.context);
  }
  return 0;
}

bool RemoteModel::has_template() const { return !text_of(shown_, "template").empty(); }

Json RemoteModel::options_with(const ChatSettings& settings) const {
  Json out = options_.options;
  for (const auto& [name, value] : settings.options.members()) out.set(name, value);
  return out;
}

bool RemoteModel::can(const char* capability) const {
  const Json* all = shown_.find("capabilities");
  return all && all->is_array() &&
         std::ranges::find(all->items(), Json(capability)) != all->items().end();
}

bool RemoteModel::keeps_alive() const {
  return !options_.keep_alive.is_null() && options_.keep_alive != Json("");
}

Result<Json> RemoteModel::body_of(const Asked& asked, const ChatSettings& settings) const {
  Json body = Json::object().set("model", name_);
  if (asked.messages.empty()) {
    body.set("prompt", asked.prompt).set("raw", true);
    if (Json images = images_json(asked, 0); !images.items().empty())
      body.set("images", std::move(images));
  } else {
    Json messages = Json::array();
    for (size_t i = 0; i < asked.messages.size(); ++i) {
      Json message = message_json(asked.messages[i]);
      if (Json images = images_json(asked, i); !images.items().empty())
        message.set("images", std::move(images));
      messages.push(std::move(message));
    }
    body.set("messages", std::move(messages));
  }
  Json options = options_with(settings);
  if (!options.members().empty()) body.set("options", std::move(options));
  if (settings.think != Think::kDefault) body.set("think", think_json(settings.think));
  if (settings.form) {
    PUNA_TRY(Json format, format_json(*settings.form));
    body.set("format", std::move(format));
  }
  if (keeps_alive()) body.set("keep_alive", options_.keep_alive);
  return body;
}

Result<ChatAnswer> RemoteModel::answer(const Asked& asked, const ChatSettings& settings,
                                       const OnPiece& on_piece) {
  PUNA_TRY(const Json body, body_of(asked, settings));
  const base::Timer timer;
  std::string text, thinking;
  ChatAnswer out;
  bool done = false;
  const auto take = [&](const Json& line) -> Result<void> {
    const Json* message = line.find("message");
    const std::string thought = text_of(message ? *message : line, "thinking");
    const std::string said = message ? text_of(*message, "content") : text_of(line, "response");
    if (!thought.empty()) on_piece(thought, true);
    if (!said.empty()) on_piece(said, false);
    thinking += thought;
    text += said;
    if (line.find("done") && *line.find("done") == Json(true)) {
      done = true;
      out.figures = {.total_ms = ms_of(line, "total_duration"),
                     .load_ms = ms_of(line, "load_duration"),
                     .prompt_ms = ms_of(line, "prompt_eval_duration"),
                     .decode_ms = ms_of(line, "eval_duration"),
                     .n_prompt = count_of(line, "prompt_eval_count"),
                     .n_cached = 0,
                     .n_generated = count_of(line, "eval_count"),
                     .stop = stop_of(line, options_with(settings))};
    }
    return {};
  };
  const std::string_view path = asked.messages.empty() ? "/api/generate" : "/api/chat";
  const Result<void> read = client_.stream(path, body, take);
  if (!read && read.error().code == ErrorCode::kCancelled) {
    out.figures.total_ms = timer.ms();
    out.figures.stop = engine::StopReason::kCancelled;
  } else if (!read) {
    return std::unexpected(read.error());
  } else if (!done) {
    return base::fail(ErrorCode::kNetwork, "The server's answer ended before it was whole.");
  }
  out.message = {"assistant", std::move(text), {}};
  if (!thinking.empty()) out.message.fields.set("thinking", std::move(thinking));
  return out;
}

Result<void> RemoteModel::check(const ChatSettings& settings) {
  PUNA_TRY(body_of({}, settings));
  const bool unsaid = !shown_.find("capabilities");
  if (settings.think == Think::kDefault || settings.think == Think::kOff || unsaid ||
      can("thinking"))
    return {};
  return base::fail(ErrorCode::kUnsupported,
                    fmt::format("\"{}\" does not support thinking.", name_));
}

Result<Json> RemoteModel::show() { return shown_; }

Result<void> RemoteModel::save(const std::string& name, const ChatSettings& settings,
                               const std::string& system,
                               const std::vector<chat::Message>& messages) {
  Json body = Json::object().set("model", name).set("from", name_);
  if (!system.empty()) body.set("system", system);
  Json options = options_with(settings);
  if (!options.members().empty()) body.set("parameters", std::move(options));
  if (!messages.empty()) body.set("messages", messages_json(messages));
  return client_.stream("/api/create", body, [](const Json&) -> Result<void> { return {}; });
}

Result<void> RemoteModel::load(const std::string& name) {
  PUNA_TRY(Json shown, client_.ask("/api/show", Json::object().set("model", name)));
  Json body = Json::object().set("model", name).set("stream", false);
  if (keeps_alive()) body.set("keep_alive", options_.keep_alive);
  PUNA_TRY(client_.ask("/api/generate", body));
  name_ = name;
  shown_ = std::move(shown);
  return {};
}

}  // namespace puna::cli
