#include "api/shape.h"

#include <string>

#include "base/check.h"

namespace puna::api {

using base::Json;

namespace {

// The parts between "|".
Json parts_of(std::string_view text) {
  Json out = Json::array();
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('|', at), text.size());
    out.push(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

Json schema_of_text(std::string_view text) {
  Json out = Json::object();
  if (text == "any") return out;
  if (text.starts_with('#'))
    return out.set("$ref", "#/components/schemas/" + std::string(text.substr(1)));
  const bool values = text.starts_with('=');
  Json parts = parts_of(values ? text.substr(1) : text);
  const bool one = parts.items().size() == 1;
  const char* key = values ? one ? "const" : "enum" : "type";
  if (one) return out.set(key, parts.items().front());
  return out.set(key, std::move(parts));
}

Json schema_of_json(const Json& shape) {
  if (shape.is_string()) return schema_of_text(shape.string());
  Json out = Json::object();
  if (shape.is_array()) {
    PUNA_CHECK(!shape.items().empty());
    const bool some = shape.items().front() == Json("+");
    PUNA_CHECK(!some || shape.items().size() == 2);
    if (some || shape.items().size() == 1) {
      out.set("type", "array").set("items", schema_of_json(shape.items().back()));
      return some ? out.set("minItems", 1) : out;
    }
    Json any = Json::array();
    for (const Json& each : shape.items()) any.push(schema_of_json(each));
    return out.set("anyOf", std::move(any));
  }
  PUNA_CHECK(shape.is_object());
  Json members = Json::object(), required = Json::array();
  out.set("type", "object");
  for (const auto& [key, value] : shape.members()) {
    if (key == "*") {
      out.set("additionalProperties", schema_of_json(value));
    } else if (key.ends_with('?')) {
      members.set(key.substr(0, key.size() - 1), schema_of_json(value));
    } else {
      members.set(key, schema_of_json(value));
      required.push(key);
    }
  }
  if (!members.members().empty()) out.set("properties", std::move(members));
  if (!required.items().empty()) out.set("required", std::move(required));
  return out;
}

}  // namespace

Json schema_of(std::string_view shape) {
  const auto json = Json::parse(shape);
  PUNA_CHECK(json.has_value());
  return schema_of_json(*json);
}

}  // namespace puna::api
