#include "service/call_grammar.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "grammar/gbnf.h"
#include "grammar/json_schema/json_schema.h"
#include "grammar/regex.h"
#include "grammar/vocabulary.h"

namespace puna::service {

using base::ErrorCode;
using base::Json;
using base::Result;
using chat::CallFrame;
using chat::CallSection;
using grammar::Expression;
using grammar::Expressions;
using grammar::Symbol;

namespace {

constexpr uint32_t kMs = 500, kMsATool = 50, kRulesATool = 2'000;
constexpr uint32_t kMostIndentation = 20, kMostSpace = 8;
constexpr std::string_view kSpace = " \t\r\n";

grammar::Limits limits_of(const CallRules& rules) {
  if (rules.limits) return *rules.limits;
  grammar::Limits out;
  const auto n = static_cast<uint32_t>(std::min<size_t>(rules.tools.items().size(), 1000));
  out.compile_ms = kMs + n * kMsATool;
  out.rules += n * kRulesATool;
  return out;
}

grammar::TextReading reading_of(const Json* schema) {
  const chat::TaggedValue value = chat::tagged_value(schema);
  return {.text = value.text,
          .by_looks = value.by_looks,
          .null = value.null,
          .boolean = value.boolean,
          .number = value.number,
          .array = value.array,
          .object = value.object};
}

std::string name_of(const Json& function) {
  const Json* name = function.find("name");
  return name && name->is_string() ? name->string() : std::string();
}

// The texts of marks that the tokenizer has as control tokens; the longest first.
std::vector<std::string> control_marks(const chat::ReplyStyle& style,
                                       const tokenizer::Tokenizer& tokenizer) {
  std::vector<std::string> out;
  for (const std::string_view mark : style.tokens) {
    const std::vector<int32_t> ids = tokenizer.encode(mark, {.add_special = false});
    if (ids.size() == 1 && tokenizer.bytes(ids[0]).empty() &&
        tokenizer.bytes(ids[0], /*special=*/true) == mark)
      out.emplace_back(mark);
  }
  std::ranges::sort(out, [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return out;
}

class CallGrammar {
 public:
  CallGrammar(const CallRules& rules, const tokenizer::Tokenizer& tokenizer)
      : rules_(rules),
        style_(rules.style),
        frame_(*rules.style.frame),
        marks_(control_marks(rules.style, tokenizer)),
        builder_(limits_of(rules)),
        e_(builder_.expressions()) {
    for (const std::string_view mark : style_.tokens) first_bytes_ += mark.front();
    grammar::ByteSet space;
    for (const char c : kSpace) space.add(static_cast<uint8_t>(c));
    space_ = builder_.lexeme(e_.repeat(e_.bytes(space), 0, kMostSpace));
  }

  Result<std::shared_ptr<const grammar::Grammar>> compile() && {
    PUNA_TRY(read_tools());
    PUNA_TRY(const Symbol start, rules_.choice.required || rules_.form ? bound() : free());
    return std::move(builder_).build(start);
  }

 private:
  struct Tool {
    std::string name;
    Symbol arguments;
  };

  Result<void> read_tools();
  Result<Symbol> arguments_of(const Json& function);
  grammar::ArgumentNotation notation_of(const Json& function) const;
  grammar::ValueTags tags_of(const chat::ArgumentTags& tags) const;
  std::string mark(std::string_view text) const;  // as a control token where it is one

  // A text of the frame. plain_first: a mark at its beginning is read without kControl, which is
  // part of the free text before it.
  Expression fixed(std::string_view text, bool plain_first = false);
  Expression mark_at(std::string_view text, bool plain, size_t& n_bytes);
  Symbol lexeme(std::string_view text, bool plain_first = false) {
    return builder_.lexeme(fixed(text, plain_first));
  }
  Symbol call(const CallSection& section, bool plain_first);
  Symbol call(std::string_view way, const Tool& tool, bool plain_first);
  Symbol section(const CallSection& section, bool plain_first);
  // Of those sections that `is` holds of.
  template <class Is>
  Symbol sections(bool plain_first, Is is) {
    std::vector<Symbol> ways;
    for (const CallSection& each : frame_.sections) {
      if (is(each)) ways.push_back(section(each, plain_first));
    }
    return builder_.choice(ways);
  }

  Result<Expression> pattern(std::string_view regex);
  // A mark in free text, as a token or not.
  Expression found(const std::string& mark) {
    return grammar::with_controls(e_, e_.literal(mark), first_bytes_);
  }
  // Thinking from behind its first mark on, without its last and with it.
  Symbol thought() {
    std::vector<std::string> ends{closing_};
    if (frame_.has_messages) ends.insert(ends.end(), frame_.ends.begin(), frame_.ends.end());
    return builder_.lexeme(grammar::lacking(e_, ends));
  }
  Symbol whole_thought() { return builder_.sequence({thought(), builder_.literal(closing_)}); }
  Symbol begin_thought() {
    return builder_.sequence({space_, builder_.lexeme(found(style_.thinking_begins()))});
  }

  Result<Symbol> bound();
  Result<Symbol> free();

  const CallRules& rules_;
  const chat::ReplyStyle& style_;
  const CallFrame& frame_;
  const std::string closing_ = style_.thinking_ends();
  std::vector<std::string> marks_;  // that are control tokens
  std::string first_bytes_;         // of all marks
  grammar::Builder builder_;
  grammar::SchemaRules schemas_{builder_};
  Expressions& e_;
  Symbol space_;
  std::vector<Tool> tools_;         // that may be called
  std::vector<std::string> names_;  // of all
};

std::string CallGrammar::mark(std::string_view text) const {
  const bool control = std::ranges::find(marks_, text) != marks_.end();
  return (control ? std::string(grammar::kControl) : std::string()).append(text);
}

grammar::ValueTags CallGrammar::tags_of(const chat::ArgumentTags& tags) const {
  const std::string_view line = tags.lines ? "\n" : "";
  grammar::ValueTags out{.before_name = mark(tags.before_name),
                         .behind_name = mark(tags.behind_name),
                         .before_value = mark(tags.before_value),
                         .behind_value = mark(tags.behind_value)};
  (out.before_value.empty() ? out.behind_name : out.before_value) += line;
  out.behind_value.insert(0, line);
  return out;
}

grammar::ArgumentNotation CallGrammar::notation_of(const Json& function) const {
  using Form = grammar::ArgumentNotation::Form;
  grammar::ArgumentNotation out;
  out.values.short_numbers = true;
  for (const std::string_view end : frame_.ends) out.values.ends.emplace_back(end);
  switch (frame_.arguments) {
    case CallFrame::Arguments::kJson:
      break;
    case CallFrame::Arguments::kPython:
      out.form = Form::kKeywords;
      out.values.null = "None";
      out.values.no = "False";
      out.values.yes = "True";
      break;
    case CallFrame::Arguments::kGemma: {
      const std::string quote = "<|\"|>";
      out.values.quote = mark(quote);
      // As characters it would end a text too.
      out.values.ends.push_back(quote);
      break;
    }
    case CallFrame::Arguments::kTags:
      out.form = Form::kTags;
      out.tags = tags_of(frame_.tags);
      const Json* parameters = function.find("parameters");
      const Json* properties = parameters ? parameters->find("properties") : nullptr;
      out.reading = [properties](std::string_view name) {
        return reading_of(properties ? properties->find(name) : nullptr);
      };
      break;
  }
  return out;
}

Result<Symbol> CallGrammar::arguments_of(const Json& function) {
  // A tool without parameters takes none.
  static const Json kNone = Json::object().set("type", "object").set("maxProperties", 0);
  const Json* parameters = function.find("parameters");
  if (!parameters || parameters->is_null()) parameters = &kNone;
  const Json* strict = function.find("strict");
  const bool is_strict = strict && strict->is_bool() && strict->boolean();
  const grammar::ArgumentNotation notation = notation_of(function);
  return schemas_.write_arguments(*parameters, {.strict = is_strict, .limits = {}}, notation);
}

Result<void> CallGrammar::read_tools() {
  PUNA_TRY(const auto names, grammar::regex_grammar(frame_.names, {.compile_ms = 0}));
  const std::vector<std::string>& chosen = rules_.choice.names;
  for (const Json& tool : rules_.tools.items()) {
    const Json& function = chat::function_of(tool);
    std::string name = name_of(function);
    names_.push_back(name);
    if (!chosen.empty() && std::ranges::find(chosen, name) == chosen.end()) continue;
    if (!grammar::accepts(names, name)) {
      return base::fail(ErrorCode::kUnsupported,
                        fmt::format("The model writes calls as {}, where no tool can have the name "
                                    "\"{}\".",
                                    style_.calls, name));
    }
    PUNA_TRY_CONTEXT(const Symbol arguments, arguments_of(function),
                     fmt::format("While reading the parameters of the tool \"{}\"", name));
    builder_.need(arguments, fmt::format("The parameters of the tool \"{}\" admit no object that "
                                         "the model can write.",
                                         name));
    tools_.push_back({std::move(name), arguments});
  }
  if (!tools_.empty()) return {};
  return base::fail(ErrorCode::kInvalidArgument,
                    fmt::format("No tool has the name \"{}\".", fmt::join(chosen, "\" or \"")));
}

// The mark that the text begins with, if it is a control token.
Expression CallGrammar::mark_at(std::string_view text, bool plain, size_t& n_bytes) {
  n_bytes = 0;
  for (const std::string& mark : marks_) {
    if (!text.starts_with(mark)) continue;
    n_bytes = mark.size();
    return e_.literal((plain ? std::string() : std::string(grammar::kControl)) + mark);
  }
  return e_.empty();
}

Expression CallGrammar::fixed(std::string_view text, bool plain_first) {
  std::vector<Expression> parts;
  const std::string_view whole = text;
  char before = 'x';  // the byte
  while (!text.empty()) {
    size_t n = 0;
    const Expression mark = mark_at(text, plain_first && text.size() == whole.size(), n);
    if (n > 0) {
      parts.push_back(mark);
    } else if (text.starts_with(' ') && std::string_view(":,;").find(before) != text.npos) {
      n = 1;
      parts.push_back(e_.optional(e_.literal(" ")));
    } else if (text.starts_with('\n')) {
      n = 1;
      const Expression blanks = e_.repeat(e_.literal(" "), 0, kMostIndentation);
      parts.push_back(
          e_.choice({e_.empty(), e_.literal(" "), e_.sequence({e_.literal("\n"), blanks})}));
    } else {
      n = 1;
      parts.push_back(e_.literal(text.substr(0, 1)));
    }
    before = text[n - 1];
    text.remove_prefix(n);
  }
  return e_.sequence(parts);
}

Symbol CallGrammar::call(std::string_view way, const Tool& tool, bool plain_first) {
  constexpr std::string_view kName = "@name", kArguments = "@arguments";
  constexpr std::string_view kIndex = "@index", kId = "@id";
  std::vector<Symbol> parts;
  std::vector<Expression> open;  // neighbours that are one lexeme
  const auto add_text = [&](std::string_view text) {
    if (!text.empty()) open.push_back(fixed(text, plain_first && open.empty() && parts.empty()));
  };
  while (true) {
    const size_t at = std::min(way.find('@'), way.size());
    add_text(way.substr(0, at));
    const bool quoted = at > 0 && way[at - 1] == '"';
    way.remove_prefix(at);
    if (way.starts_with(kName)) {
      const std::string json = Json(tool.name).dump();
      open.push_back(e_.literal(quoted ? json.substr(1, json.size() - 2) : tool.name));
      way.remove_prefix(kName.size());
    } else if (way.starts_with(kIndex)) {
      open.push_back(e_.repeat(e_.bytes(grammar::ByteSet::range('0', '9')), 1, 3));
      way.remove_prefix(kIndex.size());
    } else if (way.starts_with(kId)) {
      grammar::ByteSet letters = grammar::ByteSet::range('0', '9');
      letters |= grammar::ByteSet::range('A', 'Z');
      letters |= grammar::ByteSet::range('a', 'z');
      open.push_back(e_.repeat(e_.bytes(letters), 9, 9));
      way.remove_prefix(kId.size());
    } else {
      parts.push_back(builder_.lexeme(e_.sequence(std::exchange(open, {}))));
      if (way.empty()) break;
      parts.push_back(tool.arguments);
      way.remove_prefix(kArguments.size());
    }
  }
  return builder_.sequence(parts);
}

Symbol CallGrammar::call(const CallSection& section, bool plain_first) {
  std::vector<Symbol> ways;
  for (const std::string_view way : section.calls) {
    for (const Tool& tool : tools_) ways.push_back(call(way, tool, plain_first));
  }
  const Symbol out = builder_.declare("call");
  builder_.define(out, builder_.choice(ways));
  return out;
}

Symbol CallGrammar::section(const CallSection& section, bool plain_first) {
  const bool opened = !section.open.empty();
  std::vector<Symbol> parts;
  if (opened) parts.push_back(lexeme(section.open, plain_first));
  parts.push_back(call(section, plain_first && !opened));
  if (section.several && !rules_.choice.one_call) {
    const Symbol next =
        builder_.sequence({lexeme(section.between), call(section, /*plain_first=*/false)});
    parts.push_back(builder_.repeat(next, 0, grammar::kUnbounded));
  }
  parts.push_back(lexeme(section.close));
  return builder_.sequence(parts);
}

// A regular expression of the frame, with the names of tools and control tokens in it.
Result<Expression> CallGrammar::pattern(std::string_view regex) {
  constexpr std::string_view kName = "@name";
  std::string text(regex), names;
  for (const std::string& name : names_) {
    if (!names.empty()) names += '|';
    for (const char c : name) {
      if (std::string_view("\\^$.|?*+()[]{}/-").find(c) != std::string_view::npos) names += '\\';
      names += c;
    }
  }
  if (const size_t at = text.find(kName); at != std::string::npos)
    text.replace(at, kName.size(), names);
  PUNA_TRY(const Expression out,
           grammar::regex_expression(e_, text, grammar::RegexFit::kWhole, builder_.limits()));
  return grammar::with_controls(e_, out, first_bytes_);
}

// Behind the thinking an answer is calls or of the form, from its first byte to its last.
Result<Symbol> CallGrammar::bound() {
  const auto any = [](const CallSection&) { return true; };
  const auto goes_on = [](const CallSection& each) { return !each.to_end; };
  std::vector<Symbol> before{sections(/*plain_first=*/false, any)};
  if (!rules_.choice.one_call) {
    const Symbol more = builder_.sequence({sections(/*plain_first=*/false, goes_on), space_});
    before.front() =
        builder_.sequence({builder_.repeat(more, 0, grammar::kUnbounded), before.front()});
  }
  std::vector<Symbol> behind{builder_.sequence({lexeme(frame_.behind_thinking), before.front()})};
  if (rules_.form && !rules_.choice.required) {
    PUNA_TRY(const Symbol form, write_form(builder_, *rules_.form));
    before.push_back(builder_.sequence({lexeme(style_.answer_begins), form}));
    behind.push_back(builder_.sequence({lexeme(style_.answer_begins_behind), form}));
  }
  const Symbol at_once = builder_.choice(before);
  if (style_.thinking.empty()) return at_once;
  const Symbol thinks = builder_.sequence({whole_thought(), space_, builder_.choice(behind)});
  if (rules_.thinking_open) return thinks;
  return builder_.choice({at_once, builder_.sequence({begin_thought(), thinks})});
}

// Text is free, but what begins as a call is one.
Result<Symbol> CallGrammar::free() {
  std::vector<Expression> anywhere, first;
  if (!frame_.trigger.empty()) {
    PUNA_TRY(const Expression trigger, pattern(frame_.trigger));
    anywhere.push_back(trigger);
  }
  if (!frame_.start_trigger.empty()) {
    PUNA_TRY(const Expression start, pattern(frame_.start_trigger));
    first.push_back(start);
  }
  // Messages of thinking are free text like others.
  const bool thinks = !style_.thinking.empty() && !frame_.has_messages;
  const Expression opening = found(style_.thinking_begins());
  if (frame_.thinks_anywhere) {
    anywhere.push_back(opening);
  } else if (thinks) {
    grammar::ByteSet space;
    for (const char c : kSpace) space.add(static_cast<uint8_t>(c));
    first.push_back(e_.sequence({e_.repeat(e_.bytes(space), 0, grammar::kUnbounded), opening}));
  }
  const Symbol text = builder_.lexeme(e_.both(grammar::free_of(e_, e_.choice(anywhere)),
                                              grammar::not_beginning(e_, e_.choice(first))),
                                      "free text");

  // Thinking that is not over may end the text.
  const Symbol thinking = frame_.thinks_anywhere
                              ? builder_.sequence({builder_.lexeme(opening), whole_thought()})
                              : builder_.nothing();
  const bool one = rules_.choice.one_call;
  const auto amid = [one](const CallSection& each) {
    return !each.at_start && !each.to_end && !one;
  };
  const auto last = [one](const CallSection& each) {
    return !each.at_start && (each.to_end || one);
  };
  const auto start = [one](const CallSection& each) {
    return each.at_start && !each.to_end && !one;
  };
  const auto only = [one](const CallSection& each) {
    return each.at_start && (each.to_end || one);
  };
  const Symbol section_then_text =
      builder_.sequence({builder_.choice({sections(/*plain_first=*/true, amid), thinking}), text});
  const Symbol head = builder_.choice(
      {text, builder_.sequence({space_, sections(/*plain_first=*/false, start), text})});
  std::vector<Symbol> ends{builder_.empty(), sections(/*plain_first=*/true, last)};
  if (frame_.thinks_anywhere)
    ends.push_back(builder_.sequence({builder_.lexeme(opening), thought()}));
  const Symbol body = builder_.choice(
      {builder_.sequence({head, builder_.repeat(section_then_text, 0, grammar::kUnbounded),
                          builder_.choice(ends)}),
       builder_.sequence({space_, sections(/*plain_first=*/false, only)})});
  if (!thinks || (frame_.thinks_anywhere && !rules_.thinking_open)) return body;
  const Symbol inside = builder_.choice({thought(), builder_.sequence({whole_thought(), body})});
  if (rules_.thinking_open) return inside;
  return builder_.choice({body, builder_.sequence({begin_thought(), inside})});
}

}  // namespace

Result<Symbol> write_form(grammar::Builder& builder, const AnswerForm& form) {
  using Kind = AnswerForm::Kind;
  Symbol bound;
  if (form.kind == Kind::kSchema) {
    if (form.text.size() > builder.limits().text_bytes) {
      return grammar::over_limit("The bytes of the schema are", builder.limits().text_bytes,
                                 "text_bytes");
    }
    const grammar::JsonSchemaOptions options{.strict = form.strict, .limits = builder.limits()};
    PUNA_TRY_CONTEXT(const Json schema,
                     Json::parse_strictly(form.text, static_cast<int>(builder.limits().depth)),
                     "While reading a JSON schema");
    PUNA_TRY(bound, grammar::SchemaRules(builder).write(schema, options));
  } else if (form.kind == Kind::kGrammar) {
    PUNA_TRY(bound, grammar::write_gbnf(builder, form.text, form.controls));
  } else {
    PUNA_TRY(const Expression regex,
             grammar::regex_expression(builder.expressions(), form.text, grammar::RegexFit::kWhole,
                                       builder.limits()));
    bound = builder.lexeme(regex);
  }
  if (form.triggers.empty()) return bound;
  return grammar::write_lazily(builder, bound, form.triggers);
}

Result<std::shared_ptr<const grammar::Grammar>> compile_calls(
    const CallRules& rules, const tokenizer::Tokenizer& tokenizer) {
  return CallGrammar(rules, tokenizer).compile();
}

}  // namespace puna::service
