// gpt-oss, the harmony format: messages <|start|>assistant<|channel|>CHANNEL<|message|>...<|end|>,
// the first without <|start|>assistant, as that ends the prompt. The channel "analysis" is
// thinking; a header with "to=functions.name" makes the message that tool's arguments; the others
// are text. Source: OpenAI's harmony response format.
#include "chat/parsers/byte_parser.h"
#include "chat/parsers/families.h"

namespace puna::chat {
namespace {

constexpr std::string_view kStart = "<|start|>";
constexpr std::string_view kChannel = "<|channel|>";
constexpr std::string_view kMessage = "<|message|>";
constexpr std::string_view kFunctions = "functions.";
constexpr size_t kMaxHeader = 400;  // bytes

// The word behind `mark`, up to white space or a marker; empty when `mark` is not there.
std::string_view word_behind(std::string_view header, std::string_view mark) {
  const size_t at = header.find(mark);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = header.substr(at + mark.size());
  return rest.substr(0, rest.find_first_of(" \t\r\n<"));
}

class GptOss final : public ByteParser {
 public:
  explicit GptOss(const ParserOptions& options)
      : ByteParser(options), tools_(options.tools.is_array() && !options.tools.items().empty()) {}

 private:
  enum class Mode { kHeader, kReasoning, kText, kCall };

  void push(char c) override {
    if (mode_ == Mode::kHeader) return header_byte(c);
    static const std::vector<std::string_view> kEnds = {"<|end|>", "<|return|>", "<|call|>", kStart,
                                                        kChannel};
    std::string passed;
    const int found = finder_.push(c, kEnds, passed);
    for (const char each : passed) body_byte(each);
    if (found < 0) return;
    end_message();
    const std::string_view mark = kEnds[static_cast<size_t>(found)];
    if (mark == kStart || mark == kChannel) header_ = mark;  // the end was left out
  }

  // A header begins with <|start|>, <|channel|> or a recipient; other text is an answer as it is.
  bool may_become_header() const {
    const std::string_view seen = trimmed(header_);
    for (const std::string_view begin : {kStart, kChannel, std::string_view("to=")}) {
      if (seen.starts_with(begin) || begin.starts_with(seen)) return true;
    }
    return false;
  }

  void header_byte(char c) {
    header_ += c;
    if (!may_become_header() || header_.size() > kMaxHeader) {
      mode_ = Mode::kText;
      out_.content(std::exchange(header_, {}));
    } else if (header_.ends_with(kMessage)) {
      begin_message();
    }
  }

  void begin_message() {
    const std::string_view channel = word_behind(header_, kChannel);
    std::string_view recipient = word_behind(header_, "to=");
    if (recipient == "assistant" || recipient == "all") recipient = {};
    if (!recipient.empty() && !tools_) {
      mode_ = Mode::kText;  // no tool was offered: the message stays as it is
      out_.new_content();
      out_.content(header_);
    } else if (!recipient.empty()) {
      mode_ = Mode::kCall;
      section_ = header_;
      call_ = {};
      if (recipient.starts_with(kFunctions)) recipient.remove_prefix(kFunctions.size());
      if (recipient.empty()) {
        drop_call();
      } else {
        out_.begin_call(std::string(recipient));
      }
    } else if (channel == "analysis") {
      mode_ = Mode::kReasoning;
      out_.new_reasoning();
    } else {
      mode_ = Mode::kText;
      out_.end_reasoning();
      out_.new_content();
    }
    header_.clear();
  }

  void drop_call() {
    out_.drop_calls(section_);
    section_.clear();
    mode_ = Mode::kText;
  }

  void body_byte(char c) {
    if (mode_ == Mode::kReasoning) return out_.reasoning({&c, 1});
    if (mode_ == Mode::kText) return out_.content({&c, 1});
    section_ += c;
    const bool malformed =
        call_.done() ? !trimmed({&c, 1}).empty() : call_.push(c, out_) == ReadState::kMalformed;
    if (malformed) drop_call();
  }

  void end_message() {
    if (mode_ == Mode::kCall) {
      const bool empty = section_.ends_with(kMessage);  // a tool without arguments
      if (call_.done() || (empty && out_.end_call())) {
        out_.commit_calls();
        section_.clear();
      } else {
        drop_call();
      }
    }
    mode_ = Mode::kHeader;
    header_.clear();
  }

  void end() override {
    const std::string rest = finder_.rest();
    for (const char each : rest) body_byte(each);
    if (mode_ == Mode::kHeader) {
      if (!trimmed(header_).empty()) out_.content(header_);
    } else if (mode_ == Mode::kCall) {
      end_message();
    }
  }

  const bool tools_;
  Mode mode_ = Mode::kHeader;
  std::string header_;
  MarkerFinder finder_;
  ArgumentsReader call_;
  std::string section_;  // of a call, its header included
};

// A call ends the answer: its end is a token that ends texts.
constexpr std::string_view kCalls[] = {
    "<|channel|>commentary to=functions.@name <|constrain|>json<|message|>@arguments",
    "<|channel|>commentary to=functions.@name<|message|>@arguments",
    "<|start|>assistant to=functions.@name<|channel|>commentary "
    "<|constrain|>json<|message|>@arguments"};
constexpr std::string_view kFirst[] = {
    " to=functions.@name<|channel|>commentary <|constrain|>json<|message|>@arguments"};
constexpr CallSection kSections[] = {{.calls = kCalls, .to_end = true},
                                     {.calls = kFirst, .at_start = true, .to_end = true}};
constexpr std::string_view kEndMarks[] = {"<|end|>", "<|return|>", "<|call|>", kStart, kChannel};

}  // namespace

const CallFrame kGptOssFrame{
    .sections = kSections,
    .trigger = R"((<\|start\|>|<\|channel\|>)([^<]|<[^|]|<\|(start|channel|constrain)\|>)*to=)",
    .start_trigger = R"([ \t\r\n]*to=)",
    .ends = kEndMarks,
    .names = "[A-Za-z0-9_.:/-]{1,200}",
    .behind_thinking = "<|start|>assistant",
    .has_messages = true};

std::unique_ptr<ReplyParser> make_gpt_oss(const ParserOptions& options) {
  return std::make_unique<GptOss>(options);
}

}  // namespace puna::chat
