#include "chat/parsers/tagged.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

namespace puna::chat {
namespace {

using base::Json;

constexpr size_t kMaxName = 400;                       // bytes of the names of tools and arguments
constexpr std::string_view kNoName = " \t\r\n\"{}()";  // in no name that stands without tags

// The types that a schema names; none where a value may be of others.
void collect_types(const Json& schema, std::vector<std::string>& types) {
  const Json* type = schema.find("type");
  if (type && type->is_string()) types.push_back(type->string());
  if (type && type->is_array()) {
    for (const Json& each : type->items()) {
      if (each.is_string()) types.push_back(each.string());
    }
  }
  for (const char* key : {"anyOf", "oneOf"}) {
    const Json* choices = schema.find(key);
    if (!choices || !choices->is_array()) continue;
    for (const Json& each : choices->items()) {
      const size_t n_before = types.size();
      if (each.is_object()) collect_types(each, types);
      if (types.size() > n_before) continue;
      types.clear();  // one of them may be of any type
      return;
    }
  }
}

bool is_of(const Json& value, const std::string& type) {
  if (type == "number") return value.is_number();
  // One that is too large for an integer is read as a number.
  if (type == "integer" && value.is_number()) return value.number() == std::floor(value.number());
  return type == value.type_name();
}

// The JSON that `text` means under a schema. Without one, or without types in it, JSON that is no
// string is taken as such, and all else is text. What is JSON stays as it was written.
std::string typed(std::string_view text, const Json* schema) {
  std::vector<std::string> types;
  if (schema) collect_types(*schema, types);
  const auto parsed = Json::parse(text);
  const auto as_text = [&] { return Json(text).dump(); };
  const auto as_json = [&] { return std::string(trimmed(text)); };
  if (types.empty()) return parsed && !parsed->is_string() ? as_json() : as_text();
  const auto fits = [&](const std::string& type) {
    if (type == "boolean" && (text == "True" || text == "False")) return true;
    return parsed && type != "string" && is_of(*parsed, type);
  };
  const bool may_be_text = std::ranges::find(types, "string") != types.end();
  const bool null = parsed && parsed->is_null() && std::ranges::find(types, "null") != types.end();
  if (null) return "null";
  if (may_be_text || !std::ranges::any_of(types, fits)) return as_text();
  return parsed ? as_json() : Json(text == "True").dump();
}

bool is_space(char c) { return trimmed({&c, 1}).empty(); }

class Reader final : public CallReader {
 public:
  Reader(const TaggedSyntax& syntax, bool name_open, const Json& tools)
      : syntax_(syntax),
        tags_(syntax.tags),
        tools_(tools),
        state_(name_open || syntax.before_name.empty() ? State::kName : State::kBeforeName) {
    if (tags_.lines) line_and_close_ = "\n" + std::string(tags_.behind_value);
    value_ends_ = {tags_.behind_value, last_mark()};
    if (tags_.lines) value_ends_.push_back(line_and_close_);
  }

  ReadState push(char c, Emitter& out) override {
    switch (state_) {
      case State::kBeforeName:
        return mark_byte(c, {syntax_.before_name}, {State::kName}, out);
      case State::kName:
        return syntax_.behind_name.empty() ? bare_name_byte(c, out) : name_byte(c, out);
      case State::kBetween:
        return mark_byte(c, {tags_.before_name, syntax_.close}, {State::kKey, State::kClosed}, out);
      case State::kKey:
        return key_byte(c);
      case State::kBeforeValue:
        return mark_byte(c, {tags_.before_value}, {State::kValue}, out);
      case State::kValue:
        return value_byte(c, out);
      case State::kClosed:
        return mark_byte(c, {syntax_.end}, {State::kEnded}, out);
      case State::kEnded:
        break;
    }
    return ReadState::kMalformed;
  }

  bool end(Emitter&) override { return state_ == State::kClosed; }

 private:
  enum class State {
    kBeforeName,
    kName,
    kBetween,  // before an argument or the end of all
    kKey,      // the name of an argument
    kBeforeValue,
    kValue,
    kClosed,  // the call is complete
    kEnded,
  };

  std::string_view last_mark() const { return syntax_.end.empty() ? syntax_.close : syntax_.end; }

  ReadState to(State state) {
    state_ = state;
    text_.clear();
    return ReadState::kReading;
  }

  // White space, then one of the marks; each leads to the state at its place.
  ReadState mark_byte(char c, std::initializer_list<std::string_view> marks,
                      std::initializer_list<State> states, Emitter& out) {
    if (text_.empty() && is_space(c)) return ReadState::kReading;
    text_ += c;
    bool may_become = false;
    for (size_t i = 0; i < marks.size(); ++i) {
      if (marks.begin()[i] == text_) return reached(states.begin()[i], out);
      may_become = may_become || marks.begin()[i].starts_with(text_);
    }
    return may_become ? ReadState::kReading : ReadState::kMalformed;
  }

  ReadState reached(State state, Emitter& out) {
    to(state);
    if (state == State::kValue) begin_value();
    if (state == State::kEnded) return ReadState::kDone;
    if (state != State::kClosed) return ReadState::kReading;
    out.arguments(keys_.empty() ? "{}" : "}");
    if (!out.end_call()) return ReadState::kMalformed;
    return syntax_.end.empty() ? ReadState::kDone : ReadState::kReading;
  }

