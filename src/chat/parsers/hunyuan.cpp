// Hunyuan and Jamba: calls between <tool_calls> and </tool_calls>. Jamba and Hunyuan A13B write a
// JSON list there; the small Hunyuan models write for each call
// "<tool_call>name\n```json\n{...}\n```</tool_call>". Hunyuan's answers stand between <answer>
// marks.
#include "chat/parsers/families.h"

namespace puna::chat {
namespace {

constexpr std::string_view kClose = "</tool_calls>";
constexpr std::string_view kCall = "<tool_call>";
constexpr std::string_view kCallEnd = "</tool_call>";
constexpr std::string_view kFence = "```json";
constexpr std::string_view kFenceEnd = "```";
constexpr size_t kMaxHead = 400;  // bytes before the arguments of a fenced call

class Reader final : public CallReader {
 public:
  ReadState push(char c, Emitter& out) override {
    switch (state_) {
      case State::kBetween:
        return between_byte(c, out);
      case State::kJson:
        if (const ReadState state = calls_.push(c, out); state != ReadState::kDone) return state;
        calls_ = CallsReader();
        return complete();
      case State::kHead:
        return head_byte(c, out);
      case State::kArguments:
        if (const ReadState state = arguments_.push(c, out); state != ReadState::kDone)
          return state;
        state_ = State::kTail;
        return ReadState::kReading;
      case State::kTail:
        return tail_byte(c);
    }
    return ReadState::kMalformed;
  }
  bool end(Emitter&) override { return state_ == State::kBetween && any_ && seen_.empty(); }

 private:
  enum class State { kBetween, kJson, kHead, kArguments, kTail };

  ReadState complete() {
    any_ = true;
    state_ = State::kBetween;
    seen_.clear();
    return ReadState::kReading;
  }

  // Before a call or the end of the section.
  ReadState between_byte(char c, Emitter& out) {
    if (seen_.empty() && trimmed({&c, 1}).empty()) return ReadState::kReading;
    if (seen_.empty() && (c == '[' || c == '{')) {
      state_ = State::kJson;
      return push(c, out);
    }
    seen_ += c;
    if (any_ && seen_ == kClose) return ReadState::kDone;
    if (seen_ == kCall) {
      state_ = State::kHead;
      seen_.clear();
      return ReadState::kReading;
    }
    const bool may_become = kCall.starts_with(seen_) || (any_ && kClose.starts_with(seen_));
    return may_become ? ReadState::kReading : ReadState::kMalformed;
  }

  // The name and the fence, or JSON at once.
  ReadState head_byte(char c, Emitter& out) {
    if (c != '{') {
      seen_ += c;
      return seen_.size() > kMaxHead ? ReadState::kMalformed : ReadState::kReading;
    }
    std::string_view name = trimmed(seen_);
    fenced_ = name.ends_with(kFence);
    if (fenced_) name = trimmed(name.substr(0, name.size() - kFence.size()));
    if (name.empty() || name.find_first_of("<>\"`\n") != std::string_view::npos)
      return ReadState::kMalformed;
    out.begin_call(std::string(name));
    seen_.clear();
    arguments_ = ArgumentsReader();
    state_ = State::kArguments;
    return push(c, out);
  }

  // Behind the arguments: the fence where one was opened, and the end of the call.
  ReadState tail_byte(char c) {
    if (trimmed({&c, 1}).empty()) return ReadState::kReading;
    seen_ += c;
    std::string_view rest = seen_;
    if (fenced_ && kFenceEnd.starts_with(rest)) return ReadState::kReading;
    if (fenced_ && rest.starts_with(kFenceEnd)) rest.remove_prefix(kFenceEnd.size());
    if (rest == kCallEnd) return complete();
    return kCallEnd.starts_with(rest) ? ReadState::kReading : ReadState::kMalformed;
  }

  State state_ = State::kBetween;
  std::string seen_;  // of the state
  CallsReader calls_;
  ArgumentsReader arguments_;
  bool any_ = false;     // a call is complete
  bool fenced_ = false;  // the open one has a fence
};

constexpr std::string_view kListed[] = {"{\"name\": \"@name\", \"arguments\": @arguments}"};
constexpr std::string_view kFenced[] = {"<tool_call>@name\n```json\n@arguments\n```</tool_call>"};
constexpr CallSection kSections[] = {{.open = "<tool_calls>\n[",
                                      .close = "]\n</tool_calls>",
                                      .calls = kListed,
                                      .between = ", ",
                                      .several = true},
                                     {.open = "<tool_calls>\n",
                                      .close = "\n</tool_calls>",
                                      .calls = kFenced,
                                      .between = "\n",
                                      .several = true}};

}  // namespace

const CallFrame kHunyuanFrame{
    .sections = kSections, .trigger = "<tool_calls>", .names = "[^\"\\\\<>{}()`\\s]+"};

std::unique_ptr<ReplyParser> make_hunyuan(const ParserOptions& options) {
  static const Syntax kSyntax{.think_open = "<think>",
                              .think_close = "</think>",
                              .openers = {"<tool_calls>"},
                              .answers = {{"<answer>", "</answer>"}},
                              .make_reader = [](const CallContext&) -> std::unique_ptr<CallReader> {
                                return std::make_unique<Reader>();
                              }};
  return make_section_parser(kSyntax, options);
}

}  // namespace puna::chat
