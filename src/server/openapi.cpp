#include "server/openapi.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "api/build_info.h"
#include "api/shape.h"

namespace puna::server {

using api::Description;
using api::Dialect;
using api::Field;
using api::Frames;
using base::Json;

namespace {

// In the order of Own.
constexpr std::array kOwn = {
    Description{.name = "Health",
                .summary = "Tells whether requests are answered; 503 while a model is loaded.",
                .answer = R"({"status": "=ok"})"},
    Description{
        .name = "Live", .summary = "Tells that the server runs.", .answer = R"({"status": "=ok"})"},
    Description{.name = "Metrics",
                .summary = "Gives counters and histograms in the form of Prometheus.",
                .answer = R"("string")",
                .may_lack = true,
                .media_type = "text/plain"},
    Description{.name = "Loads",
                .summary = "Tells how much each model has to do, as gateways ask for it.",
                .answer = R"({"timestamp": "string", "version": "string",
      "dp_rank_count": "integer",
      "loads": [{"dp_rank": "integer", "model": "string", "num_running_reqs": "integer",
        "num_waiting_reqs": "integer", "num_total_reqs": "integer", "num_used_tokens": "integer",
        "max_total_num_tokens": "integer", "token_usage": "number",
        "max_running_requests": "integer"}],
      "aggregate": {"*": "number"}})"},
    Description{.name = "OpenApi",
                .summary = "Describes the interface: this document.",
                .answer = R"({"openapi": "string", "info": "object", "paths": "object",
      "components": "object"})"},
    Description{.name = "Disabled",
                .summary = "The server has no tools of its own, and asks no other servers for "
                           "pages: status 403.",
                .never = true},
};

constexpr Field kStreamQuery[] = {
    Field{"conv_id", Field::Kind::kText, "The X-Conversation-Id of its request."}.needed(),
    {"from", Field::Kind::kInteger, "The byte of the stream to begin with.", 0},
};
constexpr Field kLookupBody[] = {
    Field{.name = "conversation_ids",
          .kind = Field::Kind::kList,
          .about = "Those that are asked for.",
          .required = true,
          .shape = R"(["string"])"},
};
// In the order of Streams.
constexpr std::array kStreams = {
    Description{.name = "Stream",
                .summary = "Reads a stream that goes on without its client, from any byte on. "
                           "Status 503 while its text has not begun.",
                .answer = R"("string")",
                .query = [] { return std::span<const Field>(kStreamQuery); },
                .media_type = "text/event-stream"},
    Description{.name = "StoppedStream",
                .summary = "Stops a stream, and forgets it.",
                .query = [] { return std::span<const Field>(kStreamQuery).first(1); }},
    Description{.name = "Streams",
                .summary = "Tells of streams that are under way or not forgotten yet.",
                .body = {[] { return std::span<const Field>(kLookupBody); }},
                .answer = R"([{"conversation_id": "string", "is_done": "boolean",
      "total_bytes": "integer", "first_byte": "integer", "started_at": "integer",
      "completed_at": "integer"}])"},
    Description{.name = "ModelEvents",
                .summary = "Tells what becomes of models, as a stream without an end.",
                .answer = R"("string")",
                .may_lack = true,
                .media_type = "text/event-stream"},
};

// In the order of Uploads.
constexpr std::array kUploads = {
    Description{.name = "SentBlob",
                .summary = "Takes a blob, of any length that the disk has room for: 201, or 200 "
                           "where it is there already. Its SHA-256 has to be the digest.",
                .answer = R"("string")",
                .media_type = "text/plain"},
};

