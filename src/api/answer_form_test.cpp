#include "api/answer_form.h"

#include <doctest/doctest.h>

#include "api/answer_fields.h"
#include "api/sampling.h"
#include "service/testing/scripted_model.h"

using namespace puna;
using base::Json;
using Kind = service::AnswerForm::Kind;

namespace {

const service::LoadedModel& model() {
  static const service::LoadedModel kModel = service::test::scripted_model();
  return kModel;
}

base::Result<std::optional<service::AnswerForm>> form(const std::string& text) {
  static std::vector<Json> kept;  // bodies outlive what is read of them
  auto json = Json::parse(text);
  REQUIRE_MESSAGE(json.has_value(), text);
  kept.push_back(*json);
  auto body = api::Body::read(kept.back(), {api::answer_fields(), api::sampling_fields()});
  if (!body) return std::unexpected(body.error());
  auto preserved = api::read_preserved(*body, model());
  REQUIRE(preserved.has_value());
  return api::read_form(*body, model(), *preserved);
}

service::AnswerForm bound(const std::string& text) {
  const auto read = form(text);
  REQUIRE_MESSAGE(read.has_value(), read.error().text());
  REQUIRE_MESSAGE(read->has_value(), text);
  return **read;
}

}  // namespace

TEST_CASE("an answer is bound by each of the fields that say so") {
  CHECK_FALSE(form("{}")->has_value());
  CHECK_FALSE(form(R"({"response_format": {"type": "text"}, "grammar": ""})")->has_value());
  const auto grammar = bound(R"({"grammar": "root ::= \"a\""})");
  CHECK(grammar.kind == Kind::kGrammar);
  CHECK(grammar.text == "root ::= \"a\"");
  CHECK(bound(R"({"json_schema": {"type": "integer"}})").text == R"({"type":"integer"})");
  CHECK(bound(R"({"json_schema": true})").text == "true");
  CHECK(bound(R"({"response_format": {"type": "json_object"}})").text == R"({"type":"object"})");
  CHECK(
      bound(R"({"response_format": {"type": "json_object", "schema": {"type": "array"}}})").text ==
      R"({"type":"array"})");
  const auto named = bound(R"({"response_format": {"type": "json_schema",
      "json_schema": {"name": "n", "schema": {"const": 1}, "strict": true}}})");
  CHECK(named.text == R"({"const":1})");
  CHECK(named.strict);
  CHECK_FALSE(
      bound(R"({"response_format": {"type": "json_schema", "schema": {"const": 1}}})").strict);
}

TEST_CASE("what does not say what an answer is, or says it twice, is refused by name") {
  const auto refused = [](const std::string& text) {
    const auto read = form(text);
    REQUIRE_MESSAGE(!read.has_value(), text);
    return read.error().text();
  };
  CHECK(refused(R"({"response_format": {"type": "xml"}})").find("type") != std::string::npos);
  CHECK(refused(R"({"response_format": {}})").find("type") != std::string::npos);
  CHECK(refused(R"({"response_format": {"type": "json_schema"}})").find("schema") !=
        std::string::npos);
  CHECK(refused(R"({"response_format": "json"})").find("response_format") != std::string::npos);
  // What a text would not need is checked all the same.
  CHECK(refused(R"({"response_format": {"type": "text", "json_schema": {"strict": {}}}})")
            .find("strict") != std::string::npos);
  CHECK(refused(R"({"grammar": 1})").find("grammar") != std::string::npos);
  CHECK(refused(R"({"grammar": "root ::= \"a\"", "json_schema": {}})").find("json_schema") !=
        std::string::npos);
}

TEST_CASE("a grammar that waits for triggers has some, of the kinds that llama.cpp numbers") {
  using Trigger = grammar::Trigger;
  const auto lazy = bound(R"({"grammar": "root ::= \"a\"", "grammar_lazy": true,
      "preserved_tokens": ["<|20|>", "<tool_call>", "none such"], "grammar_triggers": [
      {"type": 0, "value": "<|20|>", "token": 20}, {"type": "token", "token": 3},
      {"type": 1, "value": "a"}, {"type": "pattern", "value": "[a-z]"}, {"type": 3, "value": ".*"}]})");
  CHECK(lazy.triggers == std::vector<Trigger>{{Trigger::Kind::kText, "<|20|>"},
                                              {Trigger::Kind::kText, "<tool_call>"},
                                              {Trigger::Kind::kText, "a"},
                                              {Trigger::Kind::kPattern, "[a-z]"},
                                              {Trigger::Kind::kPatternFull, ".*"}});
  CHECK(lazy.controls == std::vector<std::string>{"<|20|>"});
  CHECK(bound(R"({"grammar": "root ::= \"a\"", "grammar_triggers": [{"type": 1, "value": "a"}]})")
            .triggers.empty());
  const auto refused = [](const std::string& rest) {
    const auto read = form(R"({"grammar_lazy": true, )" + rest + "}");
    REQUIRE_MESSAGE(!read.has_value(), rest);
    return read.error().text();
  };
  CHECK(refused(R"("json_schema": {})").find("\"grammar\"") != std::string::npos);
  const std::string grammar = R"("grammar": "root ::= \"a\"")";
  CHECK(refused(grammar).find("grammar_triggers") != std::string::npos);
  for (const char* trigger : {R"({"type": 4, "value": "a"})", R"({"type": 1})", R"({"value": "a"})",
                              R"({"type": 0, "token": 99999})", "1"}) {
    CAPTURE(trigger);
    CHECK_FALSE(refused(grammar + R"(, "grammar_triggers": [)" + trigger + "]").empty());
  }
}
