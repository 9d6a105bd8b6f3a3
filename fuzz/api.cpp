// Requests from hostile bytes: they pick a route and, along the schema of its body, what stands in
// it, fitting or not: values of any type, numbers beyond all ranges, broken text, deep nesting.
// Or they are a picture and a sound in a body that has them where its dialect does; these are
// decoded, cut for a model that sees and hears, counted and placed. Whatever it is, the endpoint
// answers or refuses with a status of 4xx, and what goes out is UTF-8 and JSON.
#define DOCTEST_CONFIG_DISABLE
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/exchange.h"
#include "base/check.h"
#include "base/log.h"
#include "base/utf8.h"
#include "media/decode.h"
#include "media/sound.h"
#include "media_bodies.h"
#include "server/openapi.h"
#include "service/embed.h"
#include "service/host_here.h"
#include "service/hosts.h"
#include "service/prepare.h"
#include "service/request_media.h"
#include "service/testing/seeing_model.h"

namespace {

using namespace puna;
using base::Json;

// Zeros behind the end.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}

  bool empty() const { return at_ == end_; }
  uint8_t next() { return empty() ? 0 : *at_++; }
  size_t below(size_t n) { return next() % n; }
  std::string_view take(size_t n) {
    n = std::min(n, static_cast<size_t>(end_ - at_));
    const std::string_view out(reinterpret_cast<const char*>(at_), n);
    at_ += n;
    return out;
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

// JSON as text, so that it may be no JSON.
class BodyWriter {
 public:
  BodyWriter(Bytes& bytes, const Json& document) : bytes_(bytes), document_(document) {}

  std::string fitting(const Json& schema, int depth = 0) {
    constexpr int kDeepest = 8;
    if (depth > kDeepest || bytes_.below(24) == 23) return hostile();
    if (const Json* reference = schema.find("$ref"))
      return fitting(resolve(reference->string()), depth + 1);
    if (const Json* value = schema.find("const")) return value->dump();
    for (const char* choice : {"enum", "anyOf"}) {
      const Json* list = schema.find(choice);
      if (!list) continue;
      const Json& one = list->items()[bytes_.below(list->items().size())];
      return *choice == 'e' ? one.dump() : fitting(one, depth + 1);
    }
    const Json* type = schema.find("type");
    if (type && type->is_array()) type = &type->items()[bytes_.below(type->items().size())];
    if (!type) return hostile();
    const std::string& name = type->string();
    if (name == "object") return object(schema, depth);
    if (name == "array") return array(schema, depth);
    if (name == "string") return text();
    if (name == "boolean") return bytes_.below(2) == 0 ? "true" : "false";
    if (name == "integer" || name == "number") return number(schema);
    return "null";
  }

 private:
  const Json& resolve(std::string_view reference) const {
    const std::string_view name = reference.substr(reference.rfind('/') + 1);
    const Json* found = document_.find("components")->find("schemas")->find(name);
    PUNA_CHECK(found != nullptr);
    return *found;
  }

  std::string hostile() {
    constexpr const char* kValues[] = {"null",
                                       "true",
                                       "0",
                                       "-1",
                                       "0.5",
                                       "-0.0",
                                       "1e999",
                                       "-1e999",
                                       "NaN",
                                       "1e-400",
                                       "9223372036854775807",
                                       "-9223372036854775808",
                                       "18446744073709551616",
                                       "2147483648",
                                       "4294967296",
                                       "\"\"",
                                       "\"\\ud800\"",
                                       "\"\\udc00x\"",
                                       "\"\\u0000\"",
                                       "\"\xff\"",
                                       "[]",
                                       "{}",
                                       "[[]]",
                                       "[null]",
                                       "{\"a\":1,\"a\":2}",
                                       "{\"\":{}}",
                                       "[0,\"a\",{}]",
                                       "[-1]",
                                       "[1e999]"};
    const size_t at = bytes_.below(std::size(kValues) + 3);
    if (at < std::size(kValues)) return kValues[at];
    if (at == std::size(kValues)) return text();
    const size_t n = bytes_.next();
    const bool lists = at == std::size(kValues) + 1;
    std::string out;
    for (size_t i = 0; i < n; ++i) out += lists ? "[" : "{\"a\":";
    out += "0";
    for (size_t i = 0; i < n; ++i) out += lists ? "]" : "}";
    return out;
  }
  std::string text() {
    constexpr const char* kWords[] = {"a",       "user",     "assistant", "system", "tool",
                                      "<|go|>",  "Sure.",    "low",       "5m",     "function",
                                      "weather", "thinking", "fake",      "\n"};
    const size_t at = bytes_.below(std::size(kWords) + 2);
    if (at < std::size(kWords)) return Json(kWords[at]).dump();
    const std::string_view raw = bytes_.take(bytes_.below(32));
    return at == std::size(kWords) ? Json(raw).dump() : "\"" + std::string(raw) + "\"";
  }
  std::string number(const Json& schema) {
    constexpr const char* kNumbers[] = {"0", "1", "2", "-1", "0.5", "7", "63", "64", "1000", "1e3"};
    const size_t at = bytes_.below(std::size(kNumbers) + 2);
    if (at < std::size(kNumbers)) return kNumbers[at];
    const Json* limit = schema.find(at == std::size(kNumbers) ? "minimum" : "maximum");
    return limit ? limit->dump() : "3";
  }
  std::string object(const Json& schema, int depth) {
    std::string out = "{";
    const auto add = [&](const std::string& name, const Json& value) {
      out += (out.size() > 1 ? "," : "") + Json(name).dump() + ":" + fitting(value, depth + 1);
    };
    const Json* members = schema.find("properties");
    const Json* required = schema.find("required");
    const bool whole = bytes_.below(8) > 0;
    for (size_t i = 0; whole && members && required && i < required->items().size(); ++i) {
      const std::string& name = required->items()[i].string();
      add(name, *members->find(name));
    }
    for (size_t n = bytes_.below(5); members && n > 0; --n) {
      const auto& [name, value] =
          members->members()[(bytes_.next() | bytes_.next() << 8) % members->members().size()];
      // A name that is there twice is possible, but not each time.
      if (out.find(Json(name).dump() + ":") == std::string::npos) add(name, value);
    }
    const Json* others = schema.find("additionalProperties");
    for (size_t n = others || !members ? bytes_.below(3) : bytes_.below(9) / 8; n > 0; --n)
      add(std::string(1, static_cast<char>('a' + n)), others ? *others : Json::object());
    return out + "}";
  }
  std::string array(const Json& schema, int depth) {
    const Json* items = schema.find("items");
    std::string out = "[";
    for (size_t n = bytes_.below(4); n > 0; --n)
      out += (out.size() > 1 ? "," : "") + (items ? fitting(*items, depth + 1) : hostile());
    return out + "]";
  }

  Bytes& bytes_;
  const Json& document_;
};

void check_refusal(api::Dialect dialect, const base::Error& error) {
  const int status = api::status_of(error.code);
  PUNA_CHECK(status >= 400 && status < 500);
  const std::string body = api::error_body(dialect, error).dump();
  PUNA_CHECK(base::utf8_is_valid(body) && Json::parse(body).has_value());
}

// Encoders of pictures and of sounds in one file: LLaVA's and Ultravox's of tests/encoders.
formats::ModelFile both_encoders() {
  formats::ModelFile file = service::test::wide_encoder();
  auto opened = base::run_until(
      formats::open_model(std::string("tests/encoders/ultravox.gguf"), formats::OpenOptions{}),
      [] {});
  PUNA_CHECK(opened.has_value());
  formats::ModelFile& hears = *opened;
  service::test::replace(hears, "mm.a.mlp.2.weight", {service::test::kWide, 32});
  const auto first_source = static_cast<uint32_t>(file.sources.size());
  for (auto& source : hears.sources) file.sources.push_back(std::move(source));
  for (formats::Tensor& tensor : hears.tensors) {
    tensor.source += first_source;
    file.tensors.push_back(std::move(tensor));
  }
  for (auto& [key, value] : hears.metadata) {
    if (key == "clip.projector_type") key = "clip.audio.projector_type";
    if (key == "clip.audio.projection_dim") value = uint64_t{service::test::kWide};
    if (key.starts_with("clip.") && !file.find(key))
      file.metadata.emplace_back(key, std::move(value));
  }
  file.index();
  return file;
}

service::LoadedModel model_with_senses() {
  service::LoadedModel out = service::test::seeing_model();
  service::SensesOptions options;
  options.n_threads = 1;
  const auto open = []() -> base::Task<base::Result<formats::ModelFile>> {
    co_return both_encoders();
  };
  auto senses = base::run_until(service::Senses::load(open, {}, std::move(options)), [] {});
  PUNA_CHECK(senses.has_value());
  out.senses = *std::move(senses);
  return out;
}

// Whether a file is more than a run of the fuzzer has time for, though a server would take it.
bool is_long(const service::MediaFile& file) {
  if (file.sense == models::Sense::kPictures) {
    media::PictureLimits limits;
    limits.max_pixels = 1 << 18;
    limits.max_side = 1 << 10;  // some kinds of models have it padded to a square
    const auto picture = media::decode_picture(file.bytes, limits);
    return !picture && picture.error().code == base::ErrorCode::kInvalidArgument;
  }
  media::SoundLimits limits;
  limits.max_seconds = 20;
  const auto sound = media::decode_sound(file.bytes, limits);
  return !sound && sound.error().code == base::ErrorCode::kInvalidArgument;
}

// Decodes, cuts and places the files of requests. False where that is not tried or a request is
// refused for them.
bool count_files(api::Dialect dialect, const service::LoadedModel& model,
                 std::vector<service::Request>& requests) {
  for (const service::Request& request : requests) {
    for (const service::PlacedMedia& media : request.media) {
      if (media.file && is_long(*media.file)) return false;
    }
  }
  const auto counted = service::count_media(model, requests);
  if (!counted) check_refusal(dialect, counted.error());
  return counted.has_value();
}

struct Served {
  explicit Served(service::LoadedModel loaded)
      : host(std::move(loaded), [](const std::function<void()>&) {}), source(named(host)) {
    source.acquire({}, [this](base::Result<api::ModelLease> lease) { model = *std::move(lease); });
  }
  static api::ServedModel named(service::Host& host) {
    api::ServedModel out;
    out.id = "fake";
    out.aliases = {"fake"};
    out.slot_folder = "nowhere";  // jobs are not run
    out.hosts = std::make_shared<service::Hosts>(host);
    return out;
  }

  service::HostHere host;
  api::OneModel source;
  api::ModelLease model;
};

constexpr size_t kMostBytes = 1 << 20;  // of a file

constexpr const char* kTemplate =
    "{% for t in tools or [] %}a{% endfor %}{% if enable_thinking %}a{% endif %}"
    "{% for m in messages %}{{ m.role }}{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>"
    "{{ c.function.arguments }}{% endfor %}{% endfor %}{% if add_generation_prompt %}<|go|>"
    "{% endif %}";

void check_reply(const api::HttpReply& reply) {
  PUNA_CHECK(base::utf8_is_valid(reply.body));
  if (reply.content_type == "application/json") PUNA_CHECK(Json::parse(reply.body).has_value());
}

// A text that the model would have written, as a stream or whole.
void check_writer(api::Texts& texts, Bytes& bytes) {
  const size_t n = texts.requests.size();
  service::Reply reply;
  reply.text = Json::parse(Json(bytes.take(16)).dump())->string();
  reply.stop_text = bytes.below(2) == 0 ? "" : "stop";
  if (!texts.stream) {
    check_reply(texts.writer->whole(std::vector(n, reply)));
    return;
  }
  std::string out = texts.writer->begin();
  for (size_t i = 0; i < n; ++i) {
    out += texts.writer->next(i, {.token = 8, .text = reply.text});
    out += texts.writer->end(i, reply);
  }
  out += bytes.below(2) == 0
             ? texts.writer->finish()
             : texts.writer->fail({base::ErrorCode::kDeviceLost, "It has gone.", {}});
  PUNA_CHECK(base::utf8_is_valid(out));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  base::set_log_sink([](base::LogLevel, std::string_view) {}, base::LogLevel::kWarning);
  static const Served kText(service::test::scripted_model(kTemplate));
  static const Served kEmbeddings([] {
    engine::EngineOptions options;
    options.embeddings = true;
    options.pooling = models::Pooling::kMean;
    return service::test::scripted_model(kTemplate, std::move(options));
  }());
  static const Served kSenses(model_with_senses());
  static const Json kDocument = server::openapi(server::routes(), "");
  Bytes bytes(data, size);
  const auto routes = server::routes();
  const server::Route& route = routes[bytes.below(routes.size())];
  const auto* endpoint = std::get_if<api::Endpoint>(&route.handler);
  const api::Description* about = server::description_of(route);
  if (!endpoint || !about) return 0;

  const size_t chosen = bytes.below(4);
  const Served& served = chosen == 0 ? kEmbeddings : chosen == 1 ? kText : kSenses;
  Json body;
  if (bytes.below(2) == 1) {
    const size_t which = bytes.next(), low = bytes.next(), n = low | size_t{bytes.next()} << 8;
    const std::string_view picture = bytes.take(n), any = bytes.take(kMostBytes);
    body = fuzz::media_body(route.path, picture, any, which);
  }
  if (body.is_null() && about->body.front()) {
    const Json* schema =
        kDocument.find("components")->find("schemas")->find(std::string(about->name) + "Request");
    auto parsed = Json::parse_strictly(BodyWriter(bytes, kDocument).fitting(*schema));
    if (!parsed) return check_refusal(route.dialect, parsed.error()), 0;
    body = *std::move(parsed);
  }
  api::HttpRequest http;
  http.method = route.method;
  http.path = route.path;
  constexpr const char* kValues[] = {"0", "fake", "-1", "99999999999", "", "save", "1", "\xff"};
  for (const char c : route.path) {
    if (c == '{') http.path_values.emplace_back(kValues[bytes.below(std::size(kValues))]);
  }
  for (const char* name : {"action", "fail_on_no_slot", "model"})
    http.query.emplace_back(name, kValues[bytes.below(std::size(kValues))]);

  const bool no_model = route.model == server::ModelName::kNone;
  auto exchange = (*endpoint)({http, body, no_model ? nullptr : served.model.get(), served.source});
  if (!exchange) return check_refusal(route.dialect, exchange.error()), 0;
  if (const auto* reply = std::get_if<api::HttpReply>(&*exchange)) check_reply(*reply);
  auto* texts = std::get_if<api::Texts>(&*exchange);
  if (!texts) return 0;
  PUNA_CHECK(!no_model && texts->writer != nullptr && !texts->requests.empty());
  if (!count_files(route.dialect, served.model->loaded(), texts->requests)) return 0;
  for (const service::Request& request : texts->requests) {
    const auto prepared = service::prepare(served.model->loaded(), request);
    if (!prepared) return check_refusal(route.dialect, prepared.error()), 0;
  }
  check_writer(*texts, bytes);
  return 0;
}
