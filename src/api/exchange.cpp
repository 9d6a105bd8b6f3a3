#include "api/exchange.h"

#include <fmt/format.h>

#include <algorithm>

namespace puna::api {
namespace {

const std::string* find_in(const std::vector<std::pair<std::string, std::string>>& list,
                           std::string_view name) {
  const auto found = std::ranges::find(list, name, &std::pair<std::string, std::string>::first);
  return found == list.end() ? nullptr : &found->second;
}

}  // namespace

const std::string* HttpRequest::query_value(std::string_view name) const {
  return find_in(query, name);
}
const std::string* HttpRequest::header(std::string_view name) const {
  return find_in(headers, name);
}

std::string sse(const base::Json& data, std::string_view event) {
  if (event.empty()) return fmt::format("data: {}\n\n", data.dump());
  return fmt::format("event: {}\ndata: {}\n\n", event, data.dump());
}

std::string ndjson(const base::Json& data) { return data.dump() + "\n"; }

}  // namespace puna::api
