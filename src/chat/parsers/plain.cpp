// Text alone, and text after one thinking section.
#include "chat/parsers/families.h"

namespace puna::chat {

std::unique_ptr<ReplyParser> make_plain(const ParserOptions& options) {
  static const Syntax kSyntax{};
  return make_section_parser(kSyntax, options);
}

std::unique_ptr<ReplyParser> make_think(const ParserOptions& options) {
  static const Syntax kSyntax{.think_open = "<think>", .think_close = "</think>"};
  return make_section_parser(kSyntax, options);
}

}  // namespace puna::chat
