// Llama 3.1 to 3.3. A call of an own tool is all of the reply: {"name": ..., "parameters": {...}},
// several separated by ";". <|python_tag|> comes before that too, before a built-in tool,
// name.call(key="value"), and before code for the interpreter. Llama 4 has no such tag; it may put
// text, also a call, between <|python_start|> and <|python_end|>.
#include "chat/parsers/families.h"
#include "chat/parsers/pythonic.h"

namespace puna::chat {
namespace {

using base::Json;

constexpr std::string_view kPythonTag = "<|python_tag|>";
constexpr std::string_view kInterpreter = "code_interpreter";

// One JSON object, its "{" read. An answer may be JSON as well: only the name of a tool that was
// offered makes it a call.
class ObjectReader final : public CallReader {
 public:
  explicit ObjectReader(const Json& tools) : tools_(tools) {}

  ReadState push(char c, Emitter& out) override {
    if (!opened_) calls_.push('{', out);
    opened_ = true;
    const size_t n_before = out.reply().tool_calls.size();
    const ReadState state = calls_.push(c, out);
    const auto& calls = out.reply().tool_calls;
    if (calls.size() > n_before && !is_offered(tools_, calls.back().name))
      return ReadState::kMalformed;
    return state;
  }
  bool end(Emitter&) override { return false; }

 private:
  CallsReader calls_;
  bool opened_ = false;
  const Json& tools_;
};

// What follows <|python_tag|>, to the end of the reply.
class TagReader final : public CallReader {
 public:
  explicit TagReader(const Json& tools) : tools_(tools) {}

  ReadState push(char c, Emitter&) override {
    text_ += c;
    return ReadState::kReading;
  }
  bool end(Emitter& out) override {
    const std::string_view text = trimmed(text_);
    if (text.empty()) return false;
    if (text.starts_with('{')) return objects(text, out);
    return builtin(text, out) || code(text, out);
  }

 private:
  static bool objects(std::string_view text, Emitter& out) {
    CallsReader calls;
    bool complete = false;
    for (const char c : text) {
      const bool between = complete && (c == ';' || trimmed({&c, 1}).empty());
      if (between) continue;
      if (complete) calls = CallsReader();
      const ReadState state = calls.push(c, out);
      if (state == ReadState::kMalformed) return false;
      complete = state == ReadState::kDone;
    }
    return complete;
  }
  static bool builtin(std::string_view text, Emitter& out) {
    LiteralReader reader(text, LiteralStyle::kPython);
    std::string_view name = reader.word();
    if (!name.ends_with(".call") || !reader.skip('(')) return false;
    name.remove_suffix(5);
    const auto arguments = python_arguments(reader, nullptr);
    return arguments && reader.at_end() && !name.empty() &&
           emit_call(std::string(name), *arguments, out);
  }
  bool code(std::string_view text, Emitter& out) const {
    const bool python = is_offered(tools_, "python");
    const std::string_view name = python ? "python" : kInterpreter;
    return emit_call(std::string(name), Json::object().set("code", text), out);
  }

  std::string text_;
  const Json& tools_;
};

constexpr std::string_view kCalls[] = {"{\"name\": \"@name\", \"parameters\": @arguments}"};
constexpr CallSection kSections[] = {
    {.calls = kCalls, .between = "; ", .several = true, .at_start = true},
    {.open = "<|python_tag|>", .calls = kCalls, .between = "; ", .several = true, .to_end = true}};
constexpr CallSection kLlama4Sections[] = {
    {.calls = kCalls, .between = "\n", .several = true, .at_start = true},
    {.open = "<|python_start|>",
     .close = "<|python_end|>",
     .calls = kCalls,
     .between = "\n",
     .several = true,
     .at_start = true}};

// JSON that names no tool is an answer.
constexpr std::string_view kStart =
    R"=([; \t\r\n]*\{[ \t\r\n]*"name"[ \t\r\n]*:[ \t\r\n]*"(@name)")=";
constexpr std::string_view kLlama4Start =
    R"=([ \t\r\n]*(<\|python_start\|>)?[ \t\r\n]*\{[ \t\r\n]*"name"[ \t\r\n]*:[ \t\r\n]*"(@name)")=";

std::unique_ptr<CallReader> make_reader(const CallContext& context) {
  if (context.opener == kPythonTag) return std::make_unique<TagReader>(context.options.tools);
  return std::make_unique<ObjectReader>(context.options.tools);
}

}  // namespace

const CallFrame kLlama3Frame{
    .sections = kSections, .trigger = R"(<\|python_tag\|>)", .start_trigger = kStart};
const CallFrame kLlama4Frame{.sections = kLlama4Sections, .start_trigger = kLlama4Start};

std::unique_ptr<ReplyParser> make_llama3(const ParserOptions& options) {
  static const Syntax kSyntax{
      .openers = {kPythonTag}, .starters = {"{"}, .separators = {";"}, .make_reader = make_reader};
  return make_section_parser(kSyntax, options);
}

std::unique_ptr<ReplyParser> make_llama4(const ParserOptions& options) {
  static const Syntax kSyntax{.starters = {"{"},
                              .answers = {{"<|python_start|>", "<|python_end|>"}},
                              .make_reader = make_reader};
  return make_section_parser(kSyntax, options);
}

}  // namespace puna::chat
