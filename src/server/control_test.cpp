// Thinking that is ended over HTTP while it is written.
#include <doctest/doctest.h>

#include "server/testing/fixture.h"
#include "service/testing/scripted_model.h"

namespace puna::server {
namespace {

using base::Json;
using test::Client;
using test::post;

// Thinks "a" for as long as it may.
service::LoadedModel thinker() {
  formats::ModelFile file = service::test::scripted("{{ messages[0].content }}<think>");
  file.vocabulary.tokens[20] = "<think>";
  file.vocabulary.tokens[21] = "</think>";
  constexpr uint32_t kContext = 1 << 16;
  for (auto& [key, value] : file.metadata) {
    if (key == "llama.context_length") value = formats::Value(uint64_t{kContext});
  }
  engine::EngineOptions options;
  options.context = kContext;
  return service::test::loaded_cpu(std::move(file), std::move(options));
}

Json read_json(const std::string& text) {
  auto json = Json::parse(text);
  REQUIRE_MESSAGE(json.has_value(), text);
  return *std::move(json);
}

TEST_CASE("thinking ends when a client asks for it, and the answer follows") {
  service::HostThread host(thinker());
  api::ServedModel served;
  served.id = "thinker";
  served.aliases = {"thinker"};
  served.hosts = std::make_shared<service::Hosts>(host);
  api::OneModel models(std::move(served));
  auto server = Server::listen(test::quick());
  REQUIRE_MESSAGE(server.has_value(), server.error().text());
  (*server)->serve(models);
  const uint16_t port = (*server)->addresses().at(0).port;
  Client writer(port), other(port);
  const auto end = [&](const std::string& id) {
    const Json body = Json::object().set("id", id).set("action", "reasoning_end");
    const test::Reply reply = other.ask(post("/v1/chat/completions/control", body.dump()));
    CHECK(reply.status == 200);
    return read_json(reply.body);
  };
  CHECK(*end("chatcmpl-none").find("success") == Json(false));
  writer.say(post("/v1/chat/completions",
                  R"({"messages": [{"role": "user", "content": "a"}], "stream": true,
                      "logit_bias": {"8": 100}, "reasoning_control": true})"));
  CHECK(writer.read_head().status == 200);
  const std::string thinks = writer.until("\"reasoning_content\":\"a\"");
  const size_t data = thinks.find("data: ") + 6;
  const Json first = read_json(thinks.substr(data, thinks.find('\n', data) - data));
  const std::string id = first.find("id")->string();
  CHECK(end(id).dump() == R"({"success":true})");
  CHECK_FALSE(writer.until("\"content\":\"a\"").empty());
  CHECK(*end(id).find("success") == Json(false));
  writer.close();
  (*server)->stop();
}

}  // namespace
}  // namespace puna::server
