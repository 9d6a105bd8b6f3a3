// Calls written as Python: LFM2's <|tool_call_start|>[f(a="x", b=1), g()]<|tool_call_end|>, and
// OLMo 3's <function_calls>, with one call on each line.
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

class Reader final : public WholeReader {
 public:
  Reader(std::string_view close, bool listed, const Json& tools)
      : WholeReader(close), listed_(listed), tools_(tools) {}

 private:
  bool read(std::string_view text, Emitter& out) override {
    LiteralReader reader(text, LiteralStyle::kPython);
    const bool bracket = reader.skip('[');
    if (listed_ && !bracket) return false;
    size_t n_calls = 0;
    while (!reader.at_end() && !(bracket && reader.skip(']'))) {
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

}  // namespace puna::chat