  ReadState begin_call(std::string_view name, Emitter& out) {
    if (name.empty()) return ReadState::kMalformed;
    properties_ = tool_properties(tools_, name);
    out.begin_call(std::string(name));
    return to(State::kBetween);
  }

  ReadState name_byte(char c, Emitter& out) {
    text_ += c;
    if (text_.size() > kMaxName) return ReadState::kMalformed;
    if (!text_.ends_with(syntax_.behind_name)) return ReadState::kReading;
    const std::string_view text(text_);
    return begin_call(trimmed(text.substr(0, text.size() - syntax_.behind_name.size())), out);
  }

  ReadState bare_name_byte(char c, Emitter& out) {
    if (text_.empty() && is_space(c)) return ReadState::kReading;
    if (c == '\n' || c == '<') {
      const std::string name(trimmed(text_));
      if (name.find_first_of(kNoName) != std::string::npos) return ReadState::kMalformed;
      if (const auto state = begin_call(name, out); state != ReadState::kReading) return state;
      return push(c, out);
    }
    text_ += c;
    return text_.size() > kMaxName ? ReadState::kMalformed : ReadState::kReading;
  }

  ReadState key_byte(char c) {
    text_ += c;
    if (text_.size() > kMaxName) return ReadState::kMalformed;
    if (!text_.ends_with(tags_.behind_name)) return ReadState::kReading;
    const std::string_view text(text_);
    key_ = trimmed(text.substr(0, text.size() - tags_.behind_name.size()));
    if (key_.empty() || keys_.contains(key_)) return ReadState::kMalformed;
    if (!tags_.before_value.empty()) return to(State::kBeforeValue);
    to(State::kValue);
    begin_value();
    return ReadState::kReading;
  }

  void begin_value() {
    schema_ = properties_ ? properties_->find(key_) : nullptr;
    const TaggedValue value = tagged_value(schema_);
    streams_ = value.text && !value.null;
    value_begun_ = false;
  }

  ReadState value_byte(char c, Emitter& out) {
    if (!value_begun_ && streams_) out.arguments(before_value() + "\"");
    const bool first = !value_begun_;
    value_begun_ = true;
    if (first && tags_.lines && c == '\n') {
      // It may be the one before the closing tag too.
      line_held_ = true;
    }
    std::string passed;
    const int found = finder_.push(c, value_ends_, passed);
    if (line_held_ && !passed.empty()) {
      passed.erase(0, 1);
      line_held_ = false;
    }
    if (streams_) {
      stream(passed, out);
    } else {
      text_ += passed;
    }
    if (found < 0) return ReadState::kReading;
    line_held_ = false;
    if (value_ends_[static_cast<size_t>(found)] == last_mark()) return ReadState::kMalformed;
    if (streams_) {
      out.arguments(escaped(std::exchange(cut_, {})) + "\"");
    } else {
      out.arguments(before_value() + typed(text_, schema_));
    }
    keys_.insert(key_);
    return to(State::kBetween);
  }

  std::string before_value() const { return (keys_.empty() ? "{" : ",") + Json(key_).dump() + ":"; }

  static std::string escaped(std::string_view text) {
    const std::string quoted = Json(text).dump();
    return quoted.substr(1, quoted.size() - 2);
  }

  // A part of a text; characters that are cut wait for their rest.
  void stream(std::string_view text, Emitter& out) {
    cut_ += text;
    const size_t whole = base::utf8_complete_prefix(cut_);
    if (whole == 0) return;
    out.arguments(escaped(std::string_view(cut_).substr(0, whole)));
    cut_.erase(0, whole);
  }

  const TaggedSyntax& syntax_;
  const ArgumentTags& tags_;
  const Json& tools_;
  State state_;
  std::string text_;  // of the state
  const Json* properties_ = nullptr;
  std::string key_;                          // of the argument
  std::set<std::string, std::less<>> keys_;  // of those that are complete
  const Json* schema_ = nullptr;
  bool streams_ = false;  // the value is a text
  bool value_begun_ = false;
  bool line_held_ = false;  // the line end that a value began with
  std::string cut_;         // the first bytes of a character
  std::string line_and_close_;
  std::vector<std::string_view> value_ends_;
  MarkerFinder finder_;
};

}  // namespace

std::unique_ptr<CallReader> make_tagged_reader(const TaggedSyntax& syntax, bool name_open,
                                               const Json& tools) {
  return std::make_unique<Reader>(syntax, name_open, tools);
}

TaggedValue tagged_value(const Json* schema) {
  std::vector<std::string> types;
  if (schema) collect_types(*schema, types);
  const auto has = [&](std::string_view type) {
    return types.empty() || std::ranges::find(types, type) != types.end();
  };
  return {.text = !types.empty() && has("string"),
          .by_looks = types.empty(),
          .null = has("null"),
          .boolean = has("boolean") && (types.empty() || !has("string")),
          .number = (has("number") || has("integer")) && (types.empty() || !has("string")),
          .array = has("array") && (types.empty() || !has("string")),
          .object = has("object") && (types.empty() || !has("string"))};
}

}  // namespace puna::chat
