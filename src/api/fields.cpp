#include "api/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/log.h"

namespace puna::api {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

const Field* find_field(FieldTables tables, std::string_view name) {
  for (const std::span<const Field> table : tables) {
    const auto found = std::ranges::find(table, name, &Field::name);
    if (found != table.end()) return &*found;
  }
  return nullptr;
}

bool within(const Field& field, double value) {
  return value >= field.least && value <= field.most;
}

// 4.0 is one too, which is how some clients write them.
bool is_whole(const Json& value) {
  constexpr double kExact = 9007199254740992;  // 2^53
  return value.is_integer() || (value.is_number() && std::fabs(value.number()) <= kExact &&
                                value.number() == std::trunc(value.number()));
}

std::string range_of(const Field& field) {
  const bool from = field.least > std::numeric_limits<double>::lowest();
  const bool to = field.most < std::numeric_limits<double>::max();
  if (from && to) return fmt::format(" from {} to {}", field.least, field.most);
  if (from) return fmt::format(" from {} on", field.least);
  return to ? fmt::format(" up to {}", field.most) : "";
}

// "float, base64 or int8" of "float|base64|int8".
std::string spelled(std::string_view values) {
  std::string out;
  for (size_t at = 0; at <= values.size();) {
    const size_t end = std::min(values.find('|', at), values.size());
    if (at > 0) out += end == values.size() ? " or " : ", ";
    out += values.substr(at, end - at);
    at = end + 1;
  }
  return out;
}
bool is_one_of(std::string_view values, std::string_view value) {
  const std::string all = fmt::format("|{}|", values);
  return value.find('|') == std::string_view::npos &&
         all.find(fmt::format("|{}|", value)) != std::string::npos;
}

bool is_texts(const Json& value) {
  return value.is_string() ||
         (value.is_array() && std::ranges::all_of(value.items(), &Json::is_string));
}

Result<void> check(const Field& field, const Json& value) {
  using Kind = Field::Kind;
  const auto wanted = [&](bool holds, std::string_view what) -> Result<void> {
    if (holds) return {};
    return refuse_field(field.name, value, what);
  };
  switch (field.kind) {
    case Kind::kText:
      if (field.values.empty()) return wanted(value.is_string(), "a text");
      return wanted(value.is_string() && is_one_of(field.values, value.string()),
                    spelled(field.values));
    case Kind::kFlag:
      return wanted(value.is_bool(), "true or false");
    case Kind::kNumber:
      return wanted(value.is_number() && within(field, value.number()),
                    "a number" + range_of(field));
    case Kind::kInteger:
      return wanted(is_whole(value) && within(field, value.number()),
                    "a whole number" + range_of(field));
    case Kind::kTexts:
      return wanted(is_texts(value), "a text or a list of texts");
    case Kind::kList:
      return wanted(value.is_array(), "a list");
    case Kind::kObject:
      return wanted(value.is_object(), "an object");
    case Kind::kAny:
      return {};
  }
  return {};
}

// Of those that were given: the first that has another name for what `field` means.
const Field* other_name(std::span<const Field* const> given, const Field& field) {
  const auto means = [](const Field& f) { return f.same_as.empty() ? f.name : f.same_as; };
  const auto found =
      std::ranges::find_if(given, [&](const Field* each) { return means(*each) == means(field); });
  return found == given.end() ? nullptr : *found;
}

}  // namespace

std::unexpected<base::Error> refuse_field(std::string_view name, const Json& value,
                                          std::string_view wanted) {
  constexpr size_t kMostShown = 80;
  std::string shown = value.dump();
  if (shown.size() > kMostShown) shown = fmt::format("a long {}", value.type_name());
  return base::fail(ErrorCode::kInvalidArgument,
                    fmt::format("The field \"{}\" is {}, but has to be {}.", name, shown, wanted));
}

Result<Body> Body::read(const Json& json, FieldTables tables) {
  if (!json.is_object()) {
    return base::fail(
        ErrorCode::kInvalidArgument,
        fmt::format("The request has to be a JSON object; it is of type {}.", json.type_name()));
  }
  constexpr size_t kMostNamed = 10;  // a log is not for whole bodies
  Body out;
  std::vector<const Field*> given;
  size_t n_unknown = 0;
  for (const auto& [name, value] : json.members()) {
    if (value.is_null()) continue;
    const Field* field = find_field(tables, name);
    if (!field) {
      if (++n_unknown > kMostNamed) continue;
      base::log_info("The field \"{}\" of the request is not known and has no effect.", name);
    } else if (field->effect == Field::Effect::kRefused) {
      if (!field->harmless.empty() && value.dump() == field->harmless) continue;
      return base::fail(ErrorCode::kUnsupported,
                        fmt::format("The field \"{}\" is not supported: {}", name, field->about));
    } else if (field->effect == Field::Effect::kMeant) {
      PUNA_TRY(check(*field, value));
      const Field* const other = other_name(given, *field);
      if (other && other->name != name && out.find(other->name)->dump() != value.dump()) {
        base::log_info(
            "The fields \"{}\" and \"{}\" of the request are names of one thing and differ; one of "
            "them has no effect.",
            other->name, name);
      }
      if (!other) given.push_back(field);
      out.members_.push_back({name, &value});
    }
  }
  if (n_unknown > kMostNamed)
    base::log_info("Nor are {} further fields of it known.", n_unknown - kMostNamed);
  return out;
}

const Json* Body::find(std::string_view name) const {
  const auto found = std::ranges::find(members_, name, &Member::name);
  return found == members_.end() ? nullptr : found->value;
}

std::optional<std::string> Body::text(std::string_view name) const {
  const Json* value = find(name);
  return value ? std::optional(value->string()) : std::nullopt;
}
std::optional<bool> Body::flag(std::string_view name) const {
  const Json* value = find(name);
  return value ? std::optional(value->boolean()) : std::nullopt;
}
std::optional<double> Body::number(std::string_view name) const {
  const Json* value = find(name);
  return value ? std::optional(value->number()) : std::nullopt;
}
std::optional<int64_t> Body::integer(std::string_view name) const {
  const Json* value = find(name);
  if (!value) return {};
  return value->is_integer() ? value->integer() : static_cast<int64_t>(value->number());
}

std::vector<std::string> Body::texts(std::string_view name) const {
  const Json* value = find(name);
  if (!value) return {};
  if (value->is_string()) return std::vector<std::string>(1, value->string());
  std::vector<std::string> out;
  for (const Json& item : value->items()) out.push_back(item.string());
  return out;
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

}  // namespace puna::api
