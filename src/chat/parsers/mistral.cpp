// [TOOL_CALLS][{"name": ..., "arguments": {...}, "id": ...}, ...] up to 2024, and later once for
// each call [TOOL_CALLS]name[ARGS]{...}, with [CALL_ID]id between in some models. Thinking stands
// between [THINK] and [/THINK].
#include "chat/parsers/families.h"

namespace puna::chat {
namespace {

constexpr std::string_view kArguments = "[ARGS]";
constexpr std::string_view kCallId = "[CALL_ID]";
constexpr size_t kMaxName = 200;  // bytes of name and id

bool is_name(std::string_view text) {
  static constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:/-";
  return !text.empty() && text.find_first_not_of(kLetters) == std::string_view::npos;
}

class Reader final : public CallReader {
 public:
  ReadState push(char c, Emitter& out) override {
    switch (form_) {
      case Form::kUnknown:
        if (trimmed({&c, 1}).empty()) return ReadState::kReading;
        form_ = c == '[' || c == '{' ? Form::kList : Form::kName;
        return push(c, out);
      case Form::kList:
        return calls_.push(c, out);
      case Form::kName:
        return name_byte(c, out);
      case Form::kArguments:
        return arguments_.push(c, out);
    }
    return ReadState::kMalformed;
  }
  bool end(Emitter&) override { return false; }

 private:
  enum class Form { kUnknown, kList, kName, kArguments };

  ReadState name_byte(char c, Emitter& out) {
    head_ += c;
    if (head_.size() > kMaxName) return ReadState::kMalformed;
    const bool marked = head_.ends_with(kArguments);
    if (!marked && c != '{') return ReadState::kReading;
    std::string_view head(head_);
    head.remove_suffix(marked ? kArguments.size() : 1);
    const size_t id_at = head.find(kCallId);
    const std::string_view name = trimmed(head.substr(0, id_at));
    if (!is_name(name)) return ReadState::kMalformed;
    out.begin_call(std::string(name));
    if (id_at != std::string_view::npos)
      out.call_id(std::string(trimmed(head.substr(id_at + kCallId.size()))));
    form_ = Form::kArguments;
    return marked ? ReadState::kReading : arguments_.push(c, out);
  }

  Form form_ = Form::kUnknown;
  std::string head_;  // name and id
  CallsReader calls_;
  ArgumentsReader arguments_;
};

constexpr std::string_view kNamed[] = {"[TOOL_CALLS]@name[ARGS]@arguments",
                                       "[TOOL_CALLS]@name[CALL_ID]@id[ARGS]@arguments"};
constexpr std::string_view kListed[] = {
    "{\"name\": \"@name\", \"arguments\": @arguments}",
    "{\"name\": \"@name\", \"arguments\": @arguments, \"id\": \"@id\"}"};
constexpr CallSection kSections[] = {
    {.calls = kNamed, .several = true},
    {.open = "[TOOL_CALLS][", .close = "]", .calls = kListed, .between = ", ", .several = true}};

}  // namespace

const CallFrame kMistralFrame{.sections = kSections,
                              .trigger = R"(\[TOOL_CALLS\])",
                              .names = "[A-Za-z0-9_.:/-]{1,150}",
                              .thinks_anywhere = true};

std::unique_ptr<ReplyParser> make_mistral(const ParserOptions& options) {
  static const Syntax kSyntax{.think_open = "[THINK]",
                              .think_close = "[/THINK]",
                              .thinks_anywhere = true,
                              .openers = {"[TOOL_CALLS]"},
                              .make_reader = [](const CallContext&) -> std::unique_ptr<CallReader> {
                                return std::make_unique<Reader>();
                              }};
  return make_section_parser(kSyntax, options);
}

}  // namespace puna::chat
