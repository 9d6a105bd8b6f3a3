// What a model wrote, taken apart into thinking, text and tool calls while it is being written.
// Every family of models has its own syntax; parsers.h picks the parser. Whatever a parser does not
// understand stays text: nothing that a model writes is an error.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace puna::chat {

struct ToolCall {
  std::string id{};    // as the model wrote it; empty in most families, the caller makes one then
  std::string name{};  // not empty
  std::string arguments{};  // a JSON object: as the model wrote it where it writes JSON

  bool operator==(const ToolCall&) const = default;
};

struct ParsedReply {
  std::string reasoning{};  // without white space at its ends
  std::string content{};    // to be shown; white space between thinking, text and calls is left out
  std::vector<ToolCall> tool_calls{};

  bool operator==(const ParsedReply&) const = default;
};

// What became known with a piece of text. The events of a stream, added up, are the ParsedReply.
struct ReplyEvent {
  enum class Kind {
    kReasoning,  // text: goes on the reasoning
    kContent,    // text: goes on the content
    kCallBegin,  // call `call` begins; text: its name
    kArguments,  // text: goes on the arguments of call `call`
    kCallId,     // text: the id of call `call`
    kCallDrop,   // calls from `call` on turned out malformed: their text follows as content
  };
  Kind kind = Kind::kContent;
  size_t call = 0;
  std::string text{};

  bool operator==(const ReplyEvent&) const = default;
};

struct ParserOptions {
  // The tools that the model was offered, as the OpenAI interface lists them. With none (null, or
  // an empty array) what looks like a call is text.
  base::Json tools{};
  // The prompt ends inside a thinking section (see ReplyStyle::opens_thinking).
  bool thinking_open = false;
  // Arguments are handed on while they are written, and kCallDrop may come. If false, a call is
  // handed on when it is complete and valid, and kCallDrop never comes.
  bool stream_arguments = true;
};

// Reads a reply piece by piece. The result does not depend on where the text is cut, also inside of
// characters; events hold whole UTF-8 characters (bytes that are no UTF-8 pass as they are). Memory
// and time grow linearly with the text.
class ReplyParser {
 public:
  virtual ~ReplyParser() = default;
  ReplyParser() = default;
  ReplyParser(const ReplyParser&) = delete;
  ReplyParser& operator=(const ReplyParser&) = delete;

  virtual std::vector<ReplyEvent> feed(std::string_view text) = 0;
  // The end of the text; once, after the last feed().
  virtual std::vector<ReplyEvent> finish() = 0;
  // All so far; complete after finish().
  virtual const ParsedReply& reply() const = 0;
};

}  // namespace puna::chat
