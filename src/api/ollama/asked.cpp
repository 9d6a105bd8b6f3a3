#include "api/ollama/asked.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "api/answer_fields.h"
#include "api/answer_form.h"
#include "api/ollama/options.h"
#include "api/ollama/time.h"
#include "api/ollama/writer.h"
#include "chat/parsers.h"
#include "service/prepare.h"
#include "service/request_media.h"

namespace puna::api::ollama {

using base::ErrorCode;
using base::Json;
using base::Result;
using service::Think;

namespace {

using Kind = Field::Kind;

constexpr double kMostTop = 20;
constexpr std::string_view kModelRequired = "model is required";

constexpr Field kAskedFields[] = {
    Field{"model", Kind::kText, "A name of the model."}.needed(),
    Field{"stream", Kind::kFlag, "The answer comes in pieces, as it is written."}.or_else("true"),
    Field{"options", Kind::kObject, "How tokens are chosen, and how long the answer may be."}.with(
        all_option_fields),
    Field{"think", Kind::kAny, "Whether the model thinks, or how much."}.shaped(
        R"(["boolean", "=low|medium|high|max"])"),
    Field{"keep_alive", Kind::kAny,
          "How long the model stays, in seconds or as a duration; the one of a process always "
          "stays."}
        .shaped(R"("number|string")"),
    Field{"truncate", Kind::kFlag,
          "Of a prompt that is too long the oldest turns are left out, and the answer says so."}
        .or_else("false"),
    {"shift", Kind::kFlag,
     "Where the context is full, the older half of what is behind num_keep tokens goes, and the "
     "answer goes on; else it ends. Where it is not given: as the server was started."},
    Field{"logprobs", Kind::kFlag, "How probable each token is."}.or_else("false"),
    Field{"top_logprobs", Kind::kInteger, "And so many of the most probable ones.", 0, kMostTop}
        .or_else("0"),
    Field{"format", Kind::kAny, "\"json\": the answer is a JSON object; a schema: what it admits."}
        .shaped(R"(["string", "object"])"),
    refused("_debug_render_only", "the prompt is not shown.", "false"),
};

std::unexpected<base::Error> wrong(std::string_view text) {
  return base::fail(ErrorCode::kInvalidArgument, std::string(text));
}

// The empty text is what clients send that ask for nothing.
Result<std::optional<service::AnswerForm>> read_form_of(const Json& format) {
  if (format == Json("")) return std::nullopt;
  if (format == Json("json")) return any_object();
  if (format.is_object()) return of_schema(format, /*strict=*/false);
  return refuse_field("format", format, "\"json\" or a JSON schema");
}

// What a model does of its own accord is asked for by nothing.
Result<Think> read_think(const Json& think, std::string_view name,
                         const service::LoadedModel& model) {
  const service::Abilities& can = model.abilities;
  if (think == Json(false)) return can.thinking ? Think::kOff : Think::kDefault;
  const bool always =
      model.chat_template && !chat::reply_style(model.chat_template->source()).thinking.empty();
  if (think == Json(true)) {
    if (can.thinking) return Think::kOn;
    if (always) return Think::kDefault;
    return does_not_support(name, "thinking");
  }
  constexpr std::pair<std::string_view, Think> kLevels[] = {{"low", Think::kLow},
                                                            {"medium", Think::kMedium},
                                                            {"high", Think::kHigh},
                                                            {"max", Think::kHigh}};
  for (const auto& [level, value] : kLevels) {
    if (think != Json(level)) continue;
    if (can.thinking_levels) return value;
    if (!can.thinking && !always) return does_not_support(name, "thinking");
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("think value \"{}\" is not supported for this model", level));
  }
  return refuse_field("think", think, "true, false, low, medium, high or max");
}

Result<void> read_probabilities(const Body& body, Asked& out) {
  if (!body.flag("logprobs").value_or(false)) return {};
  out.top_logprobs = static_cast<uint32_t>(body.integer("top_logprobs").value_or(0));
  // Those of the chosen tokens come with the most probable ones, of which there is one at least.
  out.request.sampling.n_probs = std::max(*out.top_logprobs, 1u);
  return {};
}

std::unexpected<base::Error> too_long(size_t n_tokens, uint32_t room) {
  return base::fail(ErrorCode::kInvalidArgument,
                    fmt::format("The prompt has {} tokens, which leaves no room for an answer in "
                                "the {} tokens that it may have.",
                                n_tokens, room));
}

// Where turns begin that may be left out: at messages of the user, and in front of all others. The
// last is where the last turn begins.
std::vector<size_t> turns_of(const std::vector<chat::Message>& messages) {
  std::vector<size_t> out;
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::string& role = messages[i].role;
    if (role == "user" || (out.empty() && role != "system")) out.push_back(i);
  }
  return out;
}

// Leaves out what stands before `first` of a request, but for what is of the system.
void take_from(const service::Request& all, size_t first, service::Request& out) {
  out.messages.clear();
  out.media.clear();
  // They are in the order of their messages.
  auto media = all.media.begin();
  for (size_t i = 0; i < all.messages.size(); ++i) {
    const bool stays = i >= first || all.messages[i].role == "system";
    for (; media != all.media.end() && media->message == i; ++media) {
      if (!stays) continue;
      out.media.push_back(*media);
      out.media.back().message = out.messages.size();
    }
    if (stays) out.messages.push_back(all.messages[i]);
  }
}

}  // namespace

std::unexpected<base::Error> does_not_support(std::string_view model, std::string_view what) {
  return base::fail(ErrorCode::kUnsupported,
                    fmt::format("\"{}\" does not support {}", model, what));
}

