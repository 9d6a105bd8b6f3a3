#include "chat/parsers/json_reader.h"

#include <utility>

namespace puna::chat {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f'); }

// The string that a JSON document, complete and valid but for its escapes, holds.
bool decode_string(std::string_view json, std::string& out) {
  const auto value = base::Json::parse(json);
  if (!value || !value->is_string()) return false;
  out = value->string();
  return true;
}

}  // namespace

void JsonScanner::value_ended() {
  token_ = Token::kNone;
  expects_ = open_.empty() ? Expects::kNothing : Expects::kCommaOrEnd;
}

ReadState JsonScanner::close(char bracket) {
  if (open_.empty() || open_.back() != bracket) return ReadState::kMalformed;
  open_.pop_back();
  value_ended();
  return open_.empty() ? ReadState::kDone : ReadState::kReading;
}

// A byte outside of strings, numbers and words.
ReadState JsonScanner::start(char c) {
  if (is_space(c)) return ReadState::kReading;
  const bool value = expects_ == Expects::kValue || expects_ == Expects::kValueOrEnd;
  const bool key = expects_ == Expects::kKey || expects_ == Expects::kKeyOrEnd;
  const bool root = open_.empty();
  if (value && (c == '{' || c == '[')) {
    if (open_.size() == kMaxDepth) return ReadState::kMalformed;
    open_ += c;
    expects_ = c == '{' ? Expects::kKeyOrEnd : Expects::kValueOrEnd;
  } else if (c == '}' && (expects_ == Expects::kKeyOrEnd || expects_ == Expects::kCommaOrEnd)) {
    return close('{');
  } else if (c == ']' && (expects_ == Expects::kValueOrEnd || expects_ == Expects::kCommaOrEnd)) {
    return close('[');
  } else if (c == '"' && (key || (value && !root))) {
    token_ = Token::kString;
    key_ = key;
  } else if (c == ':' && expects_ == Expects::kColon) {
    expects_ = Expects::kValue;
  } else if (c == ',' && expects_ == Expects::kCommaOrEnd) {
    expects_ = open_.back() == '{' ? Expects::kKey : Expects::kValue;
  } else if (value && !root && (c == '-' || is_digit(c))) {
    token_ = Token::kNumber;
    number_ = c == '-' ? Number::kMinus : c == '0' ? Number::kZero : Number::kDigits;
  } else if (value && !root && (c == 't' || c == 'f' || c == 'n')) {
    token_ = Token::kWord;
    word_ = c == 't' ? "rue" : c == 'f' ? "alse" : "ull";
  } else {
    return ReadState::kMalformed;
  }
  return ReadState::kReading;
}

ReadState JsonScanner::string_byte(char c) {
  if (token_ == Token::kHex) {
    if (!is_hex(c)) return ReadState::kMalformed;
    if (--hex_left_ == 0) token_ = Token::kString;
  } else if (token_ == Token::kEscape) {
    if (std::string_view("\"\\/bfnrtu").find(c) == std::string_view::npos)
      return ReadState::kMalformed;
    token_ = c == 'u' ? Token::kHex : Token::kString;
    hex_left_ = 4;
  } else if (c == '\\') {
    token_ = Token::kEscape;
  } else if (c == '"') {
    token_ = Token::kNone;
    if (key_) {
      expects_ = Expects::kColon;
    } else {
      value_ended();
    }
  } else if (static_cast<unsigned char>(c) < 0x20) {
    return ReadState::kMalformed;
  }
  return ReadState::kReading;
}

ReadState JsonScanner::number_byte(char c) {
  const auto to = [&](Number next) {
    number_ = next;
    return ReadState::kReading;
  };
  const bool can_end = number_ == Number::kZero || number_ == Number::kDigits ||
                       number_ == Number::kFraction || number_ == Number::kExponent;
  if (is_digit(c)) {
    switch (number_) {
      case Number::kMinus:
        return to(c == '0' ? Number::kZero : Number::kDigits);
      case Number::kZero:
        return ReadState::kMalformed;
      case Number::kDot:
        return to(Number::kFraction);
      case Number::kE:
      case Number::kESign:
        return to(Number::kExponent);
      default:
        return ReadState::kReading;
    }
  }
  if (c == '.' && (number_ == Number::kZero || number_ == Number::kDigits)) return to(Number::kDot);
  if ((c | 0x20) == 'e' && can_end && number_ != Number::kExponent) return to(Number::kE);
  if ((c == '+' || c == '-') && number_ == Number::kE) return to(Number::kESign);
  if (!can_end) return ReadState::kMalformed;
  value_ended();
  return start(c);
}

