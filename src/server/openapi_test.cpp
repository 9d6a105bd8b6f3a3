#include "server/openapi.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "server/front.h"

namespace puna::server {
namespace {

using base::Json;

// Where a "#/a/b" leads; null: nowhere.
const Json* look_up(const Json& document, std::string_view reference) {
  const Json* at = &document;
  reference.remove_prefix(2);
  while (at && !reference.empty()) {
    const size_t end = std::min(reference.find('/'), reference.size());
    at = at->find(reference.substr(0, end));
    reference.remove_prefix(std::min(end + 1, reference.size()));
  }
  return at;
}

void check_references(const Json& document, const Json& json) {
  if (json.is_array()) {
    for (const Json& each : json.items()) check_references(document, each);
  }
  if (!json.is_object()) return;
  for (const auto& [key, value] : json.members()) {
    if (key == "$ref") CHECK_MESSAGE(look_up(document, value.string()), value.string());
    check_references(document, value);
  }
}

// Of a server with a key, to a client without one.
std::optional<api::HttpReply> look(std::string target) {
  Options options;
  options.api_keys = {"secret"};
  Front front(std::make_shared<Core>(options), routes());
  Incoming incoming;
  incoming.http.method = "GET";
  incoming.target = std::move(target);
  incoming.peer.is_unix = true;
  return front.check(incoming);
}

}  // namespace

TEST_CASE("every route says what its endpoint is for, what it reads and what it gives") {
  for (const Route& route : routes()) {
    CAPTURE(route.path);
    const api::Description* about = description_of(route);
    REQUIRE(about != nullptr);
    CHECK(about->summary.ends_with('.'));
    CHECK((about->may_lack || about->never || !about->answer.empty() || route.method == "DELETE"));
    CHECK((about->frames == api::Frames::kNone) == about->frame.empty());
    const bool reads = about->body.front() != nullptr;
    if (route.model == ModelName::kBody) CHECK((reads || about->may_lack));
  }
}

TEST_CASE("the description has every route, and nothing in it is missing or twice") {
  const Json document = openapi(routes(), "");
  check_references(document, document);
  std::set<std::string> ids;
  size_t n = 0;
  for (const auto& [path, methods] : document.find("paths")->members()) {
    CHECK(path.find("...") == std::string::npos);
    for (const auto& [method, operation] : methods.members()) {
      ++n;
      ids.insert(operation.find("operationId")->string());
      CHECK(operation.find("responses")->members().size() > 1);
    }
  }
  CHECK(n == routes().size());
  CHECK(ids.size() == n);
}

TEST_CASE("fields are described with all that their rows say") {
  const Json document = openapi(routes(), "/llm");
  CHECK(*look_up(document, "#/servers") == *Json::parse(R"([{"url":"/llm"}])"));
  const Json& request = *look_up(document, "#/components/schemas/ChatCompletionRequest");
  CHECK(*request.find("required") == *Json::parse(R"(["messages"])"));
  const auto field = [&](std::string_view name) {
    const Json* found = request.find("properties")->find(name);
    REQUIRE_MESSAGE(found != nullptr, name);
    return *found;
  };
  CHECK(field("n").dump() ==
        R"({"anyOf":[{"type":"integer","minimum":1,"maximum":16},{"type":"null"}],)"
        R"("description":"Answers to each prompt.","default":1})");
  CHECK(field("temperature").find("default")->number() == doctest::Approx(0.8));
  CHECK(field("reasoning_effort").find("anyOf")->items()[0].find("enum")->items().size() == 7);
  CHECK(*field("user").find("x-puna-effect") == Json("none"));
  CHECK(field("user").find("type") == nullptr);
  CHECK(*field("lora").find("x-puna-effect") == Json("refused"));
  CHECK(*field("lora").find("enum") == *Json::parse(R"([null,[]])"));
  const Json& options = *look_up(document, "#/components/schemas/ChatRequest/properties/options");
  const Json& members = *options.find("anyOf")->items()[0].find("properties");
  // The row of Ollama comes before that of sampling.
  CHECK(*members.find("repeat_last_n")->find("anyOf")->items()[0].find("minimum") == Json(-1));
  CHECK(members.find("top_k") != nullptr);
  const Json& answers = *document.find("paths")->find("/api/chat")->find("post")->find("responses");
  CHECK(answers.find("200")->find("content")->find("application/x-ndjson")->dump() ==
        R"({"x-puna-frame":{"$ref":"#/components/schemas/ChatFrame"}})");
  CHECK(answers.find("401")->dump() == R"({"$ref":"#/components/responses/Ollama401"})");
}

TEST_CASE("the description is answered without a key, while no model is there") {
  const auto reply = look("/openapi.json");
  REQUIRE(reply.has_value());
  CHECK(reply->status == 200);
  const auto json = Json::parse(reply->body);
  REQUIRE(json.has_value());
  CHECK(*json->find("openapi") == Json("3.1.0"));
}

TEST_CASE("many who ask for the description at once get the same, which is made for the first") {
  auto core = std::make_shared<Core>(Options{});
  Front front(core, routes());
  std::vector<std::string> bodies(8);
  {
    std::vector<std::jthread> clients;
    for (std::string& body : bodies) {
      clients.emplace_back([&] {
        Incoming incoming;
        incoming.http.method = "GET";
        incoming.target = "/openapi.json";
        incoming.peer.is_unix = true;
        if (auto reply = front.check(incoming)) body = std::move(reply->body);
      });
    }
  }
  const std::string expected = openapi(routes(), "").dump();
  for (const std::string& body : bodies) CHECK(body == expected);
}

TEST_CASE("what a path cannot be read from is refused in the form of its dialect") {
  constexpr std::pair<const char*, api::Dialect> kCases[] = {
      {"/v1/models/%05", api::Dialect::kOpenAi},
      {"/v1/messages?a=%00", api::Dialect::kAnthropic},
      {"/api/blobs/%zz", api::Dialect::kOllama},
      {"/slots?a=%", api::Dialect::kLlama},
  };
  for (const auto& [target, dialect] : kCases) {
    const auto reply = look(target);
    REQUIRE(reply.has_value());
    CHECK(reply->status == 400);
    CHECK(reply->body ==
          api::error_body(dialect, 400, "The request's path cannot be read.").dump());
  }
}

}  // namespace puna::server
