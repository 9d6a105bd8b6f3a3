// Calls written as Python: LFM2's <|tool_call_start|>[f(a="x", b=1), g()]<|tool_call_end|>; OLMo
// 3's <function_calls>, with one call on each line; MiniCPM3's <|tool_call_start|>, with a fence
// around such lines; and the list alone as all of a reply, as Llama 3.2 and 4 are told to write it.
#include "chat/parsers/pythonic.h"

#include "chat/parsers/families.h"

namespace puna::chat {
namespace {

using base::Json;

// The name of parameter `i` of a tool, for an argument without a name; empty when not known.
std::string parameter_name(const Json* properties, size_t i) {
  if (!properties || i >= properties->members().size()) return {};
  return properties->members()[i].first;
}

constexpr std::string_view kFence = "```python";
constexpr std::string_view kFenceEnd = "```";

class Reader final : public WholeReader {
 public:
  Reader(std::string_view close, bool listed, const Json& tools)
      : WholeReader(close), listed_(listed), tools_(tools) {}

 private:
  bool read(std::string_view text, Emitter& out) override {
    LiteralReader reader(text, LiteralStyle::kPython);
    const bool fenced = !listed_ && reader.skip(kFence);
    const bool bracket = reader.skip('[');
    if (listed_ && !bracket) return false;
    size_t n_calls = 0;
    while (!reader.at_end() && !(bracket && reader.skip(']')) &&
           !(fenced && reader.skip(kFenceEnd))) {
      if (listed_ && n_calls > 0 && !reader.skip(',')) return false;
      if (!listed_) reader.skip(',');
      const std::string name(reader.word());
      if (name.empty() || !reader.skip('(')) return false;
      const auto arguments = python_arguments(reader, tool_properties(tools_, name));
      if (!arguments || !emit_call(name, *arguments, out)) return false;
      ++n_calls;
    }
    return n_calls > 0 && reader.at_end();
  }

  const bool listed_;
  const Json& tools_;
};

// A list, its "[" read, of calls of tools that are offered; other lists are text.
class ListReader final : public CallReader {
 public:
  explicit ListReader(const Json& tools) : tools_(tools) {}

  ReadState push(char c, Emitter& out) override {
    text_ += c;
    if (!named_) return name_byte(c);
    if (!inside_list(c)) return read(out) ? ReadState::kDone : ReadState::kMalformed;
    return ReadState::kReading;
  }
  bool end(Emitter&) override { return false; }

 private:
  // The name of the first tool decides whether it is a list of calls.
  ReadState name_byte(char c) {
    const std::string_view seen = trimmed(text_);
    if (c == '(') {
      named_ = is_offered(tools_, trimmed(seen.substr(0, seen.size() - 1)));
      if (named_) open_ = "[(";
      return named_ ? ReadState::kReading : ReadState::kMalformed;
    }
    for (const Json& tool : tools_.items()) {
      const Json* name = function_of(tool).find("name");
      if (name && name->is_string() && name->string().starts_with(seen)) return ReadState::kReading;
    }
    return ReadState::kMalformed;
  }

  // Brackets outside of strings; false when the list's own was closed.
  bool inside_list(char c) {
    if (quote_ != 0) {
      if (!std::exchange(escaped_, !escaped_ && c == '\\') && c == quote_) quote_ = 0;
    } else if (c == '"' || c == '\'') {
      quote_ = c;
    } else if (c == '[' || c == '(' || c == '{') {
      open_ += c;
    } else if (c == ']' || c == ')' || c == '}') {
      open_.pop_back();
    }
    return !open_.empty();
  }

  bool read(Emitter& out) const {
    LiteralReader reader(text_, LiteralStyle::kPython);
    for (bool first = true; !reader.skip(']'); first = false) {
      if (!first && !reader.skip(',')) return false;
      const std::string name(reader.word());
      if (!is_offered(tools_, name) || !reader.skip('(')) return false;
      const auto arguments = python_arguments(reader, tool_properties(tools_, name));
      if (!arguments || !emit_call(name, *arguments, out)) return false;
    }
    return reader.at_end();
  }

