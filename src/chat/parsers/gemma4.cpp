// Gemma 4: <|channel>thought\n...<channel|> and <|tool_call>call:name{key:value, ...}<tool_call|>,
// with strings between <|"|> marks.
#include "chat/parsers/families.h"
#include "chat/parsers/literal.h"

namespace puna::chat {
namespace {

class Reader final : public WholeReader {
 public:
  Reader() : WholeReader("<tool_call|>") {}

 private:
  bool read(std::string_view text, Emitter& out) override {
    LiteralReader reader(text, LiteralStyle::kGemma);
    if (!reader.skip("call:")) return false;
    const std::string name(reader.word());
    if (name.empty() || !reader.skip('{')) return false;
    const auto arguments = reader.members('}');
    return arguments && reader.at_end() && emit_call(name, *arguments, out);
  }
  bool may_become(std::string_view begin) const override {
    static constexpr std::string_view kBegin = "call:";
    const std::string_view seen = trimmed(begin);
    return seen.starts_with(kBegin) || kBegin.starts_with(seen);
  }
};

constexpr std::string_view kCalls[] = {"<|tool_call>call:@name@arguments<tool_call|>"};
constexpr CallSection kSections[] = {{.calls = kCalls, .several = true}};
constexpr std::string_view kEnds[] = {"<tool_call|>"};

}  // namespace

const CallFrame kGemma4Frame{.arguments = CallFrame::Arguments::kGemma,
                             .sections = kSections,
                             .trigger = R"(<\|tool_call>)",
                             .ends = kEnds,
                             .names = "[A-Za-z_][A-Za-z0-9_.-]*",
                             .thinks_anywhere = true};

std::unique_ptr<ReplyParser> make_gemma4(const ParserOptions& options) {
  static const Syntax kSyntax{.think_open = "<|channel>thought",
                              .think_close = "<channel|>",
                              .thinks_anywhere = true,
                              .openers = {"<|tool_call>"},
                              .skipped = {"<|tool_response>"},
                              .make_reader = [](const CallContext&) -> std::unique_ptr<CallReader> {
                                return std::make_unique<Reader>();
                              }};
  return make_section_parser(kSyntax, options);
}

}  // namespace puna::chat
