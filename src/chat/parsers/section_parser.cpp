#include "chat/parsers/section_parser.h"

#include <algorithm>

#include "chat/call_frame.h"

namespace puna::chat {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

bool is_space(char c) { return kSpace.find(c) != std::string_view::npos; }

bool offers_tools(const base::Json& tools) { return tools.is_array() && !tools.items().empty(); }

class SectionParser final : public ByteParser {
 public:
  SectionParser(const Syntax& syntax, const ParserOptions& options)
      : ByteParser(options),
        syntax_(syntax),
        options_(options),
        mode_(syntax.think_open.empty() ? Mode::kText
              : options.thinking_open   ? Mode::kThinkingStart
                                        : Mode::kStart) {
    if (options.thinking_open) out_.end_reasoning();
    if (syntax.names_start && offers_tools(options.tools)) {
      for (const base::Json& tool : options.tools.items()) add_name(tool);
    }
    update_markers();
  }

 private:
  enum class Mode {
    kStart,          // nothing but white space yet: thinking may open
    kThinkingStart,  // thinking is open; models may repeat its marker
    kThinking,
    kText,
    kCall,
  };

  void push(char c) override;
  void end() override;

  void add_name(const base::Json& tool);
  bool answer_mark(std::string_view marker);
  void push_start(char c);
  void push_text(char c);
  void push_call(char c);
  void update_markers();
  void text(std::string_view passed);
  void open_call(std::string_view opener);
  void to(Mode mode) {
    mode_ = mode;
    update_markers();
  }

  const Syntax& syntax_;
  const ParserOptions options_;
  Mode mode_;
  bool marked_ = false;    // thinking or calls were met
  bool any_text_ = false;  // content other than white space was met
  bool answered_ = false;  // a mark before an answer was met
  bool answer_ended_ = false;
  std::vector<std::string> names_;  // of tools, which open calls
  std::string space_;               // at the start
  MarkerFinder finder_;
  std::vector<std::string_view> markers_;  // of the mode
  std::unique_ptr<CallReader> reader_;
  std::string section_;  // the text of the open section of calls, its marker included
};

void SectionParser::add_name(const base::Json& tool) {
  const base::Json* name = function_of(tool).find("name");
  if (name && name->is_string() && !name->string().empty()) names_.push_back(name->string());
}

// The markers that mean something now. Several kinds share one list; push_text tells them apart.
void SectionParser::update_markers() {
  markers_.clear();
  if (mode_ == Mode::kStart || mode_ == Mode::kThinkingStart) markers_ = {syntax_.think_open};
  if (mode_ == Mode::kThinking) markers_ = {syntax_.think_close};
  if (mode_ != Mode::kText) return;
  if (syntax_.thinks_anywhere && !syntax_.think_open.empty())
    markers_.push_back(syntax_.think_open);
  if (offers_tools(options_.tools)) {
    for (const auto opener : syntax_.openers) markers_.push_back(opener);
    if (!any_text_) {
      for (const auto starter : syntax_.starters) markers_.push_back(starter);
      for (const std::string& name : names_) markers_.push_back(name);
    }
  }
  for (const AnswerMarks& marks : syntax_.answers) {
    if (!any_text_) markers_.push_back(marks.open);
    if (answered_) markers_.push_back(marks.close);
  }
  if (marked_) {
    for (const auto skipped : syntax_.skipped) markers_.push_back(skipped);
    if (any_text_) return;
    for (const auto separator : syntax_.separators) markers_.push_back(separator);
  }
}

void SectionParser::text(std::string_view passed) {
  if (passed.empty()) return;
  out_.content(passed);
  if (any_text_ || std::ranges::all_of(passed, is_space)) return;
  any_text_ = true;
  update_markers();
}

void SectionParser::open_call(std::string_view opener) {
  section_ = opener;
  reader_ = syntax_.make_reader({options_, opener});
  to(Mode::kCall);
}

void SectionParser::push(char c) {
  switch (mode_) {
    case Mode::kStart:
    case Mode::kThinkingStart:
      return push_start(c);
    case Mode::kThinking: {
      std::string passed;
      const int found = finder_.push(c, markers_, passed);
      out_.reasoning(passed);
      if (found < 0) return;
      out_.end_reasoning();
      marked_ = true;
      return to(Mode::kText);
    }
    case Mode::kText:
      return push_text(c);
    case Mode::kCall:
      return push_call(c);
  }
}

void SectionParser::push_start(char c) {
  if (is_space(c) && !finder_.holds()) {
    space_ += c;
    return;
  }
  std::string passed;
  if (finder_.push(c, markers_, passed) == 0) {
    space_.clear();
    return to(Mode::kThinking);
  }
  if (passed.empty()) return;
  // No marker: what was held is read again, as what it is.
  passed = std::exchange(space_, {}) + passed + finder_.rest();
  to(mode_ == Mode::kStart ? Mode::kText : Mode::kThinking);
  for (const char each : passed) push(each);
}

// Whether it is a mark at one side of an answer.
bool SectionParser::answer_mark(std::string_view marker) {
  for (const AnswerMarks& marks : syntax_.answers) {
    if (marker == marks.open) {
      answered_ = true;
      out_.end_reasoning();
    } else if (marker == marks.close) {
      answer_ended_ = true;
      out_.end_content();
    } else {
      continue;
    }
    update_markers();
    return true;
  }
  return false;
}

void SectionParser::push_text(char c) {
  const auto is_one_of = [](std::string_view marker, const auto& list) {
    return std::ranges::find(list, marker) != list.end();
  };
  std::string passed;
  const int found = finder_.push(c, markers_, passed);
  const std::string_view marker = found < 0 ? "" : markers_[static_cast<size_t>(found)];
  text(passed);
  if (marker.empty() || answer_mark(marker)) return;
  if (marker == syntax_.think_open) {
    out_.new_reasoning();
    to(Mode::kThinking);
  } else if (is_one_of(marker, syntax_.openers)) {
    open_call(marker);
  } else if (is_one_of(marker, syntax_.starters) || is_one_of(marker, names_)) {
    // With its own first bytes other text may have passed.
    any_text_ ? text(marker) : open_call(marker);
  }
}

void SectionParser::push_call(char c) {
  section_ += c;
  const ReadState state = reader_->push(c, out_);
  if (state == ReadState::kReading) return;
  const bool valid = state == ReadState::kDone;
  if (valid) {
    out_.commit_calls();
    marked_ = true;
  } else {
    out_.drop_calls(section_);
    any_text_ = true;
  }
  reader_.reset();
  section_.clear();
  to(Mode::kText);
}

void SectionParser::end() {
  if (mode_ == Mode::kCall) {
    if (reader_->end(out_)) {
      out_.commit_calls();
    } else {
      out_.drop_calls(section_);
    }
    return;
  }
  const std::string rest = std::exchange(space_, {}) + finder_.rest();
  if (mode_ == Mode::kThinking || mode_ == Mode::kThinkingStart) {
    out_.reasoning(rest);
  } else {
    out_.content(rest);
    if (answer_ended_ && std::ranges::all_of(rest, is_space)) out_.end_content();
  }
}

const base::Json* find_tool(const base::Json& tools, std::string_view name) {
  if (!tools.is_array()) return nullptr;
  for (const base::Json& tool : tools.items()) {
    const base::Json& function = function_of(tool);
    const base::Json* own = function.find("name");
    if (own && own->is_string() && own->string() == name) return &function;
  }
  return nullptr;
}

}  // namespace

