// Pictures and sounds through a whole server: what the dialects bring is encoded once, answered, or
// refused, while others are answered.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "api/embedding_rows.h"
#include "api/model_source.h"
#include "base/json.h"
#include "server/server.h"
#include "server/testing/client.h"
#include "service/host_thread.h"
#include "service/testing/seeing_model.h"

using namespace puna;
using namespace puna::server::test;
using base::Json;
using service::test::kPictureTokens;

namespace {

std::string bytes_of(const std::string& name) {
  std::ifstream file("tests/fixtures/media/" + name, std::ios::binary);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Running {
  Running() : host(service::test::seeing_model()), models(named(host)) {
    server::Options options;
    options.listen = {{"127.0.0.1", 0}};
    options.n_threads = 2;
    auto listening = server::Server::listen(options);
    REQUIRE_MESSAGE(listening.has_value(), (listening ? "" : listening.error().text()));
    server = *std::move(listening);
    server->serve(models);
  }
  ~Running() { server->stop(); }

  static api::ServedModel named(service::Host& host) {
    api::ServedModel out;
    out.id = "seeing";
    out.aliases = {"seeing"};
    out.n_texts = 2;
    out.hosts = std::make_shared<service::Hosts>(host);
    return out;
  }

  Reply ask(std::string_view path, const std::string& body,
            std::string_view type = "application/json") const {
    return Client(server->addresses().at(0).port)
        .ask(fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {}\r\n"
                         "Content-Length: {}\r\nConnection: close\r\n\r\n{}",
                         path, type, body.size(), body));
  }
  Reply ask(std::string_view path, const Json& body) const { return ask(path, body.dump()); }

  service::HostThread host;
  api::OneModel models;
  std::unique_ptr<server::Server> server;
};

Json text_part() { return Json::object().set("type", "text").set("text", "aa"); }
Json image_part(const std::string& bytes) {
  const std::string url = "data:image/png;base64," + api::base64(bytes);
  return Json::object().set("type", "image_url").set("image_url", Json::object().set("url", url));
}
Json chat_body(Json parts) {
  const Json message = Json::object().set("role", "user").set("content", std::move(parts));
  Json out = Json::object().set("messages", Json::array().push(message));
  return out.set("max_tokens", 2).set("temperature", 0);
}
int64_t n_prompt(const Reply& reply) {
  REQUIRE_MESSAGE(reply.status == 200, reply.body);
  return Json::parse(reply.body)->find("usage")->find("prompt_tokens")->integer();
}
std::string message_of(const Reply& reply) {
  return Json::parse(reply.body)->find("error")->find("message")->string();
}

}  // namespace

TEST_CASE("a picture is a part of a prompt, and encoded once for all dialects") {
  const Running at;
  const std::string photo = bytes_of("photo.png");
  const int64_t plain =
      n_prompt(at.ask("/v1/chat/completions", chat_body(Json::array().push(text_part()))));
  const Json seen = chat_body(Json::array().push(image_part(photo)).push(text_part()));
  CHECK(n_prompt(at.ask("/v1/chat/completions", seen)) == plain + kPictureTokens);
  const Reply counted = at.ask("/v1/chat/completions/input_tokens", seen);
  REQUIRE_MESSAGE(counted.status == 200, counted.body);
  CHECK(Json::parse(counted.body)->find("input_tokens")->integer() == plain + kPictureTokens);

  Json message = Json::object().set("role", "user").set("content", "aa");
  message.set("images", Json::array().push(api::base64(photo)));
  Json ollama = Json::object().set("model", "seeing").set("stream", false);
  ollama.set("messages", Json::array().push(message));
  const Reply answered = at.ask("/api/chat", ollama);
  REQUIRE_MESSAGE(answered.status == 200, answered.body);
  CHECK(Json::parse(answered.body)->find("prompt_eval_count")->integer() == plain + kPictureTokens);

  const service::HostStatus status = at.host.status();
  CHECK(status.n_media_encoded == 1);
  CHECK(status.n_media_found >= 1);
}

TEST_CASE("files that cannot be read are refused, and others answered") {
  const Running at;
  const std::string photo = bytes_of("photo.png");
  const auto asked = [&](Json part) {
    return at.ask("/v1/chat/completions",
                  chat_body(Json::array().push(std::move(part)).push(text_part())));
  };
  const Reply cut = asked(image_part(photo.substr(0, photo.size() / 2)));
  CHECK(cut.status == 400);
  CHECK(message_of(cut).find("\"image_url\"") != std::string::npos);
  Json many = Json::array();
  for (int i = 0; i < 20; ++i) many.push(image_part(photo));
  const Reply full = at.ask("/v1/chat/completions", chat_body(std::move(many)));
  CHECK(full.status == 400);
  CHECK(message_of(full) ==
        "The first 11 pictures and sounds are 275 tokens, but the context holds 256.");
  const Json remote = Json::object().set("url", "http://127.0.0.1:1/a.png");
  const Reply away = asked(Json::object().set("type", "image_url").set("image_url", remote));
  CHECK(away.status == 400);
  CHECK(message_of(away).find("--media-url") != std::string::npos);
  CHECK(at.host.status().n_media_encoded == 0);
  CHECK(asked(image_part(photo)).status == 200);
}

TEST_CASE("a transcription is a form, for models that hear") {
  const Running at;
  const std::string form =
      "--x\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nseeing\r\n"
      "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\n" +
      bytes_of("plain.wav") + "\r\n--x--\r\n";
  const auto sent = [&](const std::string& body, std::string_view type) {
    return at.ask("/v1/audio/transcriptions", body, type);
  };
  const Reply deaf = sent(form, "multipart/form-data; boundary=x");
  CHECK(deaf.status == 501);
  CHECK(message_of(deaf) == "The model seeing does not hear.");
  CHECK(sent(form, "multipart/form-data; boundary=y").status == 400);
  CHECK(sent(form.substr(0, form.size() - 6), "multipart/form-data; boundary=x").status == 400);
  CHECK(sent("{}", "application/json").status == 400);
}
