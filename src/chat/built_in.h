// Templates of families of models by name, for files that carry none or a faulty one. Names are
// those of llama.cpp's --chat-template; texts are as each family documents its format.
#pragma once

#include <span>
#include <string_view>

namespace puna::chat {

struct BuiltInTemplate {
  std::string_view name;    // "llama3"
  std::string_view source;  // Jinja
};

std::span<const BuiltInTemplate> built_in_templates();
// Null: there is none of that name.
const BuiltInTemplate* find_built_in(std::string_view name);

}  // namespace puna::chat
