// What other schemas say of the same value: references, allOf, anyOf, oneOf, not, if, dependents.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "grammar/json_schema/reader.h"

namespace puna::grammar {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {
// With keywords that see which schemas looked at what, each set of schemas of an anyOf that a value
// may fulfil is an alternative.
constexpr size_t kMostSeen = 5;
// How deep two schemas of a oneOf are looked into to find that no value fulfils both.
constexpr int kDepthOfDisjoint = 2;
}  // namespace

Result<void> SchemaReader::read_refs(const Json& schema, bool closed, ValueSet& set) {
  for (const std::string_view key : {"$ref", "$dynamicRef", "$recursiveRef"}) {
    const Json* ref = schema.find(key);
    if (ref == nullptr) continue;
    if (!ref->is_string()) return wrong(schema, key, *ref, "a text");
    if (key != "$ref" && !document_.is_one_resource()) {
      return refuse(schema, fmt::format("the keyword \"{}\" is not supported in a schema with more "
                                        "than one \"$id\"",
                                        key));
    }
    PUNA_TRY(const Json* target, document_.resolve(schema, ref->string()));
    PUNA_TRY(const ValueSet* other, beside(*target, closed));
    auto met = algebra_.meet(set, *other);
    if (!met) return at(schema, std::move(met.error()));
  }
  return {};
}

Result<void> SchemaReader::read_all_of(const Json& schema, ValueSet& set) {
  PUNA_TRY(const Json* list, list_at(schema, "allOf"));
  if (list == nullptr) return {};
  for (const Json& part : list->items()) {
    PUNA_TRY(const ValueSet* other, beside(part));
    auto met = algebra_.meet(set, *other);
    if (!met) return at(schema, std::move(met.error()));
  }
  return {};
}

Result<void> SchemaReader::read_any_of(const Json& schema, bool closed, ValueSet& set) {
  PUNA_TRY(const Json* list, list_at(schema, "anyOf"));
  if (list == nullptr) return {};
  if (list->items().empty()) return wrong(schema, "anyOf", *list, "a list that is not empty");
  std::vector<const ValueSet*> parts;
  for (const Json& part : list->items()) {
    PUNA_TRY(const ValueSet* other, beside(part, closed));
    parts.push_back(other);
  }
  ValueSet any = algebra_.none();
  const auto join = [&](const ValueSet& one) -> Result<void> {
    auto joined = algebra_.join(any, one);
    if (!joined) return at(schema, std::move(joined.error()));
    return {};
  };
  auto joined = algebra_.join(any, parts);
  if (!joined) return at(schema, std::move(joined.error()));
  if (has_unevaluated_) {
    if (parts.size() > kMostSeen) {
      return refuse(schema, fmt::format("\"anyOf\" of more than {} schemas is not supported in a "
                                        "schema with \"unevaluatedProperties\" or "
                                        "\"unevaluatedItems\"",
                                        kMostSeen));
    }
    for (uint32_t chosen = 1; chosen < 1u << parts.size(); ++chosen) {
      ValueSet every = algebra_.all();
      for (size_t i = 0; i < parts.size(); ++i) {
        if ((chosen >> i & 1) == 0) continue;
        auto met = algebra_.meet(every, *parts[i]);
        if (!met) return at(schema, std::move(met.error()));
      }
      PUNA_TRY(join(every));
    }
  }
  auto met = algebra_.meet(set, any);
  if (!met) return at(schema, std::move(met.error()));
  return {};
}

Result<void> SchemaReader::read_one_of(const Json& schema, bool closed, ValueSet& set) {
  PUNA_TRY(const Json* list, list_at(schema, "oneOf"));
  if (list == nullptr) return {};
  if (list->items().empty()) return wrong(schema, "oneOf", *list, "a list that is not empty");
  std::vector<const ValueSet*> parts;
  for (const Json& part : list->items()) {
    PUNA_TRY(const ValueSet* other, beside(part, closed));
    parts.push_back(other);
  }
  ValueSet out = algebra_.none();
  // Each schema without the others, as far as they overlap within what is asked beside them.
  std::vector<ValueSet> within;
  for (const ValueSet* part : parts) {
    PUNA_TRY(deadline_.check());
    ValueSet one = set;
    auto met = algebra_.meet(one, *part);
    if (!met) return at(schema, std::move(met.error()));
    within.push_back(std::move(one));
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    PUNA_TRY(deadline_.check());
    ValueSet one = within[i];
    for (size_t j = 0; j < parts.size(); ++j) {
      if (i == j) continue;
      ValueSet common = within[i];
      auto met = algebra_.meet(common, *parts[j]);
      if (!met) return at(schema, std::move(met.error()));
      if (surely_empty(common, kDepthOfDisjoint)) continue;
      PUNA_TRY(const ValueSet others, all_but(list->items()[j], *parts[j]));
      met = algebra_.meet(one, others);
      if (!met) return at(schema, std::move(met.error()));
    }
    auto joined = algebra_.join(out, one);
    if (!joined) return at(schema, std::move(joined.error()));
  }
  set = std::move(out);
  return {};
}

Result<void> SchemaReader::read_not(const Json& schema, ValueSet& set) {
  PUNA_TRY(const Json* inner, schema_at(schema, "not"));
  if (inner == nullptr) return {};
  PUNA_TRY(const ValueSet* other, beside(*inner));
  PUNA_TRY(ValueSet rest, all_but(*inner, *other));
  auto met = algebra_.meet(set, rest);
  if (!met) return at(schema, std::move(met.error()));
  return {};
}

Result<void> SchemaReader::read_if(const Json& schema, ValueSet& set) {
  PUNA_TRY(const Json* condition, schema_at(schema, "if"));
  PUNA_TRY(const Json* then, schema_at(schema, "then"));
  PUNA_TRY(const Json* otherwise, schema_at(schema, "else"));
  if (condition == nullptr) return {};
  if (then == nullptr && otherwise == nullptr && !has_unevaluated_) return {};
  PUNA_TRY(const ValueSet* yes, beside(*condition));
  ValueSet fulfilled = *yes;
  PUNA_TRY(ValueSet failed, all_but(*condition, *yes));
  const auto meet = [&](ValueSet& a, const Json* part) -> Result<void> {
    if (part == nullptr) return {};
    PUNA_TRY(const ValueSet* other, beside(*part));
    auto met = algebra_.meet(a, *other);
    if (!met) return at(schema, std::move(met.error()));
    return {};
  };
  PUNA_TRY(meet(fulfilled, then));
  PUNA_TRY(meet(failed, otherwise));
  auto joined = algebra_.join(fulfilled, failed);
  if (joined) joined = algebra_.meet(set, fulfilled);
  if (!joined) return at(schema, std::move(joined.error()));
  return {};
}

// Objects that have the property are of `then`; others, and what is no object, are as they are.
Result<void> SchemaReader::meet_if_present(std::string_view name, const ValueSet& then,
                                           ValueSet& set) {
  const Names names{std::string(name), {}, {}};
  ValueSet without = algebra_.all();
  without.objects.front().members.push_back({names, Terms::kNone});
  ValueSet with = algebra_.none();
  with.objects.emplace_back();
  with.objects.front().needed.push_back({names, Terms::kAll});
  PUNA_TRY(algebra_.meet(with, then));
  PUNA_TRY(algebra_.join(without, with));
  return algebra_.meet(set, without);
}

Result<void> SchemaReader::read_dependents(const Json& schema, ValueSet& set) {
  for (const std::string_view key : {"dependentRequired", "dependentSchemas", "dependencies"}) {
    PUNA_TRY(const Json* map, map_at(schema, key));
    if (map == nullptr) continue;
    for (const auto& [name, value] : map->members()) {
      ValueSet then = algebra_.all();
      if (value.is_array() ? key != "dependentSchemas" : key == "dependentRequired") {
        if (!value.is_array()) return wrong(*map, name, value, "a list of names");
        PUNA_TRY(const auto names, names_at(value));
        for (const std::string& each : names) {
          then.objects.front().needed.push_back({{each, {}, {}}, Terms::kAll});
        }
      } else {
        PUNA_TRY(const ValueSet* other, beside(value));
        then = *other;
      }
      auto met = meet_if_present(name, then, set);
      if (!met) return at(schema, std::move(met.error()));
    }
  }
  return {};
}

}  // namespace puna::grammar
