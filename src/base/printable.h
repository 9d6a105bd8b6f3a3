// Text that came from a file, a name or a model, made safe to print on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace puna::base {

// What stays as it is, beside the characters that only show something.
enum class Keep {
  kNothing,  // of a name or a value: it takes one line, and no order of letters but its own
  kLines,    // of a message: newlines and tabs
  kText,     // of a reply: the marks of writing directions, too
};

// The text with its control characters (C0, DEL, C1) written as \u001b: a terminal would obey them,
// and a file could so repaint the screen or set the clipboard. The same for line separators and for
// the marks that turn the direction of writing around, with which a name can be made to read as
// another (Unicode Technical Report 36, section 2.3). Bytes that are no UTF-8 become \x9b, in a
// reply U+FFFD, since terminals take some of them for control characters.
std::string printable(std::string_view text, Keep keep = Keep::kNothing);

}  // namespace puna::base
