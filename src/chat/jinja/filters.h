// The table of filters: value | name(arguments).
#pragma once

#include <span>
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
std::span<const Filter> text_filters();
std::span<const Filter> number_filters();
std::span<const Filter> html_filters();
std::span<const Filter> sequence_filters();
std::span<const Filter> grouping_filters();
std::span<const Filter> go_filters();  // what translated Go templates call (chat/go_template.h)

}  // namespace puna::chat::jinja
