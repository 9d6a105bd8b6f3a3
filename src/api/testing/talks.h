// A served model with a vocabulary and a template, for tests of endpoints whose bodies are JSON
// values.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/testing/served.h"
#include "chat/parsers.h"

namespace puna::api::test {

// Shows tools, the switch and the levels of thinking, and what messages say: a token for each "a".
constexpr const char* kTalks =
    "{% for t in tools or [] %}a{% endfor %}{% if enable_thinking %}a{% endif %}"
    "{% if reasoning_effort == 'high' %}aa{% endif %}"
    "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>"
    "{% endfor %}{% endfor %}{% if add_generation_prompt %}<|go|>{% endif %}";
// Shows what messages say and nothing else; its models neither think nor call.
constexpr const char* kPlain =
    "{% for m in messages %}{{ m.content }}{% endfor %}{% if add_generation_prompt %}<|go|>"
    "{% endif %}";

struct Talks : Served {
  explicit Talks(const char* chat_template = kTalks)
      : Served(service::test::scripted_model(chat_template)) {}
  explicit Talks(service::LoadedModel loaded) : Served(std::move(loaded)) {}

  Texts texts(Endpoint endpoint, const base::Json& body) {
    return texts_of(ask(endpoint, body.dump()));
  }
  service::Request request(Endpoint endpoint, const base::Json& body) {
    Texts all = texts(endpoint, body);
    REQUIRE(all.requests.size() == 1);
    return std::move(all.requests.front());
  }
  base::Json reply(Endpoint endpoint, const base::Json& body) {
    return body_of(ask(endpoint, body.dump()));
  }
  base::Error error(Endpoint endpoint, const base::Json& body) {
    auto exchange = ask(endpoint, body.dump());
    REQUIRE_MESSAGE(!exchange.has_value(), body.dump());
    return exchange.error();
  }
};

inline base::Json json(std::string_view text) {
  auto out = base::Json::parse(text);
  REQUIRE_MESSAGE(out.has_value(), text);
  return *std::move(out);
}
inline base::Json with(base::Json body, std::string key, base::Json value) {
  return body.set(std::move(key), std::move(value));
}

// What stands on each line.
inline std::vector<base::Json> lines_of(std::string_view text) {
  std::vector<base::Json> out;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    REQUIRE(end != std::string_view::npos);
    out.push_back(json(text.substr(0, end)));
    text.remove_prefix(end + 1);
  }
  return out;
}

// A stream whose frames have names.
struct Frame {
  std::string event;
  base::Json data;
};
inline std::vector<Frame> frames_of(std::string_view text) {
  std::vector<Frame> out;
  while (!text.empty()) {
    REQUIRE(text.starts_with("event: "));
    const size_t data = text.find("\ndata: "), end = text.find("\n\n");
    REQUIRE(end != std::string_view::npos);
    out.push_back(
        {std::string(text.substr(7, data - 7)), json(text.substr(data + 7, end - data - 7))});
    text.remove_prefix(end + 2);
  }
  return out;
}

// What the parser of a family (chat/parsers.h) gives for a text that comes in two parts.
struct Parsed {
  std::vector<service::Event> events;
  service::Reply reply;
};
inline Parsed parsed(const char* style, const base::Json& tools, bool stream_arguments,
                     std::string_view text, size_t cut) {
  const auto found = std::ranges::find(chat::reply_styles(), style, &chat::ReplyStyle::name);
  REQUIRE(found != chat::reply_styles().end());
  const auto parser = found->make_parser({.tools = tools, .stream_arguments = stream_arguments});
  Parsed out;
  const auto add = [&](std::vector<chat::ReplyEvent> events) {
    for (chat::ReplyEvent& each : events)
      out.events.push_back({3, std::move(each.text), each.kind, each.call});
  };
  add(parser->feed(text.substr(0, cut)));
  add(parser->feed(text.substr(cut)));
  add(parser->finish());
  out.reply.parsed = parser->reply();
  out.reply.text = out.reply.parsed.content;
  return out;
}
// Answers of the style "hermes": thinking, text, calls, and what looks like calls and is none.
constexpr const char* kAnswers[] = {
    "<think>Hm</think>Sure.<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": \"Rome\"}}"
    "</tool_call>\n<tool_call>{\"name\": \"weather\", \"arguments\": {}}</tool_call>",
    "<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": </tool_call> Well.",
    "Sure.<tool_call>{\"name\": \"weather\", \"arguments\": {}}</tool_call>"
    "<tool_call>{\"name\": \"weather\", \"arguments\": {oh",
    "<think>Hm",
    "",
};

// The rows of a table that another one, which is looked at first, has no rows for.
inline std::vector<Field> rows_beside(std::span<const Field> table, std::span<const Field> first) {
  std::vector<Field> out;
  for (const Field& field : table) {
    const auto same = [&](const Field& other) { return other.name == field.name; };
    if (std::ranges::none_of(first, same)) out.push_back(field);
  }
  return out;
}

}  // namespace puna::api::test
