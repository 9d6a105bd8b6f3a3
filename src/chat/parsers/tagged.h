// Calls whose arguments stand one by one between tags, as bare texts:
// <function=name><parameter=key>value</parameter>...</function>. The tool's schema says what a
// value is meant to be. Arguments are handed on one after another, texts while they are written.
#pragma once

#include <memory>
#include <string_view>

#include "chat/call_frame.h"
#include "chat/parsers/section_parser.h"

namespace puna::chat {

struct TaggedSyntax {
  // Around the name of the tool; empty: it stands first, up to a line end or a tag.
  std::string_view before_name{}, behind_name{};
  ArgumentTags tags{};
  std::string_view close{};  // behind the last argument
  std::string_view end{};    // behind that; empty: `close` is the end
};

// name_open: `before_name` was read already. `syntax` and `tools` outlive the reader.
std::unique_ptr<CallReader> make_tagged_reader(const TaggedSyntax& syntax, bool name_open,
                                               const base::Json& tools);

}  // namespace puna::chat