Result<std::optional<HttpReply>> unload(const Call& call) {
  ModelControl* const control = call.models.control();
  const Json* keep_alive = call.body.find("keep_alive");
  const Json* model = call.body.find("model");
  if (!control || !keep_alive || !model || !model->is_string()) return std::nullopt;
  const auto is_empty = [&](const char* name) {
    const Json* value = call.body.find(name);
    return !value || value->is_null() || *value == Json("") || *value == Json::array();
  };
  if (!is_empty("prompt") || !is_empty("messages") || !is_empty("suffix")) return std::nullopt;
  PUNA_TRY(const double seconds, read_keep_alive(*keep_alive));
  if (seconds != 0) return std::nullopt;
  const auto done = control->unload(model->string());
  // Whoever wants a model to be gone has it so.
  if (!done && done.error().code == ErrorCode::kNotFound)
    return std::unexpected(no_such_model(Dialect::kOllama, model->string(), done.error()));
  if (!done && done.error().code != ErrorCode::kInvalidArgument)
    return std::unexpected(done.error());
  Asked asked;
  asked.model = model->string();
  asked.unload = true;
  const Json* stream = call.body.find("stream");
  asked.stream = !stream || *stream != Json(false);
  Json rest = Json::object();
  if (call.http.path == "/api/chat") {
    rest.set("message", Json::object().set("role", "assistant").set("content", ""));
  } else {
    rest.set("response", "");
  }
  return loaded_reply(asked, rest);
}

Result<std::string> model_name(const Body& body) {
  for (const char* const field : {"model", "name"})
    if (std::string name = body.text(field).value_or(""); !name.empty()) return name;
  return wrong(kModelRequired);
}

Result<Body> read_body(const Json& json, FieldTables tables) {
  if (json.is_null()) return wrong("missing request body");
  const Json* top = json.find("top_logprobs");
  if (top && top->is_integer() && (top->number() < 0 || top->number() > kMostTop))
    return wrong("top_logprobs must be between 0 and 20");
  PUNA_TRY(Body body, Body::read(json, tables));
  if (body.text("model").value_or("").empty()) return wrong(kModelRequired);
  return body;
}

std::span<const Field> asked_fields() { return kAskedFields; }

Result<Asked> read_asked(const Body& body, const Call& call) {
  const service::LoadedModel& model = call.model->loaded();
  Asked out;
  out.load_ms = call.load_ms;
  out.model = *body.text("model");
  out.stream = body.flag("stream").value_or(true);
  out.truncate = body.flag("truncate").value_or(false);
  PUNA_TRY_CONTEXT(Options options, read_options(body.find("options"), model),
                   "While reading the options");
  service::Request& request = out.request;
  request = model.defaults.request;
  request.sampling = std::move(options.sampling);
  if (options.max_tokens) request.max_tokens = options.max_tokens;
  request.stop = std::move(options.stop);
  if (const auto shift = body.flag("shift")) {
    if (!*shift) request.shift.reset();
    if (*shift && !request.shift) request.shift.emplace();
  }
  if (request.shift && options.num_keep) request.shift->n_keep = number_or_none(*options.num_keep);
  out.num_ctx = options.num_ctx;
  if (const Json* think = body.find("think")) {
    PUNA_TRY(request.think, read_think(*think, out.model, model));
  }
  if (const Json* keep_alive = body.find("keep_alive")) {
    PUNA_TRY(const double seconds, read_keep_alive(*keep_alive));
    out.unload = seconds == 0;
  }
  if (const Json* format = body.find("format")) {
    PUNA_TRY(auto form, read_form_of(*format));
    if (form) request.form = std::move(form);
  }
  PUNA_TRY(read_probabilities(body, out));
  return out;
}

Result<uint32_t> fit(Asked& asked, const service::LoadedModel& model) {
  const bool narrowed = asked.num_ctx && *asked.num_ctx < model.context();
  // What is too long for the model itself is refused where it is prepared.
  if (!narrowed && !asked.truncate) return 0;
  const uint32_t room = narrowed ? *asked.num_ctx : model.context();
  service::Request& request = asked.request;
  const auto count = [&]() -> Result<uint32_t> {
    PUNA_TRY(const std::vector<int32_t> tokens, service::prompt_tokens(model, request));
    return static_cast<uint32_t>(tokens.size());
  };
  PUNA_TRY(service::count_media(model, std::span(&request, 1)));
  PUNA_TRY(uint32_t n, count());
  const uint32_t n_before = n;
  const std::vector<size_t> turns = turns_of(request.messages);
  if (n >= room && (!asked.truncate || turns.size() < 2)) return too_long(n, room);
  if (n >= room) {
    const service::Request all = request;
    // By halves: the fewest turns that are enough, of which the last cannot be one.
    size_t enough = turns.size() - 1, least = 1;
    while (least < enough) {
      const size_t middle = (least + enough) / 2;
      take_from(all, turns[middle], request);
      PUNA_TRY(n, count());
      if (n < room) {
        enough = middle;
      } else {
        least = middle + 1;
      }
    }
    take_from(all, turns[enough], request);
    PUNA_TRY(n, count());
    if (n >= room) return too_long(n, room);
  }
  if (narrowed && request.shift) {
    request.shift->context = room;
  } else if (narrowed) {
    request.max_tokens = std::min(request.max_tokens.value_or(UINT32_MAX), room - n);
  }
  return n_before - n;
}

}  // namespace puna::api::ollama
