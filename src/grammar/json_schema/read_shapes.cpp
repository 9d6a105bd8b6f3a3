// What a schema itself says of arrays and objects.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "grammar/json_schema/reader.h"

namespace puna::grammar {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

bool has_any(const Json& schema, std::span<const std::string_view> keys) {
  return std::ranges::any_of(keys,
                             [&](std::string_view key) { return schema.find(key) != nullptr; });
}

constexpr std::string_view kArrayKeys[] = {"items",       "prefixItems", "additionalItems",
                                           "minItems",    "maxItems",    "contains",
                                           "minContains", "maxContains", "uniqueItems"};
constexpr std::string_view kObjectKeys[] = {
    "properties", "patternProperties", "additionalProperties", "propertyNames",
    "required",   "minProperties",     "maxProperties"};

}  // namespace

Result<std::vector<std::string>> SchemaReader::names_at(const Json& list) {
  std::vector<std::string> out;
  for (const Json& name : list.items()) {
    if (!name.is_string()) {
      return refuse(
          list,
          fmt::format("a name is {} ({}), but has to be a text", name.dump(), name.type_name()),
          ErrorCode::kInvalidArgument);
    }
    out.push_back(name.string());
  }
  return out;
}

Result<void> SchemaReader::read_arrays(const Json& schema, ValueSet& set) {
  if (!has_any(schema, kArrayKeys)) return {};
  const bool strict = options_.strict;
  ArrayShape shape;
  // A list of schemas as `items` is what prefixItems is since 2020-12, and additionalItems then
  // what `items` is.
  const Json* items = schema.find("items");
  const bool old = items != nullptr && items->is_array();
  PUNA_TRY(const Json* first, list_at(schema, old ? "items" : "prefixItems"));
  PUNA_TRY(const Json* rest, schema_at(schema, old ? "additionalItems" : "items"));
  uint64_t n_first = 0;
  if (first != nullptr) {
    for (const Json& item : first->items()) {
      const TermId term = terms_.schema(item, strict);
      if (term != Terms::kAll) shape.items.push_back({n_first, n_first + 1, term});
      ++n_first;
    }
  }
  shape.evaluated = n_first;
  if (rest != nullptr) {
    const TermId term = terms_.schema(*rest, strict);
    if (term != Terms::kAll) shape.items.push_back({n_first, kEndless, term});
    shape.evaluated = kEndless;
  }
  PUNA_TRY(const auto least, count_at(schema, "minItems"));
  PUNA_TRY(const auto most, count_at(schema, "maxItems"));
  shape.least = least.value_or(0);
  shape.most = most.value_or(kEndless);
  if (shape.least > shape.most) {
    return refuse(
        schema,
        fmt::format("\"minItems\" is {}, but \"maxItems\" only {}", shape.least, shape.most),
        ErrorCode::kInvalidArgument);
  }
  PUNA_TRY(const Json* contains, schema_at(schema, "contains"));
  PUNA_TRY(const auto least_contained, count_at(schema, "minContains"));
  PUNA_TRY(const auto most_contained, count_at(schema, "maxContains"));
  if (contains != nullptr) {
    ArrayShape::Count count{0, kEndless, terms_.schema(*contains, false),
                            least_contained.value_or(1), most_contained.value_or(kEndless)};
    if (count.least > 0 || count.most != kEndless) shape.counts.push_back(count);
  }
  const Json* unique = schema.find("uniqueItems");
  if (unique != nullptr && !unique->is_bool()) {
    return wrong(schema, "uniqueItems", *unique, "true or false");
  }
  shape.unique = unique != nullptr && unique->boolean();
  ValueSet own = algebra_.all();
  own.arrays.clear();
  if (is_possible(shape)) own.arrays.push_back(std::move(shape));
  return algebra_.meet(set, own);
}

