// The replies of tests/fixtures/replies/, one file a style: what a model writes, and what it means.
#include "chat/parsers.h"

#include <doctest/doctest.h>

#include <fstream>
#include <random>
#include <sstream>

#include "base/utf8.h"

namespace puna::chat {
namespace {

// The tools that the cases offer.
constexpr const char* kTools = R"([
  {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}}},
  {"type": "function", "function": {"name": "now", "parameters": {"type": "object"}}},
  {"type": "function", "function": {"name": "set", "parameters": {"type": "object", "properties":
    {"config": {"type": "object"}, "on": {"type": "boolean"}, "note": {"type": ["string", "null"]},
     "other": {}}}}}])";

base::Json::Array cases_of(std::string_view style) {
  std::ifstream file("tests/fixtures/replies/" + std::string(style) + ".json", std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return base::Json::parse(text.str()).value().items();
}

std::string text_in(const base::Json& json, const char* key) {
  const base::Json* value = json.find(key);
  return value ? value->string() : "";
}

ParserOptions options_of(const base::Json& each, bool streams) {
  return {.tools = each.find("no_tools") ? base::Json() : base::Json::parse(kTools).value(),
          .thinking_open = each.find("thinking_open") != nullptr,
          .stream_arguments = streams};
}

ParsedReply expected_of(const base::Json& each) {
  ParsedReply out{.reasoning = text_in(each, "reasoning"), .content = text_in(each, "content")};
  if (const base::Json* calls = each.find("tool_calls")) {
    for (const base::Json& call : calls->items())
      out.tool_calls.push_back(
          {text_in(call, "id"), text_in(call, "name"), text_in(call, "arguments")});
  }
  return out;
}

// What a listener makes of the events.
void add(ParsedReply& to, const std::vector<ReplyEvent>& events, bool whole_characters) {
  for (const ReplyEvent& event : events) {
    if (whole_characters) REQUIRE(base::utf8_is_valid(event.text));
    switch (event.kind) {
      case ReplyEvent::Kind::kReasoning:
        to.reasoning += event.text;
        break;
      case ReplyEvent::Kind::kContent:
        to.content += event.text;
        break;
      case ReplyEvent::Kind::kCallBegin:
        REQUIRE(event.call == to.tool_calls.size());
        to.tool_calls.push_back({.name = event.text});
        break;
      case ReplyEvent::Kind::kArguments:
        REQUIRE(event.call + 1 == to.tool_calls.size());
        to.tool_calls.back().arguments += event.text;
        break;
      case ReplyEvent::Kind::kCallId:
        to.tool_calls.at(event.call).id = event.text;
        break;
      case ReplyEvent::Kind::kCallDrop:
        REQUIRE(event.call < to.tool_calls.size());
        to.tool_calls.resize(event.call);
        break;
    }
  }
}

// Feeds `text` in pieces that end at `cuts`; events and reply must agree.
ParsedReply parsed(const ReplyStyle& style, const ParserOptions& options, std::string_view text,
                   const std::vector<size_t>& cuts) {
  const auto parser = style.make_parser(options);
  const bool valid = base::utf8_is_valid(text);
  ParsedReply heard;
  const auto listen = [&](const std::vector<ReplyEvent>& events) {
    add(heard, events, valid);
    for (const ReplyEvent& event : events)
      REQUIRE((options.stream_arguments || event.kind != ReplyEvent::Kind::kCallDrop));
  };
  size_t at = 0;
  for (const size_t cut : cuts) {
    listen(parser->feed(text.substr(at, cut - at)));
    at = cut;
  }
  listen(parser->feed(text.substr(at)));
  listen(parser->finish());
  REQUIRE(heard == parser->reply());
  return heard;
}

void check(const ParsedReply& is, const ParsedReply& wanted) {
  CHECK(is.reasoning == wanted.reasoning);
  CHECK(is.content == wanted.content);
  REQUIRE(is.tool_calls.size() == wanted.tool_calls.size());
  for (size_t i = 0; i < is.tool_calls.size(); ++i) {
    CHECK(is.tool_calls[i].name == wanted.tool_calls[i].name);
    CHECK(is.tool_calls[i].arguments == wanted.tool_calls[i].arguments);
    CHECK(is.tool_calls[i].id == wanted.tool_calls[i].id);
  }
}

std::vector<size_t> random_cuts(size_t length, std::mt19937& random) {
  std::vector<size_t> cuts;
  for (size_t at = 0; (at += random() % 9) < length;) cuts.push_back(at);
  return cuts;
}

std::vector<size_t> every_byte(size_t length) {
  std::vector<size_t> cuts(length);
  for (size_t i = 0; i < length; ++i) cuts[i] = i;
  return cuts;
}

TEST_CASE("replies mean what the fixtures say, in one piece and byte by byte") {
  size_t n = 0;
  for (const ReplyStyle& style : reply_styles()) {
    for (const base::Json& each : cases_of(style.name)) {
      CAPTURE(style.name);
      CAPTURE(text_in(each, "what"));
      const std::string text = text_in(each, "text");
      for (const bool streams : {true, false}) {
        const ParserOptions options = options_of(each, streams);
        check(parsed(style, options, text, {}), expected_of(each));
        check(parsed(style, options, text, every_byte(text.size())), expected_of(each));
      }
      ++n;
    }
  }
  CHECK(n > 150);
}

TEST_CASE("where a reply is cut does not matter") {
  std::mt19937 random(7);
  for (const ReplyStyle& style : reply_styles()) {
    for (const base::Json& each : cases_of(style.name)) {
      CAPTURE(style.name);
      CAPTURE(text_in(each, "what"));
      const std::string text = text_in(each, "text");
      const ParserOptions options = options_of(each, /*streams=*/true);
      for (size_t cut = 0; cut <= text.size(); ++cut)
        REQUIRE(parsed(style, options, text, {cut}) == expected_of(each));
      for (int i = 0; i < 20; ++i)
        REQUIRE(parsed(style, options, text, random_cuts(text.size(), random)) ==
                expected_of(each));
    }
  }
}

// Every style reads the texts of every other, whole and broken off: nothing crashes, no call is
// malformed, and both ways of streaming agree.
TEST_CASE("a parser takes any text") {
  std::mt19937 random(11);
  std::vector<std::string> texts;
  for (const ReplyStyle& style : reply_styles()) {
    for (const base::Json& each : cases_of(style.name)) texts.push_back(text_in(each, "text"));
  }
  for (const ReplyStyle& style : reply_styles()) {
    for (const std::string& whole : texts) {
      std::string text = whole.substr(0, random() % (whole.size() + 1));
      if (!text.empty() && random() % 3 == 0) text[random() % text.size()] ^= 0x41;  // broken UTF-8
      if (random() % 3 == 0) text += whole;
      CAPTURE(style.name);
      CAPTURE(text);
      const base::Json offered;
      const ParserOptions options = options_of(offered, /*streams=*/true);
      const ParsedReply reply = parsed(style, options, text, {});
      REQUIRE(parsed(style, options, text, random_cuts(text.size(), random)) == reply);
      REQUIRE(parsed(style, options_of(offered, /*streams=*/false), text, {}) == reply);
      for (const ToolCall& call : reply.tool_calls) {
        REQUIRE_FALSE(call.name.empty());
        const auto arguments = base::Json::parse(call.arguments);
        REQUIRE((arguments && arguments->is_object()));
      }
    }
  }
}

TEST_CASE("arguments arrive while they are written") {
  const ReplyStyle& style = reply_style("<tool_call>");
  CHECK(style.name == "hermes");
  const auto parser = style.make_parser({.tools = base::Json::parse(kTools).value()});
  CHECK(parser->feed("<tool_call>{\"name\": \"no").empty());
  using Kind = ReplyEvent::Kind;
  CHECK(parser->feed("w\", \"arguments\": {\"zone\": \"Z\xC3") ==
        std::vector<ReplyEvent>{{Kind::kCallBegin, 0, "now"},
                                {Kind::kArguments, 0, "{\"zone\": \"Z"}});
  CHECK(parser->feed("\xBC\"") == std::vector<ReplyEvent>{{Kind::kArguments, 0, "ü\""}});
  CHECK(parser->feed(" oops") ==
        std::vector<ReplyEvent>{
            {Kind::kArguments, 0, " "},
            {Kind::kCallDrop, 0, ""},
            {Kind::kContent, 0,
             "<tool_call>{\"name\": \"now\", \"arguments\": {\"zone\": \"Zü\" oops"}});
  CHECK(parser->finish().empty());
}

TEST_CASE("arguments between tags arrive one after another, texts while they are written") {
  using Kind = ReplyEvent::Kind;
  const auto piece = [](std::string_view text) {
    return std::vector<ReplyEvent>{{Kind::kArguments, 0, std::string(text)}};
  };
  const ReplyStyle& style = reply_style("<tool_call> <arg_key>");
  CHECK(style.name == "glm");
  const auto parser = style.make_parser({.tools = base::Json::parse(kTools).value()});
  CHECK(parser->feed("<tool_call>get_wea").empty());
  CHECK(parser->feed("ther\n<arg") ==
        std::vector<ReplyEvent>{{Kind::kCallBegin, 0, "get_weather"}});
  CHECK(parser->feed("_key>city</arg_key>\n<arg_value>Z\xC3") == piece("{\"city\":\"Z"));
  CHECK(parser->feed("\xBCri\"") == piece("üri\\\""));
  CHECK(parser->feed("ch</arg_").size() == 1);
  CHECK(parser->feed("value><arg_key>days</arg_key><arg_value>1") == piece("\""));
  CHECK(parser->feed("2</arg_value>") == piece(",\"days\":12"));
  CHECK(parser->feed("\n</tool_call>") == piece("}"));
  CHECK(parser->finish().empty());
  CHECK(parser->reply().tool_calls[0].arguments == R"({"city":"Züri\"ch","days":12})");
}

