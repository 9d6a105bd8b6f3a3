// What requests of each dialect mean where they say nothing (service/defaults.h).
#include "api/anthropic/messages.h"
#include "api/llama/apply_template.h"
#include "api/llama/completion.h"
#include "api/llama/embeddings.h"
#include "api/ollama/chat.h"
#include "api/ollama/generate.h"
#include "api/openai/chat.h"
#include "api/openai/completions.h"
#include "api/testing/talks.h"

using namespace puna;
using namespace puna::api;
using namespace puna::api::test;
using base::Json;
using service::Defaults;
using service::Think;

namespace {

Talks talks(const std::function<void(Defaults&)>& change) {
  service::LoadedModel model = service::test::scripted_model(kTalks);
  change(model.defaults);
  return Talks(std::move(model));
}

struct Asked {
  Endpoint endpoint;
  Json body;
};
// A request of each dialect that says nothing but what it has to.
std::vector<Asked> chats() {
  const Json hi = json(R"({"model": "fake", "messages": [{"role": "user", "content": "aaa"}]})");
  return {{openai::chat_completions, hi},
          {anthropic::messages, with(hi, "max_tokens", 100)},
          {ollama::chat, hi}};
}
std::vector<Asked> all() {
  std::vector<Asked> out = chats();
  const Json prompt = json(R"({"model": "fake", "prompt": "aaa"})");
  for (const Endpoint endpoint : {openai::completions, llama::completion, ollama::generate})
    out.push_back({endpoint, prompt});
  return out;
}

}  // namespace

TEST_CASE("every dialect begins with the model's defaults") {
  Talks served = talks([](Defaults& defaults) {
    defaults.request.sampling.temperature = 0.25f;
    defaults.request.sampling.top_p = 0.95f;
    defaults.request.sampling.min_p = 0.05f;
    defaults.named = {"temperature", "top_p", "min_p"};
    defaults.request.ignore_end = true;
    defaults.seed = 11;
  });
  for (const Asked& asked : all()) {
    const service::Request request = served.request(asked.endpoint, asked.body);
    CHECK(request.sampling.temperature == 0.25f);
    CHECK(request.sampling.top_p == 0.95f);  // Ollama's own is another
    CHECK(request.sampling.min_p == 0.05f);
    CHECK(request.sampling.seed == 11);
    CHECK(request.ignore_end);
  }
  const Json said = json(R"({"prompt": "aaa", "temperature": 1, "ignore_eos": false})");
  CHECK(served.request(llama::completion, said).sampling.temperature == 1);
  CHECK_FALSE(served.request(llama::completion, said).ignore_end);
}

TEST_CASE("answers are as long as the defaults allow, unless a request says how long") {
  Talks served = talks([](Defaults& defaults) { defaults.request.max_tokens = 5; });
  const auto longest = [&](Endpoint endpoint, const Json& body) {
    auto prepared = service::prepare(served.host.model(), served.request(endpoint, body));
    REQUIRE_MESSAGE(prepared.has_value(), prepared.error().text());
    return prepared->request.max_tokens;
  };
  for (const Asked& asked : all()) {
    const Json* own = asked.body.find("max_tokens");
    CHECK(longest(asked.endpoint, asked.body) == (own ? own->number() : 5));
  }
  const Json prompt = json(R"({"prompt": "aaa"})");
  CHECK(longest(llama::completion, with(prompt, "n_predict", 2)) == 2);
  CHECK(longest(llama::completion, with(prompt, "n_predict", -1)) == 5);
  CHECK(longest(llama::completion, with(prompt, "n_predict", 9)) == 9);
}

TEST_CASE("chats think, and continue, as the defaults have it") {
  Talks served = talks([](Defaults& defaults) {
    defaults.request.think = Think::kOn;
    defaults.request.variables = json(R"({"style": "short"})");
    defaults.continues_last = false;
  });
  for (const Asked& asked : chats()) {
    CHECK(served.request(asked.endpoint, asked.body).think == Think::kOn);
    CHECK(served.request(asked.endpoint, asked.body).variables == json(R"({"style": "short"})"));
    const Json last = json(R"([{"role": "user", "content": "aaa"},
                               {"role": "assistant", "content": "We"}])");
    CHECK_FALSE(served.request(asked.endpoint, with(asked.body, "messages", last)).continue_last);
  }
  const std::vector<Asked> asked = chats();
  CHECK(served.request(asked[0].endpoint, with(asked[0].body, "reasoning_effort", "none")).think ==
        Think::kOff);
  CHECK(served
            .request(asked[1].endpoint,
                     with(asked[1].body, "thinking", json(R"({"type": "disabled"})")))
            .think == Think::kOff);
  CHECK(served.request(asked[2].endpoint, with(asked[2].body, "think", false)).think ==
        Think::kOff);
  const Json style = json(R"({"style": "long", "more": 1})");
  CHECK(served.request(asked[0].endpoint, with(asked[0].body, "chat_template_kwargs", style))
            .variables == style);
}

TEST_CASE("answers are verbose where a server is, unless a request says otherwise") {
  Talks served = talks([](Defaults& defaults) { defaults.verbose = true; });
  const auto verbose = [&](const char* more) {
    const Json body =
        json(R"({"messages": [{"role": "user", "content": "aaa"}])" + std::string(more) + "}");
    Texts texts = served.texts(openai::chat_completions, body);
    set_prompts(served, texts);
    return body_of(texts.writer->whole({reply_of("")})).find("__verbose") != nullptr;
  };
  CHECK(verbose(""));
  CHECK_FALSE(verbose(R"(, "verbose": false)"));
}
