#include "api/ollama/stored.h"

#include <map>

#include "api/ollama/models.h"
#include "api/ollama/show.h"
#include "api/testing/served.h"

using namespace puna;
using namespace puna::api;
using namespace puna::api::test;
using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

// Knows "a:latest", and says what it was asked for.
class FakeStore final : public StoreSource {
 public:
  std::vector<std::string> asked;
  NewModel made;
  base::Error failure{ErrorCode::kNotFound, "There is none.", {}};

  Result<std::vector<api::StoredModel>> list() override {
    return std::vector<api::StoredModel>{model("old:latest", 5), model("Fake:latest", 9)};
  }
  Result<api::ShownModel> show(std::string_view name) override {
    if (name != "a") return std::unexpected(failure);
    api::ShownModel out{.model = model("a:latest", 5), .file = service::test::scripted("x")};
    out.texts = {.license = "Free.",
                 .parameters = "top_k 3",
                 .chat_template = "{{ .Prompt }}",
                 .system = "Be brief.",
                 .parser = "qwen3",
                 .messages = *Json::parse(R"([{"role": "user", "content": "Hi"}])")};
    return out;
  }
  Result<void> copy(std::string_view from, std::string_view to) override {
    return note(from, "copy " + std::string(to));
  }
  Result<void> remove(std::string_view name) override { return note(name, "remove"); }
  Result<bool> has_blob(std::string_view digest) override { return digest == "sha256:1"; }
  Result<std::unique_ptr<io::ByteSink>> receive_blob(std::string_view,
                                                     std::optional<uint64_t>) override {
    return std::unexpected(failure);
  }
  Result<void> pull(std::string_view name, bool insecure, const Watch& watch) override {
    watch.tell({.status = "pulling manifest"});
    watch.tell({.status = "pulling 1", .digest = "sha256:1", .total_bytes = 10});
    watch.tell({.status = "pulling 1", .digest = "sha256:1", .total_bytes = 10, .done_bytes = 4});
    return note(name, insecure ? "pull insecure" : "pull");
  }
  Result<void> push(std::string_view name, bool, const Watch&) override {
    return note(name, "push");
  }
  Result<void> create(const NewModel& model, const Watch& watch) override {
    made = model;
    watch.tell({.status = "success"});
    return {};
  }

 private:
  static api::StoredModel model(std::string name, int64_t modified_s) {
    return {.name = std::move(name),
            .digest = "d",
            .bytes = 3,
            .modified_s = modified_s,
            .card = {.format = "gguf",
                     .family = "llama",
                     .n_parameters = 1000,
                     .file_type = "Q4_0",
                     .context = 8,
                     .embedding = 4,
                     .capabilities = {"completion"}}};
  }
  Result<void> note(std::string_view name, std::string_view what) {
    asked.push_back(std::string(what) + " " + std::string(name));
    return name == "none" ? Result<void>(std::unexpected(failure)) : Result<void>();
  }
};

struct Stored : Served {
  FakeStore store;
  Result<Exchange> ask(Endpoint endpoint, std::string_view body,
                       std::vector<std::string> path_values = {}) {
    const Json json = body.empty() ? Json() : *Json::parse(body);
    HttpRequest http;
    http.path_values = std::move(path_values);
    return endpoint({http, json, nullptr, source, &store});
  }
  std::string lines(Endpoint endpoint, std::string_view body) {
    auto exchange = ask(endpoint, body);
    REQUIRE_MESSAGE(exchange.has_value(), exchange.error().text());
    REQUIRE(std::holds_alternative<LongWork>(*exchange));
    std::string out;
    const std::atomic<bool> cancelled = false;
    const auto done = std::get<LongWork>(*exchange).run(
        [&](const Json& line) { out += line.dump() + "\n"; }, cancelled);
    if (!done) out += done.error().message;
    return out;
  }
  int status(Result<Exchange> exchange) {
    REQUIRE_MESSAGE(exchange.has_value(), exchange.error().text());
    return std::get<HttpReply>(*exchange).status;
  }
};

}  // namespace

TEST_CASE("the store is listed behind what is served by other names") {
  Stored served;
  const Json body = body_of(served.ask(ollama::tags, ""));
  std::vector<std::string> names;
  for (const Json& each : at(body, "models").items()) names.push_back(at(each, "name").string());
  // "fake" is served, and the store has it: it is listed once.
  CHECK(names == std::vector<std::string>{"Other:1b", "Fake:latest", "old:latest"});
  CHECK(at(body, "models", 1, "size") == Json(3));
  CHECK(at(body, "models", 1, "details", "quantization_level") == Json("Q4_0"));
  CHECK(at(body, "models", 1, "modified_at") == Json("1970-01-01T00:00:09.000000000Z"));
}

TEST_CASE("a model of the store is shown without being loaded, and else what is served") {
  Stored served;
  const Json body = body_of(served.ask(ollama::show, R"({"model": "a"})"));
  CHECK(at(body, "license") == Json("Free."));
  CHECK(at(body, "parameters") == Json("top_k 3"));
  CHECK(at(body, "template") == Json("{{ .Prompt }}"));
  CHECK(at(body, "system") == Json("Be brief."));
  CHECK(at(body, "parser") == Json("qwen3"));
  CHECK(at(body, "messages", 0, "content") == Json("Hi"));
  CHECK(at(body, "model_info", "general.architecture") == Json("llama"));
  CHECK(body.find("tensors") == nullptr);
  CHECK(body.find("renderer") == nullptr);
  CHECK(at(body_of(served.ask(ollama::show, R"({"model": "other:1b"})")), "modelfile") ==
        Json("FROM fake:latest\n"));
  CHECK(served.ask(ollama::show, R"({"model": "b"})").error().message == "model 'b' not found");
  served.store.failure = {ErrorCode::kCorrupt, "Damaged.", {}};
  CHECK(served.ask(ollama::show, R"({"model": "b"})").error().message == "Damaged.");
}

