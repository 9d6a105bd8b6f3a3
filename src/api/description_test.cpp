#include "api/description.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "api/shape.h"
#include "api/testing/talks.h"

using namespace puna::api;
using namespace puna::api::test;
using puna::base::Json;

namespace {

Json shape_named(std::string_view name) {
  for (const Descriptions& each : descriptions()) {
    const auto found = std::ranges::find(each.shapes, name, &NamedShape::name);
    if (found != each.shapes.end()) return schema_of(found->shape);
  }
  FAIL("There is no shape ", std::string(name));
  return {};
}

bool is_type(const Json& value, std::string_view type) {
  return type == value.type_name() || (type == "number" && value.is_number());
}

// What is wrong with a value by what schema_of() writes; empty: nothing.
std::string fault(const Json& schema, const Json& value, const std::string& where) {
  const auto wrong = [&] {
    return fmt::format("{} is {}, not {}", where, value.dump(), schema.dump());
  };
  if (const Json* reference = schema.find("$ref")) {
    const std::string& path = reference->string();
    return fault(shape_named(path.substr(path.rfind('/') + 1)), value, where);
  }
  if (const Json* text = schema.find("const")) return *text == value ? "" : wrong();
  if (const Json* texts = schema.find("enum"))
    return std::ranges::find(texts->items(), value) != texts->items().end() ? "" : wrong();
  if (const Json* any = schema.find("anyOf")) {
    const auto fits = [&](const Json& each) { return fault(each, value, where).empty(); };
    return std::ranges::any_of(any->items(), fits) ? "" : wrong();
  }
  const Json* type = schema.find("type");
  if (!type) return "";
  const auto is_it = [&](const Json& each) { return is_type(value, each.string()); };
  if (type->is_array() ? std::ranges::none_of(type->items(), is_it) : !is_it(*type)) return wrong();
  if (const Json* items = schema.find("items")) {
    for (const Json& each : value.items()) {
      if (auto out = fault(*items, each, where + "[]"); !out.empty()) return out;
    }
  }
  if (const Json* required = schema.find("required")) {
    for (const Json& name : required->items()) {
      if (!value.find(name.string())) return fmt::format("{} has no {}", where, name.string());
    }
  }
  if (!value.is_object()) return "";
  const Json* members = schema.find("properties");
  for (const auto& [name, member] : value.members()) {
    const Json* known = members ? members->find(name) : nullptr;
    if (!known) known = schema.find("additionalProperties");
    if (!known) continue;
    if (auto out = fault(*known, member, where + "." + name); !out.empty()) return out;
  }
  return "";
}

const Description& described(std::string_view name) {
  for (const Descriptions& each : descriptions()) {
    const auto found = std::ranges::find(each.rows, name, &Description::name);
    if (found != each.rows.end()) return *found;
  }
  FAIL("There is no description ", std::string(name));
  return descriptions().front().rows.front();
}

}  // namespace