ReadState JsonScanner::push(char c) {
  switch (token_) {
    case Token::kNone:
      return start(c);
    case Token::kNumber:
      return number_byte(c);
    case Token::kWord:
      if (c != word_.front()) return ReadState::kMalformed;
      word_.remove_prefix(1);
      if (word_.empty()) value_ended();
      return ReadState::kReading;
    default:
      return string_byte(c);
  }
}

ReadState ArgumentsReader::push(char c, Emitter& out) {
  if (!started_ && is_space(c)) return ReadState::kReading;
  if (!started_ && c != '{') return ReadState::kMalformed;
  started_ = true;
  const ReadState state = scanner_.push(c);
  if (state == ReadState::kMalformed) return state;
  out.arguments({&c, 1});
  if (state == ReadState::kReading) return state;
  done_ = true;
  return out.end_call() ? state : ReadState::kMalformed;
}

// ---- calls

bool CallsReader::take_name(Emitter& out) {
  if (!decode_string(text_, name_) || name_.empty()) return false;
  out.begin_call(name_);
  begun_ = true;
  out.arguments(std::exchange(held_, {}));
  return true;
}

void CallsReader::arguments_text(char c, Emitter& out) {
  if (begun_) {
    out.arguments({&c, 1});
  } else {
    held_ += c;
  }
}

bool CallsReader::value_starts(char c, Emitter& out) {
  in_value_ = true;
  text_.clear();
  const bool arguments = key_ == "arguments" || key_ == "parameters";
  if (key_ == name_key_ && (begun_ || c != '"')) return false;
  if (arguments && (has_arguments_ || (c != '{' && c != '"' && c != 'n'))) return false;
  if (arguments) has_arguments_ = true;
  if (arguments && c == '{') arguments_text(c, out);
  return true;
}

bool CallsReader::value_ends(Emitter& out) {
  in_value_ = false;
  if (key_ == name_key_) return take_name(out);
  if (key_ == "id" && text_.starts_with('"')) return decode_string(text_, id_);
  if ((key_ == "arguments" || key_ == "parameters") && text_.starts_with('"')) {
    std::string inner;
    if (!decode_string(text_, inner)) return false;
    if (begun_) {
      out.arguments(inner);
    } else {
      held_ = std::move(inner);
    }
  }
  return true;
}

bool CallsReader::end_call(Emitter& out) {
  if (!begun_) return false;
  out.call_id(std::exchange(id_, {}));
  begun_ = has_arguments_ = false;
  any_ = true;
  return out.end_call();
}

ReadState CallsReader::push(char c, Emitter& out) {
  if (scanner_.depth() == 0 && c == '[') array_ = true;
  const size_t depth_before = scanner_.depth();
  const auto expected = scanner_.expects();
  const bool inside = scanner_.inside_token();
  const ReadState state = scanner_.push(c);
  if (state == ReadState::kMalformed) return state;
  const size_t at = call_depth();
  const auto failed = ReadState::kMalformed;
  using Expects = JsonScanner::Expects;

  if (array_ && depth_before == 1 && !is_space(c) && c != '{' && c != ',' && c != ']')
    return failed;  // an item that is no object
  if (depth_before + 1 == at && scanner_.depth() == at) return ReadState::kReading;  // "{"
  if (depth_before == at && scanner_.depth() + 1 == at) {                            // "}"
    if (in_value_ && !value_ends(out)) return failed;  // a number or word ends with the object
    if (!end_call(out)) return failed;
    return state;
  }
  if (scanner_.depth() < at) return state == ReadState::kDone && !any_ ? failed : state;

  const bool key_position = expected == Expects::kKey || expected == Expects::kKeyOrEnd;
  if (depth_before == at && key_position) {
    if (!inside && c == '"') text_.clear();
    if (inside || c == '"') text_ += c;
    if (scanner_.expects() == Expects::kColon && !decode_string(text_, key_)) return failed;
    return ReadState::kReading;
  }
  if (depth_before == at && expected == Expects::kValue && !inside && !is_space(c)) {
    if (!value_starts(c, out)) return failed;
    text_ += c;
  } else if (in_value_) {
    const bool streamed = (key_ == "arguments" || key_ == "parameters") && text_ == "{";
    if (streamed) {
      arguments_text(c, out);
    } else if (depth_before == at) {
      text_ += c;  // strings; what nests in other members is passed over
    }
  }
  const bool value_complete = scanner_.depth() == at && scanner_.expects() == Expects::kCommaOrEnd;
  if (in_value_ && value_complete && !value_ends(out)) return failed;
  return ReadState::kReading;
}

}  // namespace puna::chat
