// DeepSeek's calls: <｜tool▁calls▁begin｜>, then for each call <｜tool▁call▁begin｜>, its inside
// and <｜tool▁call▁end｜>, then <｜tool▁calls▁end｜>. The inside is, in V3 and R1,
// "function<｜tool▁sep｜>name\n```json\n{...}\n```"; in V3.1 "name<｜tool▁sep｜>{...}".
#include "chat/parsers/families.h"

namespace puna::chat {
namespace {

constexpr std::string_view kBegin = "<｜tool▁call▁begin｜>";
constexpr std::string_view kSeparator = "<｜tool▁sep｜>";
constexpr std::string_view kEnd = "<｜tool▁call▁end｜>";
constexpr std::string_view kFence = "```json";
constexpr std::string_view kFenceEnd = "```";
constexpr size_t kMaxHead = 400;  // bytes before the arguments
constexpr size_t kMaxTail = 100;  // bytes behind them

// One call, from behind kBegin to kEnd.
class Reader final : public CallReader {
 public:
  ReadState push(char c, Emitter& out) override {
    if (arguments_.done()) return tail_byte(c);
    if (begun_) {
      const ReadState state = arguments_.push(c, out);
      return state == ReadState::kDone ? ReadState::kReading : state;
    }
    head_ += c;
    if (c != '{') return head_.size() > kMaxHead ? ReadState::kMalformed : ReadState::kReading;
    const std::string name = name_of(std::string_view(head_).substr(0, head_.size() - 1));
    if (name.empty()) return ReadState::kMalformed;
    begun_ = true;
    out.begin_call(name);
    return arguments_.push(c, out);
  }
  bool end(Emitter&) override {
    const std::string_view rest = trimmed(tail_);
    return arguments_.done() && (rest.empty() || rest == kFenceEnd);
  }

 private:
  // What stands behind the arguments: a fence when one was opened, and kEnd.
  ReadState tail_byte(char c) {
    tail_ += c;
    if (tail_.size() > kMaxTail) return ReadState::kMalformed;
    std::string_view rest = trimmed(tail_);
    if (fenced_ && rest.starts_with(kFenceEnd)) rest = trimmed(rest.substr(kFenceEnd.size()));
    if (rest == kEnd) return ReadState::kDone;
    const bool fence_may_come = fenced_ && kFenceEnd.starts_with(rest);
    return kEnd.starts_with(rest) || fence_may_come ? ReadState::kReading : ReadState::kMalformed;
  }

  std::string name_of(std::string_view head) {
    const size_t separator = head.find(kSeparator);
    if (separator == std::string_view::npos) return {};
    const std::string_view before = trimmed(head.substr(0, separator));
    std::string_view after = trimmed(head.substr(separator + kSeparator.size()));
    if (after.empty()) return std::string(before);
    fenced_ = after.ends_with(kFence);
    if (!fenced_ || before != "function") return {};
    after.remove_suffix(kFence.size());
    return std::string(trimmed(after));
  }

  std::string head_;
  std::string tail_;
  ArgumentsReader arguments_;
  bool begun_ = false;
  bool fenced_ = false;
};

constexpr std::string_view kFenced[] = {
    "<｜tool▁call▁begin｜>function<｜tool▁sep｜>@name\n```json\n@arguments\n```<"
    "｜tool▁call▁end｜>"};
constexpr std::string_view kBare[] = {
    "<｜tool▁call▁begin｜>@name<｜tool▁sep｜>@arguments<｜tool▁call▁end｜>"};
constexpr CallSection kSections[] = {{.open = "<｜tool▁calls▁begin｜>",
                                      .close = "<｜tool▁calls▁end｜>",
                                      .calls = kFenced,
                                      .between = "\n",
                                      .several = true},
                                     {.open = "<｜tool▁calls▁begin｜>",
                                      .close = "<｜tool▁calls▁end｜>",
                                      .calls = kBare,
                                      .between = "\n",
                                      .several = true}};

}  // namespace

const CallFrame kDeepSeekFrame{.sections = kSections,
                               .trigger = "<｜tool▁calls▁begin｜>|<｜tool▁call▁begin｜>",
                               .names = "[A-Za-z0-9_.:/-]{1,200}"};

std::unique_ptr<ReplyParser> make_deepseek(const ParserOptions& options) {
  static const Syntax kSyntax{.think_open = "<think>",
                              .think_close = "</think>",
                              .openers = {kBegin, "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>",
                                          "<｜tool▁calls▁begin｜>\n<｜tool▁call▁begin｜>"},
                              .skipped = {"<｜tool▁calls▁end｜>"},
                              .make_reader = [](const CallContext&) -> std::unique_ptr<CallReader> {
                                return std::make_unique<Reader>();
                              }};
  return make_section_parser(kSyntax, options);
}

}  // namespace puna::chat
