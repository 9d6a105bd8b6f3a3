// How the calls of a family are written, as data that a grammar is made of: what its parser reads
// is what an answer that is bound to calls may be. Each frame stands beside its parser in parsers/;
// service makes the grammar.
//
// In the texts of a frame @name stands for the name of a tool, @arguments for its arguments, @id
// for an id of nine letters and digits, @index for a whole number of up to three digits. A space
// behind punctuation may be left out; a line end may be left out, or be a space, or have
// indentation behind it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/json.h"

namespace puna::chat {

// One or more calls with what stands around them.
struct CallSection {
  std::string_view open{}, close{};
  std::span<const std::string_view> calls{};  // ways to write a call
  std::string_view between{};                 // of its calls, where it has several
  bool several = false;
  bool at_start = false;  // it is read as calls only before any other text
  bool to_end = false;    // nothing may stand behind it
};

// The tags that arguments stand between, one by one, as bare texts.
struct ArgumentTags {
  std::string_view before_name{}, behind_name{};  // "<parameter=" and ">"
  std::string_view before_value{};  // behind white space; empty: the value begins at once
  std::string_view behind_value{};  // "</parameter>"
  bool lines = false;               // a line end at each side of a value belongs to the tags
};

struct CallFrame {
  enum class Arguments : uint8_t {
    kJson,    // a JSON object
    kPython,  // (a=1, b="x")
    kGemma,   // {a:1,b:<|"|>x<|"|>}
    kTags,    // <parameter=a>1</parameter>; see `tags` and tagged_value()
  };
  Arguments arguments = Arguments::kJson;
  ArgumentTags tags{};
  std::span<const CallSection> sections{};
  // Regular expressions: what makes the parser take text for a call, anywhere, or before any other
  // text. A section begins with what one of them finds.
  std::string_view trigger{};
  std::string_view start_trigger{};
  // Texts that end a call for the parser, wherever they stand in its arguments.
  std::span<const std::string_view> ends{};
  std::string_view names = "[^\"\\\\<>{}()\\s]+";  // a regular expression: what tools may be called
  std::string_view behind_thinking{};              // between thinking and a call
  bool thinks_anywhere = false;                    // else only as the first thing of a reply
  // A reply is messages, any of which may be thinking; each ends at any of `ends`.
  bool has_messages = false;
};

// How the parser reads the bare text of a parameter with such a schema (null: it has none).
struct TaggedValue {
  bool text = false;      // as a text
  bool by_looks = false;  // as a text, unless it is JSON of another type
  // As JSON of these types, where it is such.
  bool null = false, boolean = false, number = false, array = false, object = false;
};
TaggedValue tagged_value(const base::Json* schema);

// The member of a tool that says what it is: its "function", or the tool itself.
const base::Json& function_of(const base::Json& tool);

}  // namespace puna::chat
