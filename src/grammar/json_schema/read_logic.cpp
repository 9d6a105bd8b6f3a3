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
    PUNA_TRY(meet(schema, set, *other));
  }
  return {};
}

Result<void> SchemaReader::join(const Json& where, ValueSet& a,
                                std::span<const ValueSet* const> others) {
  auto joined = algebra_.join(a, others);
  if (!joined) return at(where, std::move(joined.error()));
  return {};
}

Result<void> SchemaReader::read_all_of(const Json& schema, ValueSet& set) {
  PUNA_TRY(const Json* list, list_at(schema, "allOf"));
  if (list == nullptr) return {};
  for (const Json& part : list->items()) {
    PUNA_TRY(const ValueSet* other, beside(part));
    PUNA_TRY(meet(schema, set, *other));
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
  PUNA_TRY(join(schema, any, parts));
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
        PUNA_TRY(meet(schema, every, *parts[i]));
      }
      PUNA_TRY(join(schema, any, std::array<const ValueSet*, 1>{&every}));
    }
  }
  return meet(schema, set, any);
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
    PUNA_TRY(meet(schema, one, *part));
    within.push_back(std::move(one));
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    PUNA_TRY(deadline_.check());
    ValueSet one = within[i];
    for (size_t j = 0; j < parts.size(); ++j) {
      if (i == j) continue;
      ValueSet common = within[i];
      PUNA_TRY(meet(schema, common, *parts[j]));
      if (surely_empty(common, kDepthOfDisjoint)) continue;
      PUNA_TRY(const ValueSet others, all_but(list->items()[j], *parts[j]));
      PUNA_TRY(meet(schema, one, others));
    }
    PUNA_TRY(join(schema, out, std::array<const ValueSet*, 1>{&one}));
  }
  set = std::move(out);
  return {};
}

Result<void> SchemaReader::read_not(const Json& schema, ValueSet& set) {
  PUNA_TRY(const Json* inner, schema_at(schema, "not"));
  if (inner == nullptr) return {};
  PUNA_TRY(const ValueSet* other, beside(*inner));
  PUNA_TRY(ValueSet rest, all_but(*inner, *other));
  return meet(schema, set, rest);
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
  const auto go_on = [&](ValueSet& a, const Json* part) -> Result<void> {
    if (part == nullptr) return {};
    PUNA_TRY(const ValueSet* other, beside(*part));
    return meet(schema, a, *other);
  };
  PUNA_TRY(go_on(fulfilled, then));
  PUNA_TRY(go_on(failed, otherwise));
  PUNA_TRY(join(schema, fulfilled, std::array<const ValueSet*, 1>{&failed}));
  return meet(schema, set, fulfilled);
}

// Objects that have the property are of `then`; others, and what is no object, are as they are.
Result<void> SchemaReader::meet_if_present(const Json& where, std::string_view name,
                                           const ValueSet& then, ValueSet& set) {
  const Names names{std::string(name), {}, {}};
  ValueSet without = algebra_.all();
  without.objects.front().members.push_back({names, Terms::kNone});
  ValueSet with = algebra_.none();
  with.objects.emplace_back();
  with.objects.front().needed.push_back({names, Terms::kAll});
  PUNA_TRY(meet(where, with, then));
  PUNA_TRY(join(where, without, std::array<const ValueSet*, 1>{&with}));
  return meet(where, set, without);
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
      PUNA_TRY(meet_if_present(schema, name, then, set));
    }
  }
  return {};
}

}  // namespace puna::grammar
