#include "chat/jinja/filters.h"

#include <algorithm>

namespace puna::chat::jinja {

const Filter* find_filter(std::string_view name) {
  for (const auto part : {text_filters, number_filters, html_filters, sequence_filters,
                          grouping_filters, go_filters}) {
    const std::span<const Filter> table = part();
    const auto found = std::ranges::find(table, name, &Filter::name);
    if (found != table.end()) return &*found;
  }
  return nullptr;
}

}  // namespace puna::chat::jinja