struct DialectWords {
  std::string_view name, tag, error;  // error: a shape
};
// In the order of Dialect; errors as api/errors.h writes them.
constexpr DialectWords kDialects[] = {
    {"OpenAi", "openai",
     R"({"error": {"message": "string", "type": "string", "param": "null", "code": "integer"}})"},
    {"Anthropic", "anthropic",
     R"({"type": "=error", "error": {"type": "string", "message": "string"}})"},
    {"Ollama", "ollama", R"({"error": "string"})"},
    {"Llama", "llama", R"({"error": {"code": "integer", "message": "string", "type": "string"}})"},
};
const DialectWords& words(Dialect dialect) { return kDialects[static_cast<size_t>(dialect)]; }

struct Status {
  int number;
  std::string_view why;
};
constexpr Status kStatuses[] = {
    {400, "The request is not what its fields allow, or asks for what is not supported."},
    {401, "The server has keys, and the request none of them."},
    {403, "The Host is no name of the server, the Origin not allowed, or what is asked for off."},
    {404, "There is no such model, or stream."},
    {405, "The path has no such method; Allow lists those it has."},
    {408, "The request took too long to arrive."},
    {413, "The body is too long."},
    {415, "A page has sent something else than JSON."},
    {431, "The head is too long."},
    {500, "The server has failed."},
    {501, "The model, or this server, cannot do it."},
    {502, "The process that runs the model, or a registry, has not answered."},
    {503, "A model is loaded, too many wait already, or the server is being shut down."},
};
// Whether its body names a model that need not be there.
bool names_model(const Description& about) {
  return std::ranges::any_of(api::rows_of(about.body), [](const Field& field) {
    return field.name == "model" || field.name == "name" || field.name == "source";
  });
}

bool may_give(int status, const Route& route, const Description& about) {
  const bool reads = about.body.front() != nullptr;
  switch (status) {
    case 401:
      return route.key == Key::kNeeded;
    case 404:
      return names_model(about) || route.model != ModelName::kNone ||
             route.path.find('{') != std::string_view::npos || about.query;
    case 502:
      return reads || route.model != ModelName::kNone;
    case 408:
    case 413:
    case 415:
      return reads || route.method == "POST";
    case 501:
      return about.may_lack;
    default:
      return true;
  }
}

// As JSON has whole numbers.
Json number(double value) {
  constexpr double kExact = 9007199254740992;  // 2^53
  if (value == std::trunc(value) && std::fabs(value) <= kExact) return static_cast<int64_t>(value);
  return value;
}

Json object_of(std::span<const Field> rows);

Json type_of(const Field& field) {
  using Kind = Field::Kind;
  if (!field.shape.empty()) return api::schema_of(field.shape);
  Json out = Json::object();
  switch (field.kind) {
    case Kind::kText:
      return api::schema_of(field.values.empty() ? "\"string\""
                                                 : fmt::format("\"={}\"", field.values));
    case Kind::kFlag:
      return out.set("type", "boolean");
    case Kind::kNumber:
    case Kind::kInteger:
      out.set("type", field.kind == Kind::kNumber ? "number" : "integer");
      if (field.least > std::numeric_limits<double>::lowest())
        out.set("minimum", number(field.least));
      if (field.most < std::numeric_limits<double>::max()) out.set("maximum", number(field.most));
      return out;
    case Kind::kTexts:
      return api::schema_of(R"(["string", ["string"]])");
    case Kind::kList:
      out.set("type", "array");
      return field.inner ? out.set("items", object_of(field.inner())) : out;
    case Kind::kObject:
      return field.inner ? object_of(field.inner()) : out.set("type", "object");
    case Kind::kAny:
      break;
  }
  return out;
}

// Null counts as not given.
Json or_null(Json schema) {
  if (schema.members().empty()) return schema;
  Json any = Json::array();
  any.push(std::move(schema)).push(Json::object().set("type", "null"));
  return Json::object().set("anyOf", std::move(any));
}

