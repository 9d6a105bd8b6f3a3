// Requests with tools, on a model that writes one text: its embeddings are the rows of the unit
// matrix, its layer adds nothing, and its output matrix puts behind each token the next of a
// script.
#include <doctest/doctest.h>

#include <cstring>

#include "io/byte_source.h"
#include "service/host_thread.h"
#include "service/model.h"

namespace puna::service {
namespace {

constexpr uint32_t kWide = 64;  // tokens, and columns
constexpr const char* kTokens[] = {"<|go|>",
                                   "<|end|>",
                                   "Sure.",
                                   "<tool_call>",
                                   R"({"name":"weather",)",
                                   R"("arguments":{"city":)",
                                   R"("Rome"}})",
                                   "</tool_call>",
                                   "a"};
constexpr uint32_t kScript[] = {0, 2, 3, 4, 5, 6, 7, 1};

constexpr const char* kTemplate =
    "{% for t in tools or [] %}a{% endfor %}{% for m in messages %}"
    "{% for c in m.tool_calls or [] %}<tool_call>{{ c.function.arguments.city }}{% endfor %}"
    "{% endfor %}<|go|>";

formats::ModelFile scripted(const std::string& chat_template) {
  formats::ModelFile file;
  file.name = "scripted";
  std::vector<float> weights;
  const auto matrix = [&](const std::string& name, uint64_t rows, uint64_t columns) {
    formats::Tensor t;
    t.name = name;
    t.shape = {rows, columns};
    t.offset = weights.size() * sizeof(float);
    t.bytes = rows * columns * sizeof(float);
    file.tensors.push_back(t);
    const size_t begin = weights.size();
    weights.resize(begin + rows * columns);
    return begin;
  };
  const auto norm = [&](const std::string& name) {
    const size_t begin = matrix(name, 1, kWide);
    file.tensors.back().shape = {kWide};
    std::fill_n(weights.begin() + static_cast<ptrdiff_t>(begin), kWide, 1.0f);
  };
  const size_t embedding = matrix("token_embd.weight", kWide, kWide);
  for (size_t i = 0; i < kWide; ++i) weights[embedding + i * kWide + i] = 1.0f;
  const size_t output = matrix("output.weight", kWide, kWide);
  for (size_t i = 0; i + 1 < std::size(kScript); ++i)
    weights[output + kScript[i + 1] * kWide + kScript[i]] = 1.0f;
  for (const char* name : {"output_norm.weight", "blk.0.attn_norm.weight", "blk.0.ffn_norm.weight"})
    norm(name);
  for (const char* name :
       {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"})
    matrix("blk.0." + std::string(name) + ".weight", kWide, kWide);

  const auto set = [&](const std::string& key, formats::Value value) {
    file.metadata.emplace_back(key, std::move(value));
  };
  set("general.architecture", std::string("llama"));
  set("llama.block_count", uint64_t{1});
  for (const char* key : {"embedding_length", "feed_forward_length", "context_length"})
    set(std::string("llama.") + key, uint64_t{kWide});
  set("llama.attention.head_count", uint64_t{4});
  set("llama.attention.layer_norm_rms_epsilon", 1e-5);
  set("tokenizer.chat_template", chat_template);

  tokenizer::Vocabulary& v = file.vocabulary;
  v.model = "gpt2";
  v.pre = "gpt-2";
  for (uint32_t i = 0; i < kWide; ++i) {
    const bool named = i < std::size(kTokens);
    v.tokens.push_back(named ? kTokens[i] : "<|" + std::to_string(i) + "|>");
    v.types.push_back(named && i > 1 ? tokenizer::TokenType::kNormal
                                     : tokenizer::TokenType::kControl);
  }
  v.eos = 1;
  v.end_tokens = {1};
  std::vector<std::byte> bytes(weights.size() * sizeof(float));
  std::memcpy(bytes.data(), weights.data(), bytes.size());
  file.sources.push_back(io::from_memory("scripted weights", std::move(bytes)));
  file.index();
  return file;
}

LoadedModel loaded(const std::string& chat_template = kTemplate) {
  engine::EngineOptions options;
  options.n_threads = 1;
  auto model =
      base::run_until(load("scripted", scripted(chat_template),
                           {.device = nullptr, .name = "CPU", .why = "test"}, std::move(options)),
                      [] {});
  REQUIRE_MESSAGE(model.has_value(), model.error().text());
  return *std::move(model);
}

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
  HostThread host(loaded());
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
  HostThread host(loaded());
  const auto reply = run(host, ask(), {});
  REQUIRE_MESSAGE(reply.has_value(), reply.error().text());
  CHECK(reply->text.starts_with("Sure.<tool_call>"));
  CHECK(reply->parsed.tool_calls.empty());
}

TEST_CASE("the first event of a token brings its probabilities, where they are asked for") {
  HostThread host(loaded());
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

TEST_CASE("a banned string is not in the reply") {
  HostThread host(loaded());
  Request request = ask();
  request.banned = {"ur"};
  request.max_tokens = 5;
  const auto reply = run(host, request, {});
  REQUIRE_MESSAGE(reply.has_value(), reply.error().text());
  CHECK_FALSE(reply->tokens.empty());
  CHECK(reply->text.find("ur") == std::string::npos);
  request.banned = {""};
  CHECK(run(host, request, {}).error().message ==
        "A banned string has 0 bytes, but 1 to 256 are expected.");
}

TEST_CASE("tools are refused where the template shows none, and when they are no list") {
  HostThread host(loaded("<tool_call>{{ messages[0].content }}<|go|>"));
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

}  // namespace
}  // namespace puna::service
