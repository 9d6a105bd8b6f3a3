#include "api/openai/fields.h"

#include <fmt/format.h>

#include "base/log.h"

namespace puna::api::openai {

using base::ErrorCode;
using base::Json;
using base::Result;

std::unexpected<base::Error> refuse_field(std::string_view name, const Json& value,
                                          std::string_view wanted) {
  constexpr size_t kMostShown = 80;
  std::string shown = value.dump();
  if (shown.size() > kMostShown) shown = fmt::format("a long {}", value.type_name());
  return base::fail(ErrorCode::kInvalidArgument,
                    fmt::format("The field \"{}\" is {}, but has to be {}.", name, shown, wanted));
}

Result<Fields> Fields::of(const Json& body) {
  if (body.is_object()) return Fields(body);
  return base::fail(
      ErrorCode::kInvalidArgument,
      fmt::format("The request has to be a JSON object; it is of type {}.", body.type_name()));
}

const Json* Fields::find(std::string_view name) {
  known_.emplace(name);
  const Json* value = body_->find(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

Result<std::optional<std::string>> Fields::text(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) return refuse_field(name, *value, "a text");
  return value->string();
}

Result<std::optional<bool>> Fields::flag(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_bool()) return refuse_field(name, *value, "true or false");
  return value->boolean();
}

Result<std::optional<double>> Fields::number(std::string_view name, double least, double most) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number() || !(value->number() >= least && value->number() <= most))
    return refuse_field(name, *value, fmt::format("a number from {} to {}", least, most));
  return value->number();
}

Result<std::optional<int64_t>> Fields::integer(std::string_view name, int64_t least, int64_t most) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_integer() || value->integer() < least || value->integer() > most)
    return refuse_field(name, *value, fmt::format("a whole number from {} to {}", least, most));
  return value->integer();
}

Result<std::vector<std::string>> Fields::texts(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr) return {};
  if (value->is_string()) return std::vector<std::string>{value->string()};
  const auto wrong = [&] { return refuse_field(name, *value, "a text or a list of texts"); };
  if (!value->is_array()) return wrong();
  std::vector<std::string> out;
  for (const Json& item : value->items()) {
    if (!item.is_string()) return wrong();
    out.push_back(item.string());
  }
  return out;
}

void Fields::log_unknown() const {
  for (const auto& [name, value] : body_->members()) {
    if (!known_.contains(name))
      base::log_info("The field \"{}\" of the request is not known and has no effect.", name);
  }
}

Result<std::vector<int32_t>> token_ids(std::string_view field, const Json& value) {
  const auto wrong = [&] { return refuse_field(field, value, "a list of token ids"); };
  if (!value.is_array()) return wrong();
  std::vector<int32_t> out;
  for (const Json& item : value.items()) {
    if (!item.is_integer() || item.integer() < 0 || item.integer() > INT32_MAX) return wrong();
    out.push_back(static_cast<int32_t>(item.integer()));
  }
  return out;
}

}  // namespace puna::api::openai