Result<void> SchemaReader::read_objects(const Json& schema, ValueSet& set) {
  if (!has_any(schema, kObjectKeys)) return {};
  const bool strict = options_.strict;
  ObjectShape shape;
  PUNA_TRY(const Json* properties, map_at(schema, "properties"));
  PUNA_TRY(const Json* patterns, map_at(schema, "patternProperties"));
  PUNA_TRY(const Json* additional, schema_at(schema, "additionalProperties"));
  PUNA_TRY(const Json* names, schema_at(schema, "propertyNames"));
  PUNA_TRY(const Json* required, list_at(schema, "required"));
  std::vector<std::string> known;
  std::vector<Expression> known_patterns;
  if (properties != nullptr) {
    for (const auto& [name, value] : properties->members()) {
      // Also those of any value: they are written in this order.
      shape.members.push_back({{name, {}, {}}, terms_.schema(value, strict)});
      shape.evaluated.push_back({name, {}, {}});
      known.push_back(name);
    }
  }
  if (patterns != nullptr) {
    for (const auto& [pattern, value] : patterns->members()) {
      PUNA_TRY(Names matching, pattern_names(value, pattern));
      known_patterns.push_back(matching.many);
      shape.members.push_back({matching, terms_.schema(value, strict)});
      shape.evaluated.push_back(std::move(matching));
    }
  }
  if (additional != nullptr) {
    const TermId term = terms_.schema(*additional, strict);
    if (term != Terms::kAll) {
      shape.members.push_back({all_names_but(std::move(known), known_patterns), term});
    }
    shape.evaluated.push_back(all_names_but({}, {}));
  }
  if (names != nullptr) {
    PUNA_TRY(const ValueSet* valid, beside(*names));
    PUNA_TRY(const ValueSet invalid, all_but(*names, *valid));
    shape.members.push_back({{std::nullopt, invalid.strings, std::nullopt}, Terms::kNone});
  }
  if (required != nullptr) {
    PUNA_TRY(auto each, names_at(*required));
    for (std::string& name : each) shape.needed.push_back({{std::move(name), {}, {}}, Terms::kAll});
  }
  PUNA_TRY(const auto least, count_at(schema, "minProperties"));
  PUNA_TRY(const auto most, count_at(schema, "maxProperties"));
  shape.least = least.value_or(0);
  shape.most = most.value_or(kEndless);
  if (shape.least > shape.most) {
    return refuse(schema,
                  fmt::format("\"minProperties\" is {}, but \"maxProperties\" only {}", shape.least,
                              shape.most),
                  ErrorCode::kInvalidArgument);
  }
  shape.described = properties != nullptr || patterns != nullptr || required != nullptr;
  ValueSet own = algebra_.all();
  own.objects.clear();
  if (is_possible(shape)) own.objects.push_back(std::move(shape));
  return algebra_.meet(set, own);
}

Result<void> SchemaReader::read_unevaluated(const Json& schema, ValueSet& set) {
  PUNA_TRY(const Json* properties, schema_at(schema, "unevaluatedProperties"));
  PUNA_TRY(const Json* items, schema_at(schema, "unevaluatedItems"));
  if (properties != nullptr) {
    const TermId term = terms_.schema(*properties, options_.strict);
    for (ObjectShape& shape : set.objects) {
      if (term != Terms::kAll) shape.members.push_back({unseen(shape), term});
      shape.evaluated.assign(1, all_names_but({}, {}));
    }
  }
  if (items == nullptr) return {};
  const TermId term = terms_.schema(*items, options_.strict);
  for (ArrayShape& shape : set.arrays) {
    if (!shape.counts.empty()) {
      return refuse(schema, "\"unevaluatedItems\" beside \"contains\" is not supported");
    }
    if (shape.evaluated != kEndless && term != Terms::kAll) {
      shape.items.push_back({shape.evaluated, kEndless, term});
    }
    shape.evaluated = kEndless;
  }
  return {};
}

}  // namespace puna::grammar