TEST_CASE("long replies cost time that grows with their length") {
  for (const ReplyStyle& style : reply_styles()) {
    const ParserOptions options{.tools = base::Json::parse(kTools).value()};
    const auto parser = style.make_parser(options);
    std::string text = "<tool_call><|tool_call_start|>[TOOL_CALLS]<|python_tag|>";
    for (int i = 0; i < 20'000; ++i) text += "<｜tool <|channel   {[";
    for (size_t at = 0; at < text.size(); at += 7) parser->feed(text.substr(at, 7));
    parser->finish();
    const ParsedReply& reply = parser->reply();
    CHECK(reply.content.size() + reply.tool_calls.size() > 0);
  }
}

TEST_CASE("templates show their style") {
  const auto name = [](std::string_view source) { return reply_style(source).name; };
  CHECK(name("{{ '<|channel|>analysis<|message|>' }}") == "gpt-oss");
  CHECK(name("{{ '<|tool_call>call:' }}") == "gemma4");
  CHECK(name("{{ '<think>' }}{{ '<｜tool▁calls▁begin｜>' }}") == "deepseek");
  CHECK(name("{{ '[TOOL_CALLS]' }}") == "mistral");
  CHECK(name("{{ '[THINK]' }}") == "mistral");
  CHECK(name("<|START_THINKING|> <|START_ACTION|>") == "command");
  CHECK(name("{{ '<|tools_prefix|>' }}") == "apertus");
  CHECK(name("<seed:tool_call> <function=f> <parameter=p>") == "seed");
  CHECK(name("<think> <tool_call> <arg_key> <|observation|>") == "glm");
  CHECK(name("<|observation|> # 可用工具") == "glm4");
  CHECK(name("<|observation|>") == "plain");
  CHECK(name("<|thought_start|> <|tool_call_start|>") == "minicpm3");
  CHECK(name("{{ 'List of tools: [' }}<tool_response>") == "lfm2");
  CHECK(name("<tool_call> <function=f> <parameter=p> <think>") == "qwen-xml");
  CHECK(name("<function_calls>") == "olmo3");
  CHECK(name("<|start_of_role|> <|tool_call|> <think>") == "granite");
  CHECK(name("<|start_of_role|> <tool_call>") == "hermes");
  CHECK(name("<tool_call> <think>") == "hermes");
  CHECK(name("<think> <TOOLCALL>") == "nemotron");
  CHECK(name("<toolcall>") == "nemotron");
  CHECK(name("<|action_start|><|plugin|>") == "internlm");
  CHECK(name("<tool_calls> <tool_call> <answer>") == "hunyuan");
  CHECK(name("<tool_call> <response> <tool_response>") == "ernie");
  CHECK(name("<tool_call> <tool_response>") == "hermes");
  CHECK(name("<|header_start|> \"parameters\" [func_name1(a=b)]") == "pythonic");
  CHECK(name("<|header_start|> \"parameters\"") == "llama4");
  CHECK(name("<|header_start|>") == "plain");
  CHECK(name("<|tool|>") == "phi4");
  CHECK(name("functools[") == "phi4");
  CHECK(name("<|start_header_id|> \"parameters\"") == "llama3");
  CHECK(name("<|start_header_id|>") == "plain");
  CHECK(name("{{ '<think>' }}") == "think");
  CHECK(name("<|im_start|>") == "plain");
  CHECK(name("") == "plain");
}

TEST_CASE("a prompt that ends with the marker opens thinking") {
  const ReplyStyle& style = reply_style("<think>");
  CHECK(style.opens_thinking("<|im_start|>assistant\n<think>\n"));
  CHECK(style.opens_thinking("<think>"));
  CHECK_FALSE(style.opens_thinking("<|im_start|>assistant\n<think>\n\n</think>\n\n"));
  CHECK_FALSE(style.opens_thinking("<|im_start|>assistant\n"));
  CHECK_FALSE(style.opens_thinking(""));
  CHECK_FALSE(reply_style("").opens_thinking("<think>"));
}

TEST_CASE("docs/chat.md has the table of styles") {
  std::ifstream file("docs/chat.md", std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  const auto cell = [](std::string_view mark) {
    if (mark.empty()) return std::string("-");
    std::string out = "`";
    for (const char c : mark) out += c == '|' ? std::string("\\|") : std::string(1, c);
    return out + "`";
  };
  std::string table = "| style | families | thinking | a tool call |\n|---|---|---|---|\n";
  for (const ReplyStyle& style : reply_styles()) {
    table += "| " + std::string(style.name) + " | " + std::string(style.families) + " | " +
             cell(style.thinking) + " | " + cell(style.calls) + " |\n";
  }
  CAPTURE(table);
  CHECK(text.str().find(table + "\n") != std::string::npos);
}

TEST_CASE("a parser sees the control tokens it reads, and no others") {
  CHECK(reply_style("<|channel|><|message|>").reads_token("<|channel|>"));
  CHECK_FALSE(reply_style("<|channel|><|message|>").reads_token("<think>"));
  CHECK_FALSE(reply_style("").reads_token("<think>"));
}

}  // namespace
}  // namespace puna::chat
