// Replies from hostile bytes: the first byte picks the style of the parser, the second how it is
// called; the rest is what a model wrote. Whatever it is, the result does not depend on where the
// text is cut, and what is called a call is one.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "chat/parsers.h"

namespace {

using namespace puna;

constexpr const char* kTools = R"([
  {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties":
    {"a": {"type": "string"}, "b": {"type": "integer"}, "c": {"type": ["object", "null"]}}}}}])";

chat::ParsedReply parsed(const chat::ReplyStyle& style, const chat::ParserOptions& options,
                         std::string_view text, size_t piece) {
  const auto parser = style.make_parser(options);
  for (size_t at = 0; at < text.size(); at += piece) parser->feed(text.substr(at, piece));
  parser->finish();
  return parser->reply();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const base::Json kOffered = base::Json::parse(kTools).value();
  if (size < 2) return 0;
  const auto styles = chat::reply_styles();
  const chat::ReplyStyle& style = styles[data[0] % styles.size()];
  chat::ParserOptions options;
  if ((data[1] & 1) == 0) options.tools = kOffered;
  options.thinking_open = (data[1] & 2) != 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const chat::ParsedReply whole = parsed(style, options, text, size);
  PUNA_CHECK(parsed(style, options, text, 1) == whole);
  PUNA_CHECK(parsed(style, options, text, 5) == whole);
  options.stream_arguments = false;
  PUNA_CHECK(parsed(style, options, text, 3) == whole);
  for (const chat::ToolCall& call : whole.tool_calls) {
    const auto arguments = base::Json::parse(call.arguments);
    PUNA_CHECK(!call.name.empty() && arguments && arguments->is_object());
  }
  return 0;
}