TEST_CASE("answers are as they are described") {
  Talks talks;
  constexpr const char* kMessages = R"("messages":[{"role":"user","content":"a"}])";
  const std::pair<const char*, std::string> cases[] = {
      {"ModelList", ""},
      {"OneModel", ""},
      {"ChatCompletion", fmt::format("{{{}}}", kMessages)},
      {"ChatCompletion", fmt::format(R"({{{},"logprobs":true,"n":2}})", kMessages)},
      {"ChatInputTokens", fmt::format("{{{}}}", kMessages)},
      {"ChatControl", R"({"id":"x","action":"reasoning_end"})"},
      {"Response", R"({"input":"a"})"},
      {"ResponseInputTokens", R"({"input":"a"})"},
      {"Completion", R"({"prompt":"a","logprobs":2,"return_tokens":true})"},
      {"Message", fmt::format(R"({{{},"max_tokens":3}})", kMessages)},
      {"MessageTokens", fmt::format("{{{}}}", kMessages)},
      {"TextCompletion", R"({"prompt":"a"})"},
      {"TextCompletion", R"({"prompt":["a","a"],"n_probs":1})"},
      {"TextCompletion", R"({"prompt":"a","response_fields":["generation_settings/stop"]})"},
      {"Tokens", R"({"content":"a"})"},
      {"Tokens", R"({"content":"a","with_pieces":true})"},
      {"Detokenized", R"({"tokens":[8]})"},
      {"RenderedPrompt", fmt::format("{{{}}}", kMessages)},
      {"Props", ""},
      {"Slots", ""},
      {"Version", ""},
      {"Tags", ""},
      {"Running", ""},
      {"Chat", fmt::format(R"({{"model":"fake","stream":false,{}}})", kMessages)},
      {"Chat", R"({"model":"fake","stream":false})"},
      {"Generated", R"({"model":"fake","prompt":"a","stream":false,"logprobs":true})"},
      {"Shown", R"({"model":"fake","verbose":true})"},
  };
  for (const auto& [name, body] : cases) {
    CAPTURE(name);
    CAPTURE(body);
    const Description& about = described(name);
    auto exchange = talks.ask(about.endpoint, body, {"fake"});
    REQUIRE_MESSAGE(exchange.has_value(), exchange.error().text());
    auto* texts = std::get_if<Texts>(&*exchange);
    puna::service::Reply written = reply_of("Sure.");
    written.tokens = {2};
    written.chosen = {{2, -0.5f, {{2, -0.5f}}}};
    const HttpReply reply = texts
                                ? texts->writer->whole(std::vector(texts->requests.size(), written))
                                : std::get<HttpReply>(*exchange);
    CHECK(fault(schema_of(about.answer), body_of(reply), "answer") == "");
  }
}

TEST_CASE("streams are as they are described") {
  Talks talks;
  constexpr const char* kBodies[] = {
      R"({"stream":true,"messages":[{"role":"user","content":"a"}],"logprobs":true,)"
      R"("stream_options":{"include_usage":true},"prompt":"a","max_tokens":3,"model":"fake"})",
      R"({"stream":true,"messages":[{"role":"user","content":"a"}],)"
      R"("prompt":"a","max_tokens":3,"model":"fake","n_probs":0})",
      R"({"stream":true,"input":"a"})"};
  size_t n = 0;
  for (const char* name :
       {"ChatCompletion", "Response", "Message", "TextCompletion", "Chat", "Generated"}) {
    CAPTURE(name);
    const Description& about = described(name);
    const size_t which = about.name == "ChatCompletion" ? 0 : about.name == "Response" ? 2 : 1;
    Texts texts = texts_of(talks.ask(about.endpoint, kBodies[which]));
    std::string out = texts.writer->begin();
    out +=
        texts.writer->next(0, {.token = 2, .text = "Sure.", .logprob = -0.5f, .top = {{2, -0.5f}}});
    out += texts.writer->end(0, reply_of("Sure."));
    out += texts.writer->finish();
    for (size_t at = 0; at < out.size();) {
      const size_t end = std::min(out.find('\n', at), out.size());
      std::string line = out.substr(at, end - at);
      at = end + 1;
      if (line.starts_with("data: ")) line.erase(0, 6);
      if (!line.starts_with('{')) continue;
      ++n;
      CHECK(fault(schema_of(about.frame), json(line), "frame") == "");
    }
  }
  CHECK(n > 10);
}

TEST_CASE("a body without a required field is refused by its name") {
  Talks talks;
  size_t n = 0;
  for (const Descriptions& dialect : descriptions()) {
    for (const Description& about : dialect.rows) {
      for (const Field& field : rows_of(about.body)) {
        if (!field.required) continue;
        ++n;
        CAPTURE(about.name);
        CAPTURE(field.name);
        Json body = Json::object();
        for (const Field& other : rows_of(about.body)) {
          if (!other.required || other.name == field.name) continue;
          const std::string_view value = other.values.substr(0, other.values.find('|'));
          body.set(std::string(other.name), other.kind == Field::Kind::kInteger ? Json(1)
                                            : other.kind == Field::Kind::kList
                                                ? json(R"([{"role":"user","content":"a"}])")
                                                : Json(value.empty() ? "a" : value));
        }
        const auto exchange = talks.ask(about.endpoint, body.dump());
        REQUIRE_FALSE(exchange.has_value());
        CHECK(status_of(exchange.error().code) == 400);
        // A model that cannot write in between says so first.
        if (about.name == "Infill") continue;
        CHECK(exchange.error().message.find(field.name) != std::string::npos);
      }
    }
  }
  CHECK(n > 10);
}
