// Requests with tools, on a model that writes one text (testing/scripted_model.h).
#include <doctest/doctest.h>

#include <algorithm>
#include <deque>

#include "chat/parsers.h"
#include "service/embed.h"
#include "service/host_thread.h"
#include "service/reply_reader.h"
#include "service/testing/scripted_model.h"
#include "service/thinking_budget.h"

namespace puna::service {
namespace {

using test::scripted_model;

Request ask() {
  Request request;
  request.messages = {{.role = "user", .content = "Weather in Rome?"}};
  request.sampling.temperature = 0;
  return request;
}

base::Json weather_tool() {
  return base::Json::parse(R"([{"type":"function","function":{"name":"weather","parameters":{}}}])")
      .value();
}

TEST_CASE("a call of an offered tool comes out as events and in the reply") {
  HostThread host(scripted_model());
  Request request = ask();
  request.tools = weather_tool();
  std::vector<chat::ReplyEvent> events;
  const auto reply = run(host, request, [&](const Event& event) {
    if (!event.text.empty()) events.push_back({event.kind, event.call, std::string(event.text)});
  });
  REQUIRE_MESSAGE(reply.has_value(), reply.error().text());
  CHECK(reply->text == "Sure.");
  const chat::ToolCall call{.name = "weather", .arguments = R"({"city":"Rome"})"};
  CHECK(reply->parsed.tool_calls == std::vector{call});
  using Kind = chat::ReplyEvent::Kind;
  CHECK(events == std::vector<chat::ReplyEvent>{{Kind::kContent, 0, "Sure."},
                                                {Kind::kCallBegin, 0, "weather"},
                                                {Kind::kArguments, 0, call.arguments}});

  // Said again, the call is shown to the template with its arguments as an object.
  request.messages.push_back(assistant_message(host.model(), *reply));
  request.messages.push_back({.role = "user", .content = "And now?"});
  const auto again = run(host, request, {});
  REQUIRE_MESSAGE(again.has_value(), again.error().text());
  // a, <tool_call> and <|go|>: of "Rome", written without its quotes, no byte has a token.
  CHECK(again->stats.n_prompt + again->stats.n_cached == 3);
}

TEST_CASE("without tools what looks like a call is text") {
  HostThread host(scripted_model());
  const auto reply = run(host, ask(), {});
  REQUIRE_MESSAGE(reply.has_value(), reply.error().text());
  CHECK(reply->text.starts_with("Sure.<tool_call>"));
  CHECK(reply->parsed.tool_calls.empty());
}

TEST_CASE("the first event of a token brings its probabilities, where they are asked for") {
  HostThread host(scripted_model());
  Request request = ask();
  request.tools = weather_tool();
  request.sampling.n_probs = 3;
  std::vector<int32_t> tokens;
  const auto reply = run(host, request, [&](const Event& event) {
    if (event.token < 0) return;
    const bool first = tokens.empty() || tokens.back() != event.token;
    CHECK(event.logprob.has_value() == first);
    CHECK(event.top.size() == (first ? 3 : 0));
    // The text is greedy.
    if (first) CHECK(event.top[0] == kernels::TokenLogprob{event.token, *event.logprob});
    tokens.push_back(event.token);
  });
  REQUIRE_MESSAGE(reply.has_value(), reply.error().text());
  CHECK(reply->text == "Sure.");
  CHECK(tokens.size() >= reply->tokens.size());
}

TEST_CASE("tools are refused where the template shows none, and when they are no list") {
  HostThread host(scripted_model("<tool_call>{{ messages[0].content }}<|go|>"));
  Request request = ask();
  request.tools = weather_tool();
  const auto refused = run(host, request, {});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message ==
        "The chat template of scripted shows the model no tools; leave them out.");
  request.tools = "weather";
  const auto wrong = run(host, request, {});
  REQUIRE_FALSE(wrong.has_value());
  CHECK(wrong.error().message == "The tools are of type string, but a list is expected.");
  request.tools = base::Json::array();
  CHECK(run(host, request, {}).has_value());
}

TEST_CASE("a reply names the stop text that it ended before") {
  HostThread host(scripted_model());
  Request request = ask();
  request.stop = {"no", "{\"name"};
  const auto reply = run(host, request, {});
  REQUIRE_MESSAGE(reply.has_value(), reply.error().text());
  CHECK(reply->stop_text == "{\"name");
  CHECK(reply->text == "Sure.<tool_call>");
  request.stop = {"no"};
  CHECK(run(host, request, {})->stop_text.empty());
}

TEST_CASE("a reply of no tokens is empty, and the prompt is evaluated") {
  HostThread host(scripted_model());
  Request request = ask();
  request.max_tokens = 0;
  const auto reply = run(host, request, {});
  REQUIRE_MESSAGE(reply.has_value(), reply.error().text());
  CHECK(reply->tokens.empty());
  CHECK(reply->text.empty());
  CHECK(reply->stats.stop == engine::StopReason::kLength);
  CHECK(reply->stats.n_prompt == 1);
}

TEST_CASE("arguments come while they are written, where they are asked for so") {
  HostThread host(scripted_model());
  Request request = ask();
  request.tools = weather_tool();
  request.stream_arguments = true;
  size_t n_pieces = 0;
  std::string arguments;
  const auto reply = run(host, request, [&](const Event& event) {
    if (event.kind != Event::Kind::kArguments) return;
    ++n_pieces;
    arguments += event.text;
  });
  REQUIRE_MESSAGE(reply.has_value(), reply.error().text());
  CHECK(n_pieces > 1);
  CHECK(arguments == reply->parsed.tool_calls.at(0).arguments);
}

TEST_CASE("a reply says what each of its tokens is of") {
  const auto style = std::ranges::find(chat::reply_styles(), "hermes", &chat::ReplyStyle::name);
  REQUIRE(style != chat::reply_styles().end());
  for (const bool eager : {false, true}) {
    Prepared prepared;
    prepared.style = &*style;
    prepared.request.tools = weather_tool();
    prepared.request.stream_arguments = eager;
    ReplyReader reader(prepared);
    std::deque<Event> events;
    std::string parts;
    const auto read = [&](std::initializer_list<const char*> pieces) {
      for (const char* piece : pieces)
        reader.read({{.id = 7, .logprob = {}, .top = {}}, piece}, events);
    };
    read({"<thi", "nk>", "Hm", " <", "/think>", "\n", "Sure", ".<tool", "_ca", "n", "<tool_call>"});
    read({R"({"name": "weather", "argu)", R"(ments": {}})", "</tool_call>", "", ""});
    const Reply reply = reader.finish({}, events);
    CHECK(reply.text == "Sure.<tool_can");
    CHECK(reply.parsed.tool_calls.size() == 1);
    for (const Part part : reply.parts) parts += "rct"[static_cast<size_t>(part)];
    CHECK(parts == "rrrrrrcccctttttt");
  }
  ReplyReader plain({});
  std::deque<Event> events;
  plain.read({{.id = 7, .logprob = {}, .top = {}}, ""}, events);
  plain.read({{.id = 7, .logprob = {}, .top = {}}, "Sure."}, events);
  plain.read({{.id = 7, .logprob = {}, .top = {}}, ""}, events);
  CHECK(plain.finish({}, events).parts == std::vector<Part>{Part::kContent, Part::kContent});
}

TEST_CASE("thinking is where it was asked for: apart, in the text, or both") {
  const auto style = std::ranges::find(chat::reply_styles(), "hermes", &chat::ReplyStyle::name);
  REQUIRE(style != chat::reply_styles().end());
  struct Case {
    Thinking thinking;
    const char *reasoning, *text;
  };
  constexpr const char* kWhole = "<think>\nHm\n</think>\n\nSure.";
  for (const Case& each :
       {Case{Thinking::kApart, "Hm", "Sure."}, Case{Thinking::kInContent, "", kWhole},
        Case{Thinking::kBoth, "Hm", kWhole}}) {
    Prepared prepared;
    prepared.style = &*style;
    prepared.request.thinking = each.thinking;
    ReplyReader reader(prepared);
    std::deque<Event> events;
    for (const char* piece : {"<think>", "H", "m", "</think>", "\n\n", "Su", "re."})
      reader.read({{.id = 7, .logprob = {}, .top = {}}, piece}, events);
    const Reply reply = reader.finish({}, events);
    CHECK(reply.parsed.reasoning == each.reasoning);
    CHECK(reply.text == each.text);
    std::string reasoning, text;
    for (const Event& event : events)
      (event.kind == Event::Kind::kReasoning ? reasoning : text) += event.text;
    CHECK(reasoning == each.reasoning);
    CHECK(text == each.text);
  }
  // Thinking that the end of the text cuts has no mark behind it, unless the model has ended.
  for (const bool ended : {false, true}) {
    Prepared prepared;
    prepared.style = &*style;
    prepared.request.thinking = Thinking::kInContent;
    ReplyReader reader(prepared);
    std::deque<Event> events;
    reader.read({{.id = 7, .logprob = {}, .top = {}}, "<think>Hm"}, events);
    engine::GenerateStats stats;
    stats.stop = ended ? engine::StopReason::kEnd : engine::StopReason::kLength;
    CHECK(reader.finish(stats, events).text ==
          (ended ? "<think>\nHm\n</think>\n\n" : "<think>\nHm"));
  }
}

TEST_CASE("an answer comes as it was written, where that is asked for") {
  HostThread host(scripted_model());
  Request request = ask();
  request.tools = weather_tool();
  request.verbatim = true;
  const auto reply = run(host, request, {});
  REQUIRE_MESSAGE(reply.has_value(), reply.error().text());
  CHECK(reply->text ==
        R"(Sure.<tool_call>{"name":"weather","arguments":{"city":"Rome"}}</tool_call>)");
  CHECK(reply->parsed.tool_calls.empty());
}

TEST_CASE("control tokens are written out where that is asked for") {
  HostThread host(scripted_model());
  Request request;
  request.tokens = {8};
  request.sampling.temperature = 0;
  request.sampling.logit_bias = {{30, 100.0f}};
  request.max_tokens = 2;
  CHECK(run(host, request, {})->text.empty());
  request.special = true;
  CHECK(run(host, request, {})->text == "<|30|><|30|>");
}

TEST_CASE("a prompt is evaluated again where its request wants that") {
  HostThread host(scripted_model());
  Request request;
  request.tokens.assign(40, 8);
  request.max_tokens = 1;
  CHECK(run(host, request, {})->stats.n_prompt == 40);
  CHECK(run(host, request, {})->stats.n_cached > 0);
  request.reuse = false;
  const auto again = run(host, request, {});
  CHECK(again->stats.n_cached == 0);
  CHECK(again->stats.n_prompt == 40);
  request.reuse = true;
  CHECK(run(host, request, {})->stats.n_cached > 0);
}

TEST_CASE("thinking is ended when its tokens are used up") {
  formats::ModelFile file = test::scripted("{{ messages[0].content }}<think>");
  file.vocabulary.tokens[20] = "<think>";
  file.vocabulary.tokens[21] = "</think>";
  HostThread host(test::loaded_cpu(std::move(file)));
  Request request = ask();
  request.sampling.logit_bias = {{8, 100.0f}};
  request.max_tokens = 6;
  request.max_thinking = 2;
  const auto reply = run(host, request, {});
  REQUIRE_MESSAGE(reply.has_value(), reply.error().text());
  CHECK(reply->tokens == std::vector<int32_t>{8, 8, 21, 8, 8, 8});
  CHECK(reply->parsed.reasoning == "aa");
  CHECK(reply->text == "aaa");
  request.thinking_message = std::string(kMaxThinkingMessage + 1, 'a');
  CHECK_FALSE(run(host, request, {}).has_value());
}

TEST_CASE("thinking is ended by whoever has its control, and a budget beyond all room is none") {
  formats::ModelFile file = test::scripted("{{ messages[0].content }}<think>");
  file.vocabulary.tokens[20] = "<think>";
  file.vocabulary.tokens[21] = "</think>";
  HostThread host(test::loaded_cpu(std::move(file)));
  Request request = ask();
  request.sampling.logit_bias = {{8, 100.0f}};
  request.max_tokens = 6;
  request.max_thinking = 6;
  CHECK(prepare(host.model(), request)->filter == nullptr);
  request.thinking_control = std::make_shared<ThinkingControl>();
  request.thinking_control->end = true;
  const auto reply = run(host, request, {});
  REQUIRE_MESSAGE(reply.has_value(), reply.error().text());
  CHECK(reply->tokens == std::vector<int32_t>{21, 8, 8, 8, 8, 8});
  CHECK(request.thinking_control->phase == ThinkingControl::Phase::kAnswering);
}

TEST_CASE("of the tokens that stay where a context is full BOS is not counted") {
  formats::ModelFile file = test::scripted(test::kTemplate);
  file.vocabulary.bos = 0;
  HostThread host(test::loaded_cpu(std::move(file)));
  const auto kept = [&](std::vector<int32_t> tokens, std::optional<uint32_t> n_keep) {
    Request request;
    request.tokens = std::move(tokens);
    request.shift.emplace().n_keep = n_keep;
    return prepare(host.model(), request)->request.shift->n_keep;
  };
  CHECK(kept({0, 8, 8}, 2) == 3u);
  CHECK(kept({8, 8, 8}, 2) == 2u);
  CHECK(kept({0, 8, 8}, 0) == 0u);
  CHECK(kept({0, 8, 8}, UINT32_MAX) == UINT32_MAX);
  CHECK_FALSE(kept({0, 8, 8}, {}).has_value());
}

TEST_CASE("ids of calls become such as strict templates take") {
  constexpr const char* kIds =
      "{% for m in messages %}{% for c in m.tool_calls or [] %}[TOOL_CALLS]{{ c.id }}{% endfor %}"
      "{% if m.tool_call_id %}={{ m.tool_call_id }}{% endif %}{% endfor %}<|go|>";
  const auto prompt = [&](std::string_view id, const char* chat_template) {
    HostThread host(scripted_model(chat_template));
    Request request = ask();
    base::Json call = base::Json::object();
    call.set("id", id).set("type", "function");
    chat::Message calls{.role = "assistant"}, result{.role = "tool", .content = "Sunny."};
    calls.fields = base::Json::object().set("tool_calls", base::Json::array().push(call));
    result.fields = base::Json::object().set("tool_call_id", id);
    request.messages.push_back(std::move(calls));
    request.messages.push_back(std::move(result));
    const auto text = render_prompt(host.model(), request);
    REQUIRE_MESSAGE(text.has_value(), text.error().text());
    return *text;
  };
  const std::string long_id = "toolu_01A09q90qw90lq917835lq9";
  const std::string made = chat::short_call_id(long_id);
  CHECK(made.size() == 9);
  CHECK(prompt(long_id, kIds) == "[TOOL_CALLS]" + made + "=" + made + "<|go|>");
  CHECK(prompt("abcDEF123", kIds) == "[TOOL_CALLS]abcDEF123=abcDEF123<|go|>");
  // Others have them as they are.
  CHECK(prompt(long_id, "{{ messages[1].tool_calls[0].id }}") == long_id);
}

TEST_CASE("the last message of the assistant is continued") {
  constexpr const char* kSaid =
      "{% for m in messages %}{{ m.content }}<|end|>{% endfor %}"
      "{% if add_generation_prompt %}<|go|>{% endif %}";
  HostThread host(scripted_model(kSaid));
  Request request = ask();
  request.continue_last = true;
  CHECK(run(host, request, {}).error().message ==
        "The last message is of \"user\", but only one of the assistant can be continued.");
  request.messages.push_back({.role = "assistant", .content = "a<|end|> a"});
  CHECK(*render_prompt(host.model(), request) == "Weather in Rome?<|end|>a<|end|> a");
  const auto prepared = prepare(host.model(), request);
  REQUIRE_MESSAGE(prepared.has_value(), prepared.error().text());
  // What is known of the text is an end, a, another end and a.
  CHECK(prepared->prompt.tokens().back() == 8);
  request.messages.back().content.clear();
  CHECK(*render_prompt(host.model(), request) == "Weather in Rome?<|end|><|go|>");
}

TEST_CASE("a prompt that is too long is refused before the engine has it") {
  HostThread host(scripted_model());
  Request request;
  request.tokens.assign(test::kWide, 0);
  CHECK(prepare(host.model(), request).error().message ==
        "The prompt has 64 tokens, but the context holds 64 and needs room for an answer.");
}

TEST_CASE("texts have an embedding each, also where a step has room for one of them") {
  engine::EngineOptions options;
  options.embeddings = true;
  options.pooling = models::Pooling::kLast;
  LoadedModel model = scripted_model(test::kTemplate, std::move(options));
  const auto rows = base::run_until(embed(model, {{8}, {8, 8}, {0}}), [&] { model.poll(); });
  REQUIRE_MESSAGE(rows.has_value(), rows.error().text());
  REQUIRE(rows->size() == 3);
  for (const std::vector<float>& row : *rows) CHECK(row.size() == test::kWide);
}

TEST_CASE("texts have an embedding each where the cache has no pages for as many as a step takes") {
  engine::EngineOptions options;
  options.embeddings = true;
  options.pooling = models::Pooling::kLast;
  options.n_sequences = 8;
  options.cache_tokens = test::kWide;  // the context, two pages
  LoadedModel model = scripted_model(test::kTemplate, std::move(options));
  REQUIRE(model.engine->cache().n_pages() == 2);
  // Of two pages each, and of one.
  std::vector<std::vector<int32_t>> texts(3, std::vector<int32_t>(33, 8));
  texts.resize(8, {8, 0});
  const auto rows = base::run_until(embed(model, texts), [&] { model.poll(); });
  REQUIRE_MESSAGE(rows.has_value(), rows.error().text());
  REQUIRE(rows->size() == texts.size());
  for (size_t i = 0; i < texts.size(); ++i) CHECK((*rows)[i] == (*rows)[i < 3 ? 0 : 3]);
  CHECK((*rows)[0] != (*rows)[3]);
}

}  // namespace
}  // namespace puna::service
