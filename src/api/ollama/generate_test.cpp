#include "api/ollama/generate.h"

#include "api/ollama/asked.h"
#include "api/ollama/details.h"
#include "api/testing/talks.h"

using namespace puna;
using namespace puna::api;
using namespace puna::api::test;
using base::ErrorCode;
using base::Json;
using Kind = service::Event::Kind;
using service::Think;

namespace {

Json hi() { return json(R"({"model": "fake", "prompt": "Hi"})"); }

}  // namespace

TEST_CASE("a prompt is what a user says, behind a system text, or continued as it stands") {
  Talks served;
  const service::Request said = served.request(ollama::generate, with(hi(), "system", "Be kind"));
  REQUIRE(said.messages.size() == 2);
  CHECK(said.messages[0].role == "system");
  CHECK(said.messages[0].content == "Be kind");
  CHECK(said.messages[1].role == "user");
  CHECK(said.messages[1].content == "Hi");
  Json raw = hi();
  raw.set("raw", true).set("think", true).set("context", Json::array()).set("system", "");
  const service::Request continued = served.request(ollama::generate, raw);
  CHECK(continued.messages.empty());
  CHECK(continued.prompt == "Hi");
  CHECK(continued.think == Think::kDefault);
  for (const char* beside : {"template", "system"}) {
    CHECK(served.error(ollama::generate, with(raw, beside, "x")).message ==
          "raw mode does not support template, system, or context");
  }
  CHECK(served.error(ollama::generate, with(raw, "context", json("[1]"))).message ==
        "raw mode does not support template, system, or context");
}

TEST_CASE("a model without a template continues prompts, and is told nothing before them") {
  service::LoadedModel model = service::test::scripted_model();
  model.chat_template.reset();
  Served served(std::move(model));
  const auto request = served.ask(ollama::generate, hi().dump());
  REQUIRE_MESSAGE(request.has_value(), request.error().text());
  CHECK(std::get<Texts>(*request).requests[0].prompt == "Hi");
  CHECK(served.ask(ollama::generate, with(hi(), "system", "x").dump()).error().message ==
        "\"fake\" does not support system");
}

TEST_CASE("a suffix is what stands behind the answer, for models that know how to") {
  Json body = with(with(hi(), "prompt", "a"), "suffix", "aa");
  Talks cannot;
  CHECK(cannot.error(ollama::generate, body).message == "\"fake\" does not support insert");
  formats::ModelFile file = service::test::scripted(kTalks);
  file.vocabulary.tokens[10] = "<|fim_prefix|>";
  file.vocabulary.tokens[11] = "<|fim_suffix|>";
  file.vocabulary.tokens[12] = "<|fim_middle|>";
  Served served(service::test::loaded_cpu(std::move(file)));
  const auto tokens_of = [&](const Json& asked) {
    return texts_of(served.ask(ollama::generate, asked.dump())).requests.at(0).tokens;
  };
  CHECK(tokens_of(body) == std::vector<int32_t>{10, 8, 11, 8, 8, 12});
  CHECK(tokens_of(with(body, "prompt", "")) == std::vector<int32_t>{10, 11, 8, 8, 12});
  CHECK(ollama::capabilities_json(ollama::card_of(served.model->loaded())).dump() ==
        R"(["completion","insert","tools","thinking"])");
  CHECK(served.ask(ollama::generate, with(body, "system", "x").dump()).error().message ==
        "The field \"system\" has no place beside \"suffix\".");
}

TEST_CASE("every row of the tables of completions is refused by its name where it is wrong") {
  Talks served;
  const auto asked = ollama::asked_fields();
  std::vector<Field> rows(asked.begin(), asked.end());
  std::erase_if(rows, [](const Field& field) { return field.name == "top_logprobs"; });
  check_fields(served, ollama::generate, hi(), {ollama::generate_fields(), rows});
}

TEST_CASE("without a prompt it is said that the model is loaded") {
  Talks served;
  const auto load = [&](std::string_view body) {
    return body_of(served.ask(ollama::generate, body));
  };
  const Json loaded = load(R"({"model": "fake", "stream": false})");
  CHECK(at(loaded, "response") == Json(""));
  CHECK(at(loaded, "done") == Json(true));
  CHECK(at(loaded, "done_reason") == Json("load"));
  CHECK(at(load(R"({"model": "fake", "prompt": "", "keep_alive": "0s"})"), "done_reason") ==
        Json("unload"));
  CHECK(at(load(R"({"model": "fake", "keep_alive": -1})"), "done_reason") == Json("load"));
}

