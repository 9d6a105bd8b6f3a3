#include "api/fields.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "api/answer_fields.h"
#include "api/llama/completion.h"
#include "api/llama/embeddings.h"
#include "api/llama/infill.h"
#include "api/llama/rerank.h"
#include "api/openai/chat_request.h"
#include "api/openai/completions.h"
#include "api/openai/embeddings.h"
#include "api/sampling.h"
#include "base/log.h"

using namespace puna;
using namespace puna::api;
using base::ErrorCode;
using base::Json;
using Kind = Field::Kind;
using Effect = Field::Effect;

namespace {

constexpr Field kTestedFields[] = {
    {"name", Kind::kText, ""},
    {"on", Kind::kFlag, ""},
    {"much", Kind::kNumber, "", 0, 2},
    {"many", Kind::kInteger, "", -1, 10},
    {"ends", Kind::kTexts, ""},
    {"list", Kind::kList, ""},
    {"object", Kind::kObject, ""},
    {"any", Kind::kAny, ""},
    Field{"side", Kind::kText, ""}.one_of("left|right|up or down"),
    {.name = "nothing", .about = "", .effect = Effect::kNone},
    {.name = "later", .about = "not yet.", .effect = Effect::kRefused, .harmless = "1"},
};

base::Error error_of(const Json& json, FieldTables tables) {
  const auto body = Body::read(json, tables);
  REQUIRE_MESSAGE(!body.has_value(), json.dump());
  return body.error();
}

Json one(std::string_view name, Json value) {
  return Json::object().set(std::string(name), std::move(value));
}

Json number_field(const Field& field, double value) {
  if (field.kind == Kind::kNumber) return one(field.name, value);
  return one(field.name, static_cast<int64_t>(value));
}

// Of every kind of JSON.
const Json kValues[] = {Json("x"),     Json(true), Json(1), Json(0.5), Json::array().push(1),
                        Json::object()};

bool may_be(const Field& field, const Json& value) {
  switch (field.kind) {
    case Kind::kText:
      return value.is_string() && field.values.empty();  // "x" is none of any
    case Kind::kFlag:
      return value.is_bool();
    case Kind::kNumber:
      return value.is_number();
    case Kind::kInteger:
      return value.is_integer();
    case Kind::kTexts:
      return value.is_string();
    case Kind::kList:
      return value.is_array();
    case Kind::kObject:
      return value.is_object();
    case Kind::kAny:
      return true;
  }
  return false;
}

// Whatever stands in a field is taken or refused as its row says, with its name.
void check_rows(std::span<const Field> table) {
  for (const Field& field : table) {
    CAPTURE(field.name);
    CHECK(Body::read(one(field.name, Json()), {table}).has_value());
    for (const Json& value : kValues) {
      CAPTURE(value.dump());
      const auto body = Body::read(one(field.name, value), {table});
      const bool refused = field.effect == Effect::kRefused && value.dump() != field.harmless;
      const bool expected = !refused && (field.effect != Effect::kMeant || may_be(field, value));
      // Ranges are looked at below.
      if (expected && value.is_number() && !body) continue;
      CHECK(body.has_value() == expected);
      if (body) continue;
      CHECK(body.error().message.find(std::string(field.name)) != std::string::npos);
      CHECK(body.error().code == (refused ? ErrorCode::kUnsupported : ErrorCode::kInvalidArgument));
    }
    if (field.effect != Effect::kMeant) continue;
    if (field.kind != Kind::kNumber && field.kind != Kind::kInteger) continue;
    for (const double beyond : {field.least - 1, field.most + 1}) {
      if (beyond < -1e15 || beyond > 1e15) continue;
      CHECK(error_of(number_field(field, beyond), {table}).code == ErrorCode::kInvalidArgument);
    }
  }
}

}  // namespace

TEST_CASE("each row of a table takes what it says and refuses all else by name") {
  check_rows(kTestedFields);
  check_rows(sampling_fields());
  check_rows(answer_fields());
  check_rows(llama::completion_fields());
  check_rows(llama::embedding_fields());
  check_rows(llama::infill_fields());
  check_rows(llama::rerank_fields());
  check_rows(openai::chat_fields());
  check_rows(openai::completion_fields());
  check_rows(openai::embedding_fields());
}

TEST_CASE("two names of one thing that differ are told of") {
  constexpr Field kNames[] = {
      {"most", Kind::kInteger, ""},
      Field{"at_most", Kind::kInteger, ""}.same("most"),
      Field{"limit", Kind::kInteger, ""}.same("most"),
      {"other", Kind::kInteger, ""},
  };
  std::vector<std::string> told;
  base::set_log_sink([&](base::LogLevel, std::string_view line) { told.emplace_back(line); },
                     base::LogLevel::kInfo);
  const auto lines = [&](const char* json) {
    told.clear();
    REQUIRE(Body::read(*Json::parse(json), {kNames}).has_value());
    return told.size();
  };
  CHECK(lines(R"({"most": 1, "other": 2})") == 0);
  CHECK(lines(R"({"most": 1, "at_most": 1, "limit": 1})") == 0);
  CHECK(lines(R"({"at_most": null, "limit": 1, "most": 1})") == 0);
  CHECK(lines(R"({"limit": 1, "at_most": 2})") == 1);
  CHECK(told[0].find("\"limit\" and \"at_most\"") != std::string::npos);
  CHECK(lines(R"({"most": 1, "at_most": 2, "limit": 3})") == 2);
  base::set_log_sink(nullptr, base::LogLevel::kWarning);
}

TEST_CASE("what is read is what stands there, and what is not given or null is missing") {
  const Json json = *Json::parse(R"({"name": "a", "on": false, "much": 2, "many": -1, "ends": "x",
                                     "list": null, "unheard_of": 1})");
  const auto body = Body::read(json, {kTestedFields});
  REQUIRE(body.has_value());
  CHECK(body->text("name") == "a");
  CHECK(body->flag("on") == false);
  CHECK(body->number("much") == 2);
  CHECK(body->integer("many") == -1);
  CHECK(body->texts("ends") == std::vector<std::string>{"x"});
  CHECK(Body::read(one("many", 4.0), {kTestedFields})->integer("many") == 4);
  CHECK_FALSE(Body::read(one("many", 4.5), {kTestedFields}).has_value());
  CHECK_FALSE(body->has("list"));
  CHECK_FALSE(body->has("object"));
  // Nothing has been checked of what has no effect, so nothing is read of it.
  CHECK_FALSE(body->has("unheard_of"));
  CHECK(error_of(Json::array(), {kTestedFields}).message ==
        "The request has to be a JSON object; it is of type array.");
  CHECK(error_of(one("much", 2.5), {kTestedFields}).message ==
        "The field \"much\" is 2.5, but has to be a number from 0 to 2.");
  for (const char* side : {"lef", "left|right", "", "|"}) {
    CHECK(error_of(one("side", side), {kTestedFields}).message ==
          fmt::format("The field \"side\" is \"{}\", but has to be left, right or up or down.",
                      side));
  }
  for (const char* side : {"left", "right", "up or down"})
    CHECK(Body::read(one("side", side), {kTestedFields}).has_value());
  CHECK(error_of(one("later", 2), {kTestedFields}).message ==
        "The field \"later\" is not supported: not yet.");
}
