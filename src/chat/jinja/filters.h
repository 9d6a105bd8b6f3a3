// The table of filters: value | name(arguments).
#pragma once

#include <string_view>

#include "base/result.h"
#include "chat/jinja/value.h"

namespace puna::chat::jinja {

struct Filter {
  std::string_view name;
  base::Result<Value> (*apply)(Evaluator& evaluator, const Value& input,
                               const Arguments& arguments);
};

// Null when there is none of that name.
const Filter* find_filter(std::string_view name);

// The parts of the table, by what they work on.
const Filter* find_text_filter(std::string_view name);
const Filter* find_sequence_filter(std::string_view name);
const Filter* find_grouping_filter(std::string_view name);

}  // namespace puna::chat::jinja
