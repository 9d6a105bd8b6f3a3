// Apertus: <|inner_prefix|>thinking<|inner_suffix|>, and calls whose names are the keys of their
// arguments, <|tools_prefix|>[{"name": {...}}, ...]<|tools_suffix|>.
#include "chat/parsers/families.h"

namespace puna::chat {
namespace {

// The list, up to its last bracket.
class Reader final : public CallReader {
 public:
  ReadState push(char c, Emitter& out) override {
    if (state_ == State::kArguments) {
      const ReadState state = arguments_.push(c, out);
      if (state == ReadState::kDone) state_ = State::kBehindArguments;
      return state == ReadState::kDone ? ReadState::kReading : state;
    }
    if (state_ == State::kName) return name_byte(c, out);
    if (trimmed({&c, 1}).empty()) return ReadState::kReading;
    switch (state_) {
      case State::kBegin:
        return c == '[' ? to(State::kCall) : ReadState::kMalformed;
      case State::kCall:
        return c == '{' ? to(State::kKey) : ReadState::kMalformed;
      case State::kKey:
        text_ = c;
        return c == '"' ? to(State::kName) : ReadState::kMalformed;
      case State::kColon:
        arguments_ = ArgumentsReader();
        return c == ':' ? to(State::kArguments) : ReadState::kMalformed;
      case State::kBehindArguments:
        return c == '}' ? to(State::kBehindCall) : ReadState::kMalformed;
      case State::kBehindCall:
        if (c == ']') return ReadState::kDone;
        return c == ',' ? to(State::kCall) : ReadState::kMalformed;
      default:
        return ReadState::kMalformed;
    }
  }
  bool end(Emitter&) override { return false; }

 private:
  enum class State {
    kBegin,
    kCall,
    kKey,
    kName,
    kColon,
    kArguments,
    kBehindArguments,
    kBehindCall,
  };

  ReadState to(State state) {
    state_ = state;
    return ReadState::kReading;
  }

  ReadState name_byte(char c, Emitter& out) {
    text_ += c;
    const bool was_escaped = std::exchange(escaped_, !escaped_ && c == '\\');
    if (c != '"' || was_escaped) return ReadState::kReading;
    const auto name = base::Json::parse(text_);
    if (!name || name->string().empty()) return ReadState::kMalformed;
    out.begin_call(name->string());
    return to(State::kColon);
  }

  State state_ = State::kBegin;
  std::string text_;  // of the name
  bool escaped_ = false;
  ArgumentsReader arguments_;
};

constexpr std::string_view kCalls[] = {"{\"@name\": @arguments}"};
constexpr CallSection kSections[] = {{.open = "<|tools_prefix|>[",
                                      .close = "]<|tools_suffix|>",
                                      .calls = kCalls,
                                      .between = ", ",
                                      .several = true}};

}  // namespace

const CallFrame kApertusFrame{.sections = kSections, .trigger = R"(<\|tools_prefix\|>)"};

std::unique_ptr<ReplyParser> make_apertus(const ParserOptions& options) {
  static const Syntax kSyntax{.think_open = "<|inner_prefix|>",
                              .think_close = "<|inner_suffix|>",
                              .openers = {"<|tools_prefix|>"},
                              .skipped = {"<|tools_suffix|>"},
                              .make_reader = [](const CallContext&) -> std::unique_ptr<CallReader> {
                                return std::make_unique<Reader>();
                              }};
  return make_section_parser(kSyntax, options);
}

}  // namespace puna::chat
