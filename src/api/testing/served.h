// A served model for tests of endpoints, what they make of a body, and what their tables refuse.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/exchange.h"
#include "api/fields.h"
#include "service/host_here.h"
#include "service/testing/scripted_model.h"

namespace puna::api::test {

// Shows tools, the switch and the levels of thinking, and what messages say: a token for each "a".
constexpr const char* kTalks =
    "{% for t in tools or [] %}a{% endfor %}{% if enable_thinking %}a{% endif %}"
    "{% if reasoning_effort == 'high' %}aa{% endif %}"
    "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>"
    "{% endfor %}{% endfor %}{% if add_generation_prompt %}<|go|>{% endif %}";
// Shows what messages say and nothing else; its models neither think nor call.
constexpr const char* kPlain =
    "{% for m in messages %}{{ m.content }}{% endfor %}{% if add_generation_prompt %}<|go|>"
    "{% endif %}";

inline ServedModel served_model(service::Host& host) {
  ServedModel out;
  out.id = "scripted";
  out.aliases = {"other:1b", "scripted"};
  out.created = 86400;
  out.digest = "0123abcd";
  out.file_bytes = 1234;
  out.host = &host;
  return out;
}

// Under two names.
struct Served {
  explicit Served(const char* chat_template = kTalks)
      : Served(service::test::scripted_model(chat_template)) {}
  explicit Served(service::LoadedModel loaded)
      : host(std::move(loaded), [](const std::function<void()>&) {}),
        model(served_model(host)),
        source(model) {}

  base::Result<Exchange> ask(Endpoint endpoint, const base::Json& body) {
    HttpRequest http;
    return endpoint({http, body, &model, source});
  }
  Texts texts(Endpoint endpoint, const base::Json& body) {
    auto exchange = ask(endpoint, body);
    REQUIRE_MESSAGE(exchange.has_value(), exchange.error().text());
    return std::get<Texts>(*std::move(exchange));
  }
  HttpReply reply(Endpoint endpoint, const base::Json& body) {
    auto exchange = ask(endpoint, body);
    REQUIRE_MESSAGE(exchange.has_value(), exchange.error().text());
    return std::get<HttpReply>(*std::move(exchange));
  }
  base::Error error(Endpoint endpoint, const base::Json& body) {
    auto exchange = ask(endpoint, body);
    REQUIRE_MESSAGE(!exchange.has_value(), body.dump());
    return exchange.error();
  }

  service::HostHere host;
  ServedModel model;
  OneModel source;
};

inline base::Json json(std::string_view text) {
  auto out = base::Json::parse(text);
  REQUIRE_MESSAGE(out.has_value(), text);
  return *std::move(out);
}

// The member at a path of keys and numbers: "message/content/0".
inline const base::Json& at(const base::Json& json, std::string_view path) {
  const base::Json* here = &json;
  while (!path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    const std::string key(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
    if (here->is_array()) {
      const size_t i = std::stoul(key);
      REQUIRE_MESSAGE(i < here->items().size(), key << " of " << json.dump());
      here = &here->items()[i];
    } else {
      here = here->find(key);
      REQUIRE_MESSAGE(here != nullptr, key << " of " << json.dump());
    }
  }
  return *here;
}

// `body` with another value in a member at a path of keys.
inline base::Json with(base::Json body, std::string_view path, base::Json value) {
  const size_t end = path.find('/');
  const std::string key(path.substr(0, end));
  if (end == std::string_view::npos) return body.set(key, std::move(value));
  const base::Json* inner = body.find(key);
  return body.set(
      key, with(inner ? *inner : base::Json::object(), path.substr(end + 1), std::move(value)));
}

// What a row refuses: values of other types, and beyond its range. Without null, which is nowhere
// an error.
inline std::vector<base::Json> wrong_values(const Field& field) {
  using base::Json;
  using Kind = Field::Kind;
  std::vector<Json> out;
  if (field.effect == Field::Effect::kNone) return out;
  if (field.effect == Field::Effect::kRefused) {
    for (const Json& value : {Json("x"), Json(true), Json(7), Json::object().set("type", "x")}) {
      if (value.dump() != field.harmless) out.push_back(value);
    }
    return out;
  }
  const auto add_unless = [&](bool possible, Json value) {
    if (!possible) out.push_back(std::move(value));
  };
  const Kind kind = field.kind;
  if (kind == Kind::kAny) return out;
  add_unless(kind == Kind::kText || kind == Kind::kTexts, "x");
  add_unless(kind == Kind::kFlag, true);
  add_unless(kind == Kind::kNumber || kind == Kind::kInteger, 1);
  add_unless(kind == Kind::kNumber, 0.5);
  add_unless(kind == Kind::kList, Json::array().push(1));
  add_unless(kind == Kind::kObject, Json::object());
  if (kind != Kind::kNumber && kind != Kind::kInteger) return out;
  constexpr double kExact = 1e15;  // beyond it a neighbour is the same number
  for (const double beyond : {field.least - 1, field.most + 1}) {
    if (beyond < -kExact || beyond > kExact) continue;
    out.push_back(kind == Kind::kNumber ? Json(beyond) : Json(static_cast<int64_t>(beyond)));
  }
  return out;
}

// Every row of a table, in place of what a body that is served has at a path ("options/"), is
// refused by its name where it is wrong.
inline void check_refusals(Served& served, Endpoint endpoint, const base::Json& body,
                           std::span<const Field> table, std::string_view path = "") {
  for (const Field& field : table) {
    for (const base::Json& value : wrong_values(field)) {
      const auto asked = with(body, std::string(path) + std::string(field.name), value);
      CAPTURE(asked.dump());
      const auto exchange = served.ask(endpoint, asked);
      CHECK_FALSE(exchange.has_value());
      if (exchange) continue;
      CHECK(status_of(exchange.error().code) == 400);
      CHECK(exchange.error().message.find(field.name) != std::string::npos);
    }
  }
}

}  // namespace puna::api::test
