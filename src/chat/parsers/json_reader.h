// Reads JSON that arrives byte by byte: whether it still can become a document, and the calls in
// it.
#pragma once

#include <string>
#include <string_view>

#include "chat/parsers/emitter.h"

namespace puna::chat {

enum class ReadState { kReading, kDone, kMalformed };

// Accepts one JSON object or array. What it accepts is what a strict parser accepts, except that
// nothing is decoded: surrogates and the size of numbers are not looked at.
class JsonScanner {
 public:
  enum class Expects { kValue, kValueOrEnd, kKey, kKeyOrEnd, kColon, kCommaOrEnd, kNothing };

  ReadState push(char c);
  size_t depth() const { return open_.size(); }
  Expects expects() const { return expects_; }
  bool inside_token() const { return token_ != Token::kNone; }

 private:
  enum class Token { kNone, kString, kEscape, kHex, kNumber, kWord };
  enum class Number { kMinus, kZero, kDigits, kDot, kFraction, kE, kESign, kExponent };

  static constexpr size_t kMaxDepth = 100;  // as base::Json

  ReadState start(char c);
  ReadState string_byte(char c);
  ReadState number_byte(char c);
  ReadState close(char bracket);
  void value_ended();

  std::string open_;  // brackets
  Expects expects_ = Expects::kValue;
  Token token_ = Token::kNone;
  Number number_ = Number::kMinus;
  bool key_ = false;       // the string is a key
  int hex_left_ = 0;       // of a \u escape
  std::string_view word_;  // what is left of true, false or null
};

// Hands a JSON object on as the arguments of the last call.
class ArgumentsReader {
 public:
  ReadState push(char c, Emitter& out);
  // Whether the object is complete.
  bool done() const { return done_; }

 private:
  JsonScanner scanner_;
  bool started_ = false;
  bool done_ = false;
};

// Reads {"name": ..., "arguments": {...}}, or an array of these. "parameters" is the same as
// "arguments", which may also be a string that holds the object; "id" is the call's; other members
// are passed over. Some families have another key for the name.
class CallsReader {
 public:
  explicit CallsReader(std::string_view name_key = "name") : name_key_(name_key) {}

  // kDone with the bracket that closes the document; begun calls are ended then.
  ReadState push(char c, Emitter& out);

 private:
  size_t call_depth() const { return array_ ? 2 : 1; }
  bool start_call();
  bool end_call(Emitter& out);
  bool value_starts(char c, Emitter& out);
  bool value_ends(Emitter& out);
  bool take_name(Emitter& out);
  void arguments_text(char c, Emitter& out);

  std::string_view name_key_;
  JsonScanner scanner_;
  bool array_ = false;
  bool any_ = false;  // a call was read
  std::string text_;  // of the current key or value
  std::string key_;
  bool in_value_ = false;
  std::string name_;  // of the current call
  std::string id_;
  std::string held_;  // arguments that came before the name
  bool has_arguments_ = false;
  bool begun_ = false;
};

}  // namespace puna::chat