TEST_CASE("a completion streams its response and its thinking") {
  Talks served;
  const Texts texts = served.texts(ollama::generate, hi());
  CHECK(texts.stream);
  std::string text = texts.writer->begin() + texts.writer->next(0, {3, "Hm", Kind::kReasoning});
  text += texts.writer->next(0, {3, ""});
  text += texts.writer->next(0, {3, "Well"});
  text += texts.writer->end(0, reply_of("Well")) + texts.writer->finish();
  const std::vector<Json> lines = lines_of(text);
  REQUIRE(lines.size() == 3);
  CHECK(at(lines[0], "response") == Json(""));
  CHECK(at(lines[0], "thinking") == Json("Hm"));
  CHECK(at(lines[1], "response") == Json("Well"));
  CHECK(at(lines[1], "done") == Json(false));
  CHECK(lines[1].find("thinking") == nullptr);
  CHECK(at(lines[2], "response") == Json(""));
  CHECK(at(lines[2], "done_reason") == Json("stop"));
  CHECK(at(lines[2], "eval_count") == Json(5));
  service::Reply reply = reply_of("Well");
  reply.parsed.reasoning = "Hm";
  const Json whole = body_of(texts.writer->whole({reply}));
  CHECK(at(whole, "response") == Json("Well"));
  CHECK(at(whole, "thinking") == Json("Hm"));
  CHECK(at(whole, "prompt_eval_count") == Json(10));
}

TEST_CASE("an answer has its context, and the next one goes on behind that") {
  service::LoadedModel model = service::test::scripted_model();
  // One that does not think.
  service::use_template(
      model, *chat::Template::parse("{% for m in messages %}{{ m.content }}{% endfor %}"));
  Served served(std::move(model));
  const Json first = with(hi(), "prompt", "aaa");
  const auto texts = [&](const Json& body) {
    Texts out = texts_of(served.ask(ollama::generate, body.dump()));
    set_prompts(served, out);
    return out;
  };
  service::Reply reply = reply_of("b");
  reply.tokens = {4, 5};
  const Json context = at(body_of(texts(first).writer->whole({reply})), "context");
  REQUIRE(context.items().size() > 2);
  CHECK(context.items()[context.items().size() - 2] == Json(4));
  CHECK(context.items().back() == Json(5));
  CHECK(lines_of(texts(first).writer->end(0, reply)).back().find("context") != nullptr);

  const Json next = with(first, "context", context);
  const service::Request request = texts(next).requests[0];
  CHECK(request.messages.empty());
  REQUIRE(request.tokens.size() > context.items().size());
  for (size_t i = 0; i < context.items().size(); ++i)
    CHECK(Json(request.tokens[i]) == context.items()[i]);
  CHECK(at(body_of(texts(next).writer->whole({reply})), "context").items().size() ==
        request.tokens.size() + 2);
  CHECK(body_of(texts(with(first, "raw", true)).writer->whole({reply})).find("context") == nullptr);

  for (const char* wrong : {"[-1]", R"(["a"])", "[1.5]", "[1000000]"}) {
    const auto refused = served.ask(ollama::generate, with(hi(), "context", json(wrong)).dump());
    REQUIRE(!refused.has_value());
    CHECK(refused.error().code == ErrorCode::kInvalidArgument);
    CHECK(refused.error().text().contains("context"));
  }
  Talks thinks;
  CHECK(thinks.error(ollama::generate, with(hi(), "context", json("[1]"))).message ==
        "\"fake\" does not support context");
}

TEST_CASE("a prompt has no turns that truncate could leave out") {
  Talks served;
  Json body = with(hi(), "prompt", std::string(70, 'a'));
  CHECK(served.error(ollama::generate, with(body, "truncate", true)).message ==
        "The prompt has 71 tokens, which leaves no room for an answer in the 64 tokens that it may "
        "have.");
  body.set("raw", true).set("truncate", true);
  CHECK(served.error(ollama::generate, body).message.starts_with("The prompt has 70 tokens"));
}
