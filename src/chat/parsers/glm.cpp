// GLM. From 4.5 on a call is <tool_call>name, then for each argument <arg_key>key</arg_key> and
// <arg_value>value</arg_value>, then </tool_call>; 4.5 and 4.6 put line ends between them. GLM-4
// of April 2025 writes the name of the tool, a line end and JSON, which are all of its reply.
#include <algorithm>

#include "chat/parsers/families.h"
#include "chat/parsers/tagged.h"

namespace puna::chat {
namespace {

constexpr std::string_view kClose = "</tool_call>";
constexpr ArgumentTags kTags{.before_name = "<arg_key>",
                             .behind_name = "</arg_key>",
                             .before_value = "<arg_value>",
                             .behind_value = "</arg_value>"};
constexpr TaggedSyntax kTagged{.tags = kTags, .close = kClose};

constexpr std::string_view kCalls[] = {"<tool_call>@name\n@arguments\n</tool_call>"};
constexpr CallSection kSections[] = {{.calls = kCalls, .between = "\n", .several = true}};
constexpr std::string_view kEnds[] = {"</arg_value>", kClose};

// The name of a tool, of which the opener is the beginning, and its arguments.
class NamedReader final : public CallReader {
 public:
  explicit NamedReader(const CallContext& context)
      : name_(context.opener), tools_(context.options.tools) {}

  ReadState push(char c, Emitter& out) override {
    if (begun_) return arguments_.push(c, out);
    const bool space = trimmed({&c, 1}).empty();
    if (c == '{' && is_offered(tools_, name_)) {
      begun_ = true;
      out.begin_call(name_);
      return arguments_.push(c, out);
    }
    if (space) {
      name_ends_ = true;
    } else {
      name_ += c;
    }
    const bool may_become = name_ends_ ? space && is_offered(tools_, name_) : begins_tool();
    return may_become ? ReadState::kReading : ReadState::kMalformed;
  }
  bool end(Emitter&) override { return false; }

 private:
  bool begins_tool() const {
    return std::ranges::any_of(tools_.items(), [&](const base::Json& tool) {
      const base::Json* name = function_of(tool).find("name");
      return name && name->is_string() && name->string().starts_with(name_);
    });
  }

  std::string name_;
  const base::Json& tools_;
  ArgumentsReader arguments_;
  bool name_ends_ = false, begun_ = false;
};

constexpr std::string_view kNamed[] = {"@name\n@arguments"};
constexpr CallSection kNamedSections[] = {{.calls = kNamed, .at_start = true, .to_end = true}};

}  // namespace

const CallFrame kGlmFrame{.arguments = CallFrame::Arguments::kTags,
                          .tags = kTags,
                          .sections = kSections,
                          .trigger = "<tool_call>",
                          .ends = kEnds};
const CallFrame kGlm4Frame{.sections = kNamedSections,
                           .start_trigger = R"([ \t\r\n]*(@name)[ \t\r\n]*\{)"};

std::unique_ptr<ReplyParser> make_glm(const ParserOptions& options) {
  static const Syntax kSyntax{
      .think_open = "<think>",
      .think_close = "</think>",
      .openers = {"<tool_call>"},
      .make_reader = [](const CallContext& context) -> std::unique_ptr<CallReader> {
        return make_tagged_reader(kTagged, /*name_open=*/true, context.options.tools);
      }};
  return make_section_parser(kSyntax, options);
}

std::unique_ptr<ReplyParser> make_glm4(const ParserOptions& options) {
  static const Syntax kSyntax{
      .names_start = true,
      .make_reader = [](const CallContext& context) -> std::unique_ptr<CallReader> {
        return std::make_unique<NamedReader>(context);
      }};
  return make_section_parser(kSyntax, options);
}

}  // namespace puna::chat