TEST_CASE("models are copied and deleted by name") {
  Stored served;
  CHECK(served.status(served.ask(ollama::copy, R"({"source": "a", "destination": "b"})")) == 200);
  CHECK(served.status(served.ask(ollama::remove, R"({"model": "", "name": "a"})")) == 200);
  CHECK(served.store.asked == std::vector<std::string>{"copy b a", "remove a"});
  const std::pair<Endpoint, const char*> missing[] = {
      {ollama::copy, R"({"source": "none", "destination": "b"})"},
      {ollama::remove, R"({"model": "none"})"}};
  for (const auto& [endpoint, body] : missing) {
    const base::Error error = served.ask(endpoint, body).error();
    CHECK(error.code == ErrorCode::kNotFound);
    CHECK(error.message == "model 'none' not found");
  }
  CHECK(served.ask(ollama::remove, "{}").error().message == "model is required");
  CHECK(served.ask(ollama::remove, "").error().message == "missing request body");
  CHECK(served.ask(ollama::copy, R"({"source": "a"})").error().message ==
        "destination is required");
}

TEST_CASE("a blob is there or not") {
  Stored served;
  CHECK(served.status(served.ask(ollama::blob, "", {"sha256:1"})) == 200);
  CHECK(served.status(served.ask(ollama::blob, "", {"sha256:2"})) == 404);
}

TEST_CASE("a pull tells line by line how far it is") {
  Stored served;
  CHECK(served.lines(ollama::pull, R"({"model": "a", "insecure": true})") ==
        "{\"status\":\"pulling manifest\"}\n"
        "{\"status\":\"pulling 1\",\"digest\":\"sha256:1\",\"total\":10}\n"
        "{\"status\":\"pulling 1\",\"digest\":\"sha256:1\",\"total\":10,\"completed\":4}\n");
  CHECK(served.store.asked.back() == "pull insecure a");
  CHECK(served.lines(ollama::push, R"({"name": "none"})") == "There is none.");
  const auto exchange = served.ask(ollama::pull, R"({"model": "a", "stream": false})");
  CHECK_FALSE(std::get<LongWork>(*exchange).stream);
}

TEST_CASE("a model is made of the fields of a request") {
  Stored served;
  CHECK(served.lines(ollama::create, R"({"model": "new", "files": {"a.gguf": "sha256:1"},
      "template": "{{ .Prompt }}", "system": "", "license": ["x", "y"], "quantize": "q4_0",
      "parameters": {"top_k": 3}, "messages": [{"role": "user", "content": "Hi"}],
      "parser": "p", "renderer": "r", "requires": "0.1"})") == "{\"status\":\"success\"}\n");
  const NewModel& made = served.store.made;
  CHECK(made.name == "new");
  CHECK(made.files == std::vector<std::pair<std::string, std::string>>{{"a.gguf", "sha256:1"}});
  CHECK(made.chat_template == "{{ .Prompt }}");
  CHECK(made.system == "");
  CHECK(made.licenses == std::vector<std::string>{"x", "y"});
  CHECK(made.quantize == "q4_0");
  CHECK(made.parameters.dump() == R"({"top_k":3})");
  CHECK(made.messages.items().size() == 1);
  CHECK(made.parser == "p");
  CHECK(made.renderer == "r");
  CHECK(made.minimal_version == "0.1");
}

TEST_CASE("what is wrong with a request to make a model is said") {
  Stored served;
  const auto refusal = [&](std::string_view body) {
    const auto exchange = served.ask(ollama::create, body);
    REQUIRE_FALSE(exchange.has_value());
    CHECK(status_of(exchange.error().code) == 400);
    return exchange.error().text();
  };
  CHECK(refusal(R"({"from": "a"})") == "model is required");
  CHECK(refusal(R"({"model": "a"})") == "neither 'from' or 'files' was specified");
  for (const auto& [field, value] :
       std::map<std::string, std::string>{{"files", R"({"a": 1})"},
                                          {"adapters", R"({"a": "sha256:1"})"},
                                          {"draft_files", R"({"a": "sha256:1"})"},
                                          {"modelfile", R"("FROM a")"},
                                          {"messages", R"([{"role": "user"}])"},
                                          {"messages", R"(["Hi"])"},
                                          {"parameters", "[]"},
                                          {"license", "{}"}}) {
    const std::string text =
        refusal(R"({"model": "a", "from": "b", ")" + field + "\": " + value + "}");
    CHECK_MESSAGE(text.contains(field), text);
  }
  CHECK(refusal(R"({"model": "a", "from": "b", "messages": [{"role": "x", "content": "y"}]})")
            .contains("role"));
}

TEST_CASE("without a store there is nothing to change") {
  Served served;
  for (const Endpoint endpoint : {ollama::copy, ollama::remove, ollama::pull, ollama::create}) {
    const auto exchange =
        served.ask(endpoint, R"({"model": "a", "source": "a", "destination": "b"})");
    REQUIRE_FALSE(exchange.has_value());
    CHECK(exchange.error().message == "this server keeps no models");
  }
}
