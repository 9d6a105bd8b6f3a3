// The parser of families whose replies are text with sections between markers: thinking, and tool
// calls. A family says which markers there are and brings a reader for what stands between them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chat/parsers/byte_parser.h"
#include "chat/parsers/json_reader.h"

namespace puna::chat {

// Reads the inside of a section of calls, one byte at a time, and emits the calls.
class CallReader {
 public:
  virtual ~CallReader() = default;
  CallReader() = default;
  CallReader(const CallReader&) = delete;
  CallReader& operator=(const CallReader&) = delete;

  virtual ReadState push(char c, Emitter& out) = 0;
  // The text ends inside of the section: true when its calls are complete all the same.
  virtual bool end(Emitter& out) = 0;
};

// What the readers of a family may look at.
struct CallContext {
  const ParserOptions& options;
  std::string_view opener;  // the marker that was met
};
using MakeReader = std::unique_ptr<CallReader> (*)(const CallContext&);

// What stands around an answer. The first counts only before any other text, the last behind it.
struct AnswerMarks {
  std::string_view open{}, close{};
};

struct Syntax {
  std::string_view think_open{};  // empty: none
  std::string_view think_close{};
  bool thinks_anywhere = false;                // else only as the first thing of a reply
  std::vector<std::string_view> openers{};     // of calls
  std::vector<std::string_view> starters{};    // openers that count only before any other text
  std::vector<std::string_view> skipped{};     // markers without a meaning, after thinking or calls
  std::vector<std::string_view> separators{};  // the same, as long as no other text came
  std::vector<AnswerMarks> answers{};          // the one or the other
  bool names_start = false;  // the names of offered tools are openers before any other text
  MakeReader make_reader = nullptr;
};

std::unique_ptr<ReplyParser> make_section_parser(const Syntax& syntax,
                                                 const ParserOptions& options);

// A reader that collects a section up to `close`, or the end of the text, and then reads it whole.
class WholeReader : public CallReader {
 public:
  explicit WholeReader(std::string_view close) : close_(close) {}
  ReadState push(char c, Emitter& out) final;
  bool end(Emitter& out) final { return read(text_, out); }

 protected:
  // `text` is what stands before `close`. False when it holds no valid calls.
  virtual bool read(std::string_view text, Emitter& out) = 0;
  // Whether a text that begins so can become valid; asked after every byte, for short texts.
  virtual bool may_become(std::string_view begin) const {
    (void)begin;
    return true;
  }

 private:
  std::string_view close_;
  std::string text_;
};

// Emits a complete call; false when its arguments are no object.
bool emit_call(std::string name, const base::Json& arguments, Emitter& out);

// The parameters' schemas of a tool, or null: its "properties".
const base::Json* tool_properties(const base::Json& tools, std::string_view name);
bool is_offered(const base::Json& tools, std::string_view name);

std::string_view trimmed(std::string_view text);  // of ASCII white space

}  // namespace puna::chat
