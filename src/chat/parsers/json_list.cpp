// A marker and a JSON list of calls: <|tool_call|>[{"name": ..., "arguments": {...}}, ...].
// Granite 3 writes it so, or with <tool_call>; Phi-4-mini also after "functools"; Nemotron between
// <TOOLCALL> marks, Minitron in small letters. InternLM 2 has a single call behind
// <|action_start|><|plugin|>.
#include "chat/parsers/families.h"

namespace puna::chat {
namespace {

class Reader final : public CallReader {
 public:
  explicit Reader(std::string_view name_key) : calls_(name_key) {}
  ReadState push(char c, Emitter& out) override { return calls_.push(c, out); }
  bool end(Emitter&) override { return false; }

 private:
  CallsReader calls_;
};

std::unique_ptr<CallReader> make_reader(const CallContext&) { return make_json_list_reader(); }

constexpr std::string_view kCalls[] = {"{\"name\": \"@name\", \"arguments\": @arguments}"};
constexpr CallSection kGraniteSections[] = {
    {.open = "<|tool_call|>[", .close = "]", .calls = kCalls, .between = ", ", .several = true},
    {.open = "<tool_call>[", .close = "]", .calls = kCalls, .between = ", ", .several = true}};
constexpr CallSection kPhi4Sections[] = {{.open = "<|tool_call|>[",
                                          .close = "]<|/tool_call|>",
                                          .calls = kCalls,
                                          .between = ", ",
                                          .several = true},
                                         {.open = "functools[",
                                          .close = "]",
                                          .calls = kCalls,
                                          .between = ", ",
                                          .several = true,
                                          .at_start = true}};
constexpr CallSection kNemotronSections[] = {{.open = "<TOOLCALL>[",
                                              .close = "]</TOOLCALL>",
                                              .calls = kCalls,
                                              .between = ", ",
                                              .several = true}};
constexpr std::string_view kInternLmCalls[] = {
    "<|action_start|><|plugin|>\n{\"name\": \"@name\", \"parameters\": @arguments}<|action_end|>"};
constexpr CallSection kInternLmSections[] = {{.calls = kInternLmCalls}};

}  // namespace

std::unique_ptr<CallReader> make_json_list_reader(std::string_view name_key) {
  return std::make_unique<Reader>(name_key);
}

const CallFrame kGraniteFrame{.sections = kGraniteSections,
                              .trigger = R"(<\|tool_call\|>|<tool_call>)"};
const CallFrame kPhi4Frame{.sections = kPhi4Sections,
                           .trigger = R"(<\|tool_call\|>)",
                           .start_trigger = R"(functools[ \t\r\n]*[\[{])"};
const CallFrame kNemotronFrame{.sections = kNemotronSections, .trigger = "<TOOLCALL>|<toolcall>"};
const CallFrame kInternLmFrame{.sections = kInternLmSections,
                               .trigger = R"(<\|action_start\|><\|plugin\|>)"};

std::unique_ptr<ReplyParser> make_granite(const ParserOptions& options) {
  static const Syntax kSyntax{.think_open = "<think>",
                              .think_close = "</think>",
                              .openers = {"<|tool_call|>", "<tool_call>"},
                              .skipped = {"<response>", "</response>", "</tool_call>"},
                              .make_reader = make_reader};
  return make_section_parser(kSyntax, options);
}

std::unique_ptr<ReplyParser> make_phi4(const ParserOptions& options) {
  static const Syntax kSyntax{.think_open = "<think>",
                              .think_close = "</think>",
                              .openers = {"<|tool_call|>"},
                              .starters = {"functools"},
                              .skipped = {"<|/tool_call|>"},
                              .make_reader = make_reader};
  return make_section_parser(kSyntax, options);
}

std::unique_ptr<ReplyParser> make_nemotron(const ParserOptions& options) {
  static const Syntax kSyntax{.think_open = "<think>",
                              .think_close = "</think>",
                              .openers = {"<TOOLCALL>", "<toolcall>"},
                              .skipped = {"</TOOLCALL>", "</toolcall>"},
                              .make_reader = make_reader};
  return make_section_parser(kSyntax, options);
}

std::unique_ptr<ReplyParser> make_internlm(const ParserOptions& options) {
  static const Syntax kSyntax{
      .think_open = "<think>",
      .think_close = "</think>",
      .openers = {"<|action_start|><|plugin|>", "<|action_start|> <|plugin|>"},
      .skipped = {"<|action_end|>"},
      .make_reader = make_reader};
  return make_section_parser(kSyntax, options);
}

}  // namespace puna::chat