Json schema_of(const Field& field) {
  Json out = Json::object();
  if (field.effect == Field::Effect::kMeant) {
    out = type_of(field);
    if (!field.required) out = or_null(std::move(out));
  } else if (field.effect == Field::Effect::kRefused) {
    Json harmless = Json::array().push(nullptr);
    if (!field.harmless.empty()) harmless.push(Json::parse(field.harmless).value_or(Json()));
    out.set("enum", std::move(harmless));
  }
  out.set("description", field.about);
  if (!field.initial.empty()) out.set("default", Json::parse(field.initial).value_or(Json()));
  if (field.effect != Field::Effect::kMeant)
    out.set("x-puna-effect", field.effect == Field::Effect::kNone ? "none" : "refused");
  return out;
}

Json object_of(std::span<const Field> rows) {
  Json members = Json::object(), required = Json::array();
  for (const Field& field : rows) {
    members.set(std::string(field.name), schema_of(field));
    if (field.required) required.push(field.name);
  }
  Json out = Json::object().set("type", "object").set("properties", std::move(members));
  return required.items().empty() ? out : out.set("required", std::move(required));
}

Json reference(std::string_view kind, std::string_view name) {
  return Json::object().set("$ref", fmt::format("#/components/{}/{}", kind, name));
}
Json content(std::string_view media_type, Json schema) {
  return Json::object().set(std::string(media_type),
                            Json::object().set("schema", std::move(schema)));
}

Json answer_json(const Description& about) {
  Json media = content(about.media_type, reference("schemas", about.name));
  if (about.frames != Frames::kNone) {
    // A schema would be of the stream as a whole, of which there is nothing to say.
    const Json frame = reference("schemas", fmt::format("{}Frame", about.name));
    media.set(about.frames == Frames::kSse ? "text/event-stream" : "application/x-ndjson",
              Json::object().set("x-puna-frame", frame));
  }
  return Json::object().set("description", "What was asked for.").set("content", std::move(media));
}

Json parameter(std::string_view name, std::string_view in, bool required, Json schema,
               std::string_view about) {
  Json out = Json::object().set("name", name).set("in", in).set("required", required);
  return out.set("description", about).set("schema", std::move(schema));
}

// "/a/{b...}" is "/a/{b}", with the names.
std::pair<std::string, std::vector<std::string>> path_of(std::string_view pattern) {
  std::pair<std::string, std::vector<std::string>> out;
  while (!pattern.empty()) {
    const size_t open = std::min(pattern.find('{'), pattern.size());
    out.first += pattern.substr(0, open);
    const size_t close = std::min(pattern.find('}', open), pattern.size());
    if (open < close) {
      std::string name(pattern.substr(open + 1, close - open - 1));
      if (name.ends_with("...")) name.resize(name.size() - 3);
      out.first += fmt::format("{{{}}}", name);
      out.second.push_back(std::move(name));
    }
    pattern.remove_prefix(std::min(close + 1, pattern.size()));
  }
  return out;
}

Json parameters_of(const Route& route, const Description& about) {
  Json out = Json::array();
  const Json text = Json::object().set("type", "string");
  for (const std::string& name : path_of(route.path).second)
    out.push(parameter(name, "path", true, text, "Of the path."));
  if (route.model == ModelName::kQuery) {
    out.push(parameter("model", "query", false, text,
                       "A name of the model; none: the one that is served."));
  }
  if (!about.query) return out;
  for (const Field& field : about.query()) {
    out.push(parameter(field.name, "query", field.required, type_of(field), field.about));
  }
  return out;
}

std::string operation_id(const Route& route) {
  std::string out(route.method);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  for (const char c : path_of(route.path).first) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (letter || out.back() != '_') out += letter ? c : '_';
  }
  return out;
}

