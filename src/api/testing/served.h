// A served model for tests of endpoints, and reads of what they give. Its host runs nothing: a test
// hands writers what a model would have brought.
#pragma once

#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/exchange.h"
#include "api/fields.h"
#include "service/host_here.h"
#include "service/testing/fake_model.h"
#include "service/testing/scripted_model.h"

namespace puna::api::test {

// What jobs are told of clients that stay.
inline const std::atomic<bool> kStays{false};

// "fake" and "Other:1b".
struct Served {
  // Without a vocabulary; service::test::scripted_model() has one.
  explicit Served(service::LoadedModel loaded = service::test::fake_model().model)
      : host(std::move(loaded), [](const std::function<void()>&) {}), source(named(host)) {
    source.acquire({}, [this](base::Result<ModelLease> lease) { model = *std::move(lease); });
  }

  base::Result<Exchange> ask(Endpoint endpoint, std::string_view body,
                             std::vector<std::string> path_values = {}) {
    const base::Json json = body.empty() ? base::Json() : *base::Json::parse(body);
    HttpRequest http;
    http.path_values = std::move(path_values);
    return endpoint({http, json, model.get(), source});
  }

  static ServedModel named(service::Host& host) {
    ServedModel out;
    out.id = "fake";
    out.aliases = {"fake", "Other:1b"};
    out.file_name = "fake-q8_0";
    out.created = 7;
    out.hosts = std::make_shared<service::Hosts>(host);
    return out;
  }

  service::HostHere host;
  OneModel source;
  ModelLease model;
};

// A prompt of ten tokens, four of which were known, is read so far.
inline service::Event prompt_event(uint32_t n_read) {
  service::Event out;
  out.prompt = {.n_tokens = 10, .n_cached = 4, .n_read = n_read, .ms = n_read * 10.5};
  return out;
}
// The n-th token of an answer, after so much time.
inline service::Event token_event(int32_t token, std::string text, uint32_t n, double ms) {
  service::Event out{.token = token, .text = std::move(text)};
  out.n_tokens = n;
  out.ms = ms;
  return out;
}
// Tells the writer of texts what they are written from, as a server does.
inline void set_prompts(Served& served, Texts& texts) {
  for (size_t i = 0; i < texts.requests.size(); ++i) {
    const auto prepared = service::prepare(served.model->loaded(), texts.requests[i]);
    REQUIRE_MESSAGE(prepared.has_value(), prepared.error().text());
    texts.writer->set_prompt(i, *prepared);
  }
}

inline Texts texts_of(base::Result<Exchange> exchange) {
  REQUIRE_MESSAGE(exchange.has_value(), exchange.error().text());
  REQUIRE(std::holds_alternative<Texts>(*exchange));
  return std::get<Texts>(*std::move(exchange));
}
inline base::Json body_of(const HttpReply& reply) {
  const auto json = base::Json::parse(reply.body);
  REQUIRE_MESSAGE(json.has_value(), reply.body);
  return *json;
}
inline base::Json body_of(const base::Result<Exchange>& exchange) {
  REQUIRE_MESSAGE(exchange.has_value(), exchange.error().text());
  REQUIRE(std::holds_alternative<HttpReply>(*exchange));
  return body_of(std::get<HttpReply>(*exchange));
}

// What stands behind "data: " of each frame.
inline std::vector<base::Json> chunks_of(const std::string& frames) {
  std::vector<base::Json> out;
  constexpr std::string_view kData = "data: ";
  for (size_t at = 0; at < frames.size();) {
    REQUIRE(frames.compare(at, kData.size(), kData) == 0);
    const size_t end = frames.find("\n\n", at);
    REQUIRE(end != std::string::npos);
    const std::string text = frames.substr(at + kData.size(), end - at - kData.size());
    out.push_back(text == "[DONE]" ? base::Json("[DONE]") : *base::Json::parse(text));
    at = end + 2;
  }
  return out;
}

// By keys and, in lists, indices: at(json, "choices", 0, "delta").
inline const base::Json& at(const base::Json& json) { return json; }
const base::Json& at(base::Json&& json) = delete;  // it would be gone
template <class... More>
const base::Json& at(const base::Json& json, int index, More... more);
template <class... More>
const base::Json& at(const base::Json& json, const char* key, More... more) {
  const base::Json* value = json.find(key);
  REQUIRE_MESSAGE(value != nullptr, key << " of " << json.dump());
  return at(*value, more...);
}
template <class... More>
const base::Json& at(const base::Json& json, int index, More... more) {
  REQUIRE_MESSAGE(json.is_array(), json.dump());
  REQUIRE(static_cast<size_t>(index) < json.items().size());
  return at(json.items()[static_cast<size_t>(index)], more...);
}

inline service::Reply reply_of(std::string text,
                               engine::StopReason stop = engine::StopReason::kEnd) {
  service::Reply reply;
  reply.text = std::move(text);
  reply.stats = {.n_prompt = 6, .n_cached = 4, .n_generated = 5, .prompt_ms = 60, .decode_ms = 40};
  reply.stats.stop = stop;
  return reply;
}

// Whatever stands in a field is refused by name unless its row allows it, numbers out of range too.
// `body` is a request of the endpoint that is fine.
inline void check_fields(Served& served, Endpoint endpoint, const base::Json& body,
                         FieldTables tables) {
  const auto refusal = [&](const Field& field, base::Json value) {
    base::Json changed = body;
    changed.set(std::string(field.name), std::move(value));
    const auto exchange = served.ask(endpoint, changed.dump());
    CAPTURE(changed.dump());
    REQUIRE_FALSE(exchange.has_value());
    CHECK(status_of(exchange.error().code) == 400);
    CHECK(exchange.error().message.find("\"" + std::string(field.name) + "\"") !=
          std::string::npos);
  };
  for (const std::span<const Field> table : tables) {
    for (const Field& field : table) {
      using Kind = Field::Kind;
      if (field.effect == Field::Effect::kNone) continue;
      if (field.effect == Field::Effect::kRefused) {
        refusal(field, "x");
        if (field.harmless.empty()) continue;
        base::Json changed = body;
        changed.set(std::string(field.name), *base::Json::parse(field.harmless));
        CHECK_MESSAGE(served.ask(endpoint, changed.dump()).has_value(), field.name);
        continue;
      }
      if (field.kind == Kind::kAny) continue;
      refusal(field, field.kind == Kind::kText || field.kind == Kind::kTexts ? base::Json(1)
                                                                             : base::Json("x"));
      if (field.kind != Kind::kNumber && field.kind != Kind::kInteger) continue;
      if (field.kind == Kind::kInteger) refusal(field, 0.5);
      for (const double beyond : {field.least - 1, field.most + 1}) {
        if (beyond > -1e15 && beyond < 1e15) refusal(field, static_cast<int64_t>(beyond));
      }
    }
  }
}

}  // namespace puna::api::test
