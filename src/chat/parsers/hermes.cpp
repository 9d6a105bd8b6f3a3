// <tool_call>{"name": ..., "arguments": {...}}</tool_call>, once for each call: the syntax of
// Hermes 2 Pro, taken over by Qwen 2.5 and 3, SmolLM3, Granite 4 and others. ERNIE 4.5's answers
// stand between <response> marks beside it.
#include "chat/parsers/families.h"

namespace puna::chat {
namespace {

constexpr std::string_view kClose = "</tool_call>";

class Reader final : public CallReader {
 public:
  ReadState push(char c, Emitter& out) override {
    if (!complete_) {
      const ReadState state = calls_.push(c, out);
      complete_ = state == ReadState::kDone;
      return complete_ ? ReadState::kReading : state;
    }
    if (matched_ == 0 && trimmed({&c, 1}).empty()) return ReadState::kReading;
    if (c != kClose[matched_]) return ReadState::kMalformed;
    return ++matched_ == kClose.size() ? ReadState::kDone : ReadState::kReading;
  }
  // Some models end without the closing marker.
  bool end(Emitter&) override { return complete_; }

 private:
  CallsReader calls_;
  bool complete_ = false;
  size_t matched_ = 0;  // bytes of the closing marker
};

std::unique_ptr<CallReader> make_reader(const CallContext&) { return std::make_unique<Reader>(); }

constexpr std::string_view kCalls[] = {
    "<tool_call>\n{\"name\": \"@name\", \"arguments\": @arguments}\n</tool_call>"};
constexpr CallSection kSections[] = {{.calls = kCalls, .between = "\n", .several = true}};

}  // namespace

const CallFrame kHermesFrame{.sections = kSections, .trigger = "<tool_call>"};

std::unique_ptr<ReplyParser> make_hermes(const ParserOptions& options) {
  static const Syntax kSyntax{.think_open = "<think>",
                              .think_close = "</think>",
                              .openers = {"<tool_call>"},
                              .make_reader = make_reader};
  return make_section_parser(kSyntax, options);
}

std::unique_ptr<ReplyParser> make_ernie(const ParserOptions& options) {
  static const Syntax kSyntax{.think_open = "<think>",
                              .think_close = "</think>",
                              .openers = {"<tool_call>"},
                              .answers = {{"<response>", "</response>"}},
                              .make_reader = make_reader};
  return make_section_parser(kSyntax, options);
}

}  // namespace puna::chat
