// A text file compiled into the program (puna_embed in cmake/puna.cmake).
#pragma once

#include <span>
#include <string_view>

namespace puna::base {

struct EmbeddedFile {
  std::string_view name;  // path below src/
  std::string_view text;
};

}  // namespace puna::base