const base::Json& function_of(const base::Json& tool) {
  const base::Json* inner = tool.find("function");
  return inner && inner->is_object() ? *inner : tool;
}

std::unique_ptr<ReplyParser> make_section_parser(const Syntax& syntax,
                                                 const ParserOptions& options) {
  return std::make_unique<SectionParser>(syntax, options);
}

ReadState WholeReader::push(char c, Emitter& out) {
  static constexpr size_t kLooksAt = 200;  // bytes that may_become() is asked about
  text_ += c;
  if (text_.ends_with(close_)) {
    const std::string_view inside = std::string_view(text_).substr(0, text_.size() - close_.size());
    return read(inside, out) ? ReadState::kDone : ReadState::kMalformed;
  }
  if (text_.size() <= kLooksAt && !may_become(text_)) return ReadState::kMalformed;
  return ReadState::kReading;
}

bool emit_call(std::string name, const base::Json& arguments, Emitter& out) {
  out.begin_call(std::move(name));
  out.arguments(arguments.dump());
  return out.end_call();
}

const base::Json* tool_properties(const base::Json& tools, std::string_view name) {
  const base::Json* tool = find_tool(tools, name);
  const base::Json* parameters = tool ? tool->find("parameters") : nullptr;
  const base::Json* properties = parameters ? parameters->find("properties") : nullptr;
  return properties && properties->is_object() ? properties : nullptr;
}

bool is_offered(const base::Json& tools, std::string_view name) {
  return find_tool(tools, name) != nullptr;
}

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) + 1 - first);
}

}  // namespace puna::chat