Json operation_json(const Route& route, const Description& about) {
  const DialectWords& dialect = words(route.dialect);
  Json out = Json::object();
  out.set("operationId", operation_id(route)).set("summary", about.summary);
  out.set("tags", Json::array().push(dialect.tag));
  if (route.key == Key::kPublic) out.set("security", Json::array());
  Json parameters = parameters_of(route, about);
  if (!parameters.items().empty()) out.set("parameters", std::move(parameters));
  if (about.body.front()) {
    const std::string name = fmt::format("{}Request", about.name);
    out.set("requestBody",
            Json::object()
                .set("required", true)
                .set("content", content(about.body_type, reference("schemas", name))));
  }
  Json responses = Json::object();
  if (!about.answer.empty()) {
    responses.set("200", answer_json(about));
  } else if (!about.may_lack && !about.never) {
    responses.set("204", Json::object().set("description", "It is done."));
  }
  for (const Status& status : kStatuses) {
    if (!may_give(status.number, route, about)) continue;
    responses.set(fmt::to_string(status.number),
                  reference("responses", fmt::format("{}{}", dialect.name, status.number)));
  }
  return out.set("responses", std::move(responses));
}

void add_schemas(const Description& about, Json& schemas) {
  const std::string name(about.name);
  if (!about.answer.empty()) schemas.set(name, api::schema_of(about.answer));
  if (!about.frame.empty()) schemas.set(name + "Frame", api::schema_of(about.frame));
  if (about.body.front()) schemas.set(name + "Request", object_of(api::rows_of(about.body)));
}

Json components_json(Json schemas) {
  for (const api::Descriptions& dialect : api::descriptions()) {
    for (const api::NamedShape& each : dialect.shapes)
      schemas.set(std::string(each.name), api::schema_of(each.shape));
  }
  Json responses = Json::object();
  for (const DialectWords& dialect : kDialects) {
    const std::string error = fmt::format("{}Error", dialect.name);
    schemas.set(error, api::schema_of(dialect.error));
    for (const Status& status : kStatuses) {
      responses.set(fmt::format("{}{}", dialect.name, status.number),
                    Json::object()
                        .set("description", status.why)
                        .set("content", content("application/json", reference("schemas", error))));
    }
  }
  Json keys = Json::object();
  keys.set("bearer", Json::object().set("type", "http").set("scheme", "bearer"));
  keys.set("key",
           Json::object().set("type", "apiKey").set("in", "header").set("name", "X-Api-Key"));
  Json out = Json::object();
  out.set("schemas", std::move(schemas)).set("responses", std::move(responses));
  return out.set("securitySchemes", std::move(keys));
}

}  // namespace

const Description* description_of(const Route& route) {
  if (const auto* own = std::get_if<Own>(&route.handler)) return &kOwn[static_cast<size_t>(*own)];
  if (const auto* streams = std::get_if<Streams>(&route.handler))
    return &kStreams[static_cast<size_t>(*streams)];
  if (const auto* uploads = std::get_if<Uploads>(&route.handler))
    return &kUploads[static_cast<size_t>(*uploads)];
  return api::find_description(std::get<api::Endpoint>(route.handler));
}

Json openapi(std::span<const Route> routes, std::string_view prefix) {
  Json paths = Json::object(), schemas = Json::object();
  for (const Route& route : routes) {
    const Description* about = description_of(route);
    if (!about) continue;
    const std::string path = path_of(route.path).first;
    const Json* known = paths.find(path);
    Json methods = known ? *known : Json::object();
    std::string method(route.method);
    for (char& c : method) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    methods.set(std::move(method), operation_json(route, *about));
    paths.set(path, std::move(methods));
    if (!schemas.find(about->name)) add_schemas(*about, schemas);
  }
  Json info = Json::object().set("title", "Puna").set("version", api::version());
  Json out = Json::object().set("openapi", "3.1.0").set("info", std::move(info));
  const Json server = Json::object().set("url", prefix.empty() ? "/" : prefix);
  out.set("servers", Json::array().push(server));
  Json security = Json::array();
  for (const char* scheme : {"bearer", "key"})
    security.push(Json::object().set(scheme, Json::array()));
  out.set("security", std::move(security)).set("paths", std::move(paths));
  return out.set("components", components_json(std::move(schemas)));
}

}  // namespace puna::server
