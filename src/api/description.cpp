#include "api/description.h"

#include <algorithm>

namespace puna::api {

std::span<const Descriptions> descriptions() {
  static const std::array kAll = {openai::descriptions(), anthropic::descriptions(),
                                  llama::descriptions(), ollama::descriptions(),
                                  web::descriptions()};
  return kAll;
}

const Description* find_description(Endpoint endpoint) {
  for (const Descriptions& each : descriptions()) {
    const auto found = std::ranges::find(each.rows, endpoint, &Description::endpoint);
    if (found != each.rows.end()) return &*found;
  }
  return nullptr;
}

std::vector<Field> rows_of(std::span<const FieldTable> tables) {
  std::vector<Field> out;
  for (const FieldTable table : tables) {
    if (!table) continue;
    for (const Field& field : table()) {
      if (std::ranges::find(out, field.name, &Field::name) == out.end()) out.push_back(field);
    }
  }
  return out;
}

}  // namespace puna::api
