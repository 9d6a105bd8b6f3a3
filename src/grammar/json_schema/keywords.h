// The keywords of JSON Schema as a table: what a schema may say, and what becomes of it. The table
// of docs/structured-output.md is made of it. Source: the core and validation specifications of
// drafts 2020-12 and 7.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace puna::grammar {

struct Keyword {
  enum class Effect : uint8_t {
    kKept,       // what is made follows it
    kAnnotates,  // says nothing of which values are valid
    kRefused,    // its effect cannot be given: an error by name
  };
  // Where schemas are below it.
  enum class Holds : uint8_t { kNothing, kSchema, kList, kMap, kSchemaOrList };

  std::string_view name;
  Effect effect = Effect::kKept;
  Holds holds = Holds::kNothing;
  // A sentence for the documentation: within which bounds it is kept; of a refused one the reason.
  std::string_view about;
};

std::span<const Keyword> keywords();
// Null for a keyword that no draft has.
const Keyword* find_keyword(std::string_view name);

// The rows as a table in Markdown.
std::string keywords_as_markdown();

}  // namespace puna::grammar