  const Json& tools_;
  std::string text_, open_;
  bool named_ = false, escaped_ = false;
  char quote_ = 0;
};

constexpr std::string_view kCalls[] = {"@name@arguments"};
constexpr CallSection kLfm2Sections[] = {{.open = "<|tool_call_start|>[",
                                          .close = "]<|tool_call_end|>",
                                          .calls = kCalls,
                                          .between = ", ",
                                          .several = true}};
constexpr std::string_view kLfm2Ends[] = {"<|tool_call_end|>"};
constexpr CallSection kOlmo3Sections[] = {{.open = "<function_calls>\n",
                                           .close = "\n</function_calls>",
                                           .calls = kCalls,
                                           .between = "\n",
                                           .several = true}};
constexpr std::string_view kOlmo3Ends[] = {"</function_calls>"};
constexpr CallSection kMiniCpm3Sections[] = {{.open = "<|tool_call_start|>\n```python\n",
                                              .close = "\n```\n<|tool_call_end|>",
                                              .calls = kCalls,
                                              .between = "\n",
                                              .several = true}};
constexpr CallSection kPythonicSections[] = {{.open = "[",
                                              .close = "]",
                                              .calls = kCalls,
                                              .between = ", ",
                                              .several = true,
                                              .at_start = true},
                                             {.open = "<|python_start|>[",
                                              .close = "]<|python_end|>",
                                              .calls = kCalls,
                                              .between = ", ",
                                              .several = true,
                                              .at_start = true}};

}  // namespace

const CallFrame kLfm2Frame{.arguments = CallFrame::Arguments::kPython,
                           .sections = kLfm2Sections,
                           .trigger = R"(<\|tool_call_start\|>)",
                           .ends = kLfm2Ends,
                           .names = "[A-Za-z_][A-Za-z0-9_.-]*"};
const CallFrame kOlmo3Frame{.arguments = CallFrame::Arguments::kPython,
                            .sections = kOlmo3Sections,
                            .trigger = "<function_calls>",
                            .ends = kOlmo3Ends,
                            .names = "[A-Za-z_][A-Za-z0-9_.-]*"};

const CallFrame kMiniCpm3Frame{.arguments = CallFrame::Arguments::kPython,
                               .sections = kMiniCpm3Sections,
                               .trigger = R"(<\|tool_call_start\|>)",
                               .ends = kLfm2Ends,
                               .names = "[A-Za-z_][A-Za-z0-9_.-]*"};
const CallFrame kPythonicFrame{
    .arguments = CallFrame::Arguments::kPython,
    .sections = kPythonicSections,
    .start_trigger = R"([ \t\r\n]*(<\|python_start\|>)?[ \t\r\n]*\[[ \t\r\n]*(@name)[ \t\r\n]*\()",
    .names = "[A-Za-z_][A-Za-z0-9_.-]*"};

std::optional<Json> python_arguments(LiteralReader& reader, const Json* properties) {
  Json out = Json::object();
  bool named = false;
  for (size_t i = 0; !reader.skip(')'); ++i) {
    if (i > 0 && !reader.skip(',')) return std::nullopt;
    if (i > 0 && reader.skip(')')) break;
    LiteralReader ahead = reader;
    std::string name(ahead.word());
    if (!name.empty() && ahead.skip('=')) {
      reader = ahead;
      named = true;
    } else {
      name = parameter_name(properties, i);
      if (named || name.empty()) return std::nullopt;
    }
    auto value = reader.value();
    if (!value) return std::nullopt;
    out.set(std::move(name), *std::move(value));
  }
  return out;
}

std::unique_ptr<ReplyParser> make_lfm2(const ParserOptions& options) {
  static const Syntax kSyntax{
      .think_open = "<think>",
      .think_close = "</think>",
      .openers = {"<|tool_call_start|>"},
      .make_reader = [](const CallContext& context) -> std::unique_ptr<CallReader> {
        return std::make_unique<Reader>("<|tool_call_end|>", /*listed=*/true,
                                        context.options.tools);
      }};
  return make_section_parser(kSyntax, options);
}

std::unique_ptr<ReplyParser> make_olmo3(const ParserOptions& options) {
  static const Syntax kSyntax{
      .think_open = "<think>",
      .think_close = "</think>",
      .openers = {"<function_calls>"},
      .make_reader = [](const CallContext& context) -> std::unique_ptr<CallReader> {
        return std::make_unique<Reader>("</function_calls>", /*listed=*/false,
                                        context.options.tools);
      }};
  return make_section_parser(kSyntax, options);
}

std::unique_ptr<ReplyParser> make_minicpm3(const ParserOptions& options) {
  static const Syntax kSyntax{
      .think_open = "<|thought_start|>",
      .think_close = "<|thought_end|>",
      .openers = {"<|tool_call_start|>"},
      .make_reader = [](const CallContext& context) -> std::unique_ptr<CallReader> {
        return std::make_unique<Reader>("<|tool_call_end|>", /*listed=*/false,
                                        context.options.tools);
      }};
  return make_section_parser(kSyntax, options);
}

std::unique_ptr<ReplyParser> make_pythonic(const ParserOptions& options) {
  static const Syntax kSyntax{
      .starters = {"["},
      .answers = {{"<|python_start|>", "<|python_end|>"}},
      .make_reader = [](const CallContext& context) -> std::unique_ptr<CallReader> {
        return std::make_unique<ListReader>(context.options.tools);
      }};
  return make_section_parser(kSyntax, options);
}

}  // namespace puna::chat
