#include "grammar/json_schema/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "grammar/json_schema/keywords.h"

namespace puna::grammar {

using base::Error;
using base::ErrorCode;
using base::fail;
using base::Json;
using base::Result;

namespace {

bool mentions_unevaluated(const Json& value) {
  if (value.is_array()) return std::ranges::any_of(value.items(), mentions_unevaluated);
  if (!value.is_object()) return false;
  return std::ranges::any_of(value.members(), [](const Json::Member& member) {
    return member.first.starts_with("unevaluated") || mentions_unevaluated(member.second);
  });
}

}  // namespace

SchemaReader::SchemaReader(SchemaDocument& document, Languages& languages,
                           const JsonSchemaOptions& options, const Deadline& deadline)
    : document_(document),
      languages_(languages),
      options_(options),
      deadline_(deadline),
      algebra_(terms_, languages_),
      has_unevaluated_(mentions_unevaluated(document.root())) {}

Result<const ValueSet*> SchemaReader::values(TermId term) {
  const auto [place, is_new] = sets_.emplace(term, std::nullopt);
  if (is_new) {
    PUNA_TRY(deadline_.check());
    if (depth_ == options_.limits.depth) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{}: the schema nests deeper than {} levels, which is the limit "
                              "depth.",
                              path_of(term), depth_));
    }
    ++depth_;
    auto set = compute(term);
    --depth_;
    if (!set) {
      sets_.erase(term);
      return std::unexpected(std::move(set.error()));
    }
    place->second = *std::move(set);
  }
  if (!place->second) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: the schema refers to itself without an end.", path_of(term)));
  }
  return &*place->second;
}

Result<ValueSet> SchemaReader::compute(TermId id) {
  const Term term = terms_[id];
  switch (term.kind) {
    case Term::Kind::kAll:
      return algebra_.all();
    case Term::Kind::kNone:
      return algebra_.none();
    case Term::Kind::kSchema:
      return read(*term.json, term.closed);
    case Term::Kind::kValue:
      return algebra_.of_values({term.json, 1});
    case Term::Kind::kEvery: {
      PUNA_TRY(const ValueSet* first, values(term.parts.front()));
      ValueSet out = *first;
      for (const TermId part : std::span(term.parts).subspan(1)) {
        PUNA_TRY(const ValueSet* other, values(part));
        PUNA_TRY(algebra_.meet(out, *other));
      }
      return out;
    }
    case Term::Kind::kNot:
      break;
  }
  PUNA_TRY(const ValueSet* inner, values(term.parts.front()));
  auto out = algebra_.complement(*inner);
  if (!out) {
    out.error().message = fmt::format("{}: {}.", path_of(id), out.error().message);
  }
  return out;
}

Result<void> SchemaReader::check_keywords(const Json& schema) {
  for (const auto& [key, value] : schema.members()) {
    const Keyword* row = find_keyword(key);
    if (row == nullptr && options_.strict) {
      return refuse(schema, fmt::format("the keyword \"{}\" is not known", key),
                    ErrorCode::kInvalidArgument);
    }
    if (row != nullptr && row->effect == Keyword::Effect::kRefused) {
      std::string_view about = row->about;
      if (about.ends_with('.')) about.remove_suffix(1);  // the sentence goes on
      return refuse(schema, fmt::format("the keyword \"{}\" is not supported: {}", key, about));
    }
  }
  return {};
}

Result<ValueSet> SchemaReader::read(const Json& schema, bool closed) {
  if (schema.is_bool()) return schema.boolean() ? algebra_.all() : algebra_.none();
  if (!schema.is_object()) {
    return refuse(schema,
                  fmt::format("a schema has to be an object or a boolean, but here stands "
                              "{} ({})",
                              schema.dump(), schema.type_name()),
                  ErrorCode::kInvalidArgument);
  }
  ValueSet set = algebra_.all();
  if (document_.ref_stands_alone() && schema.find("$ref") != nullptr) {
    PUNA_TRY(read_refs(schema, closed, set));
    return set;
  }
  PUNA_TRY(check_keywords(schema));
  PUNA_TRY(read_type(schema, set));
  PUNA_TRY(read_enum(schema, set));
  PUNA_TRY(read_numbers(schema, set));
  PUNA_TRY(read_strings(schema, set));
  PUNA_TRY(read_arrays(schema, set));
  PUNA_TRY(read_objects(schema, set));
  // With `strict` a schema that only chooses between others leaves it to them to be closed.
  const bool passes_on = closed && schema.find("properties") == nullptr &&
                         schema.find("patternProperties") == nullptr &&
                         schema.find("allOf") == nullptr && schema.find("if") == nullptr;
  PUNA_TRY(read_refs(schema, passes_on, set));
  PUNA_TRY(read_all_of(schema, set));
  PUNA_TRY(read_any_of(schema, passes_on, set));
  PUNA_TRY(read_one_of(schema, passes_on, set));
  PUNA_TRY(read_if(schema, set));
  PUNA_TRY(read_dependents(schema, set));
  PUNA_TRY(read_not(schema, set));
  PUNA_TRY(read_unevaluated(schema, set));
  if (closed && schema.find("additionalProperties") == nullptr) {
    for (ObjectShape& shape : set.objects) {
      if (shape.described) shape.members.push_back({unseen(shape), Terms::kNone});
    }
  }
  if (set.numbers.is_too_large()) {
    return refuse(schema, fmt::format("its bounds and steps of numbers need more than {} states",
                                      Numerals::kMostStates));
  }
  return set;
}

Result<const ValueSet*> SchemaReader::beside(const Json& schema, bool closed) {
  return values(terms_.schema(schema, closed));
}

Result<ValueSet> SchemaReader::all_but(const Json& where, const ValueSet& set) {
  auto out = algebra_.complement(set);
  if (!out) return at(where, out.error());
  return out;
}

bool SchemaReader::surely_empty(TermId term, int depth) {
  if (term == Terms::kNone) return true;
  const auto known = sets_.find(term);
  if (known != sets_.end() && !known->second) return false;  // it is being made
  const auto set = values(term);
  return set && surely_empty(**set, depth);
}

bool SchemaReader::surely_empty(const ValueSet& set, int depth) {
  if (set.null || set.no || set.yes || !set.numbers.is_none()) return false;
  if (!languages_.is_nothing(set.strings).value_or(false)) return false;
  const auto empty = [&](const auto& shape) { return surely_empty(shape, depth); };
  return std::ranges::all_of(set.arrays, empty) && std::ranges::all_of(set.objects, empty);
}

bool SchemaReader::surely_empty(const ArrayShape& shape, int depth) {
  return depth > 0 && std::ranges::any_of(shape.items, [&](const ArrayShape::Items& items) {
           return items.from < shape.least && surely_empty(items.term, depth - 1);
         });
}

bool SchemaReader::surely_empty(const ObjectShape& shape, int depth) {
  return depth > 0 && std::ranges::any_of(shape.needed, [&](const ObjectShape::Member& needed) {
           return needed.names.one &&
                  surely_empty(member_term(shape, *needed.names.one), depth - 1);
         });
}

Result<void> SchemaReader::meet(const Json& where, ValueSet& a, const ValueSet& b) {
  auto met = algebra_.meet(a, b);
  if (!met) return at(where, met.error());
  PUNA_TRY(deadline_.check());
  // What nothing fulfils is left out before it is met with more.
  static constexpr size_t kMany = 4;
  const auto empty = [&](const auto& shape) { return surely_empty(shape, /*depth=*/1); };
  if (a.objects.size() > kMany) std::erase_if(a.objects, empty);
  if (a.arrays.size() > kMany) std::erase_if(a.arrays, empty);
  return {};
}

TermId SchemaReader::member_term(const ObjectShape& shape, std::string_view name) {
  std::vector<TermId> parts;
  for (const ObjectShape::Member& member : shape.members) {
    if (has_name(member.names, name)) parts.push_back(member.term);
  }
  for (const ObjectShape::Member& needed : shape.needed) {
    if (needed.names.one && *needed.names.one == name) parts.push_back(needed.term);
  }
  return terms_.every(parts);
}

std::string SchemaReader::path_of(TermId id) const {
  for (;;) {
    const Term& term = terms_[id];
    if (term.json != nullptr) return document_.path_of(*term.json);
    if (term.parts.empty()) return "#";
    id = term.parts.front();
  }
}

bool SchemaReader::has_name(const Names& names, std::string_view name) {
  if (names.one) return *names.one == name;
  if (names.all_but) return !std::ranges::binary_search(*names.all_but, name);
  return languages_.contains(names.many, name);
}

Names SchemaReader::all_names_but(std::vector<std::string> names,
                                  std::span<const Expression> patterns) {
  Expressions& e = languages_.expressions();
  Names out{std::nullopt, languages_.any(), std::nullopt};
  if (!names.empty()) out.many = e.without(out.many, e.literals(names));
  for (const Expression pattern : patterns) out.many = e.without(out.many, pattern);
  std::ranges::sort(names);
  if (patterns.empty()) out.all_but = std::move(names);
  return out;
}

Names SchemaReader::unseen(const ObjectShape& shape) {
  std::vector<std::string> known;
  std::vector<Expression> patterns;
  for (const Names& names : shape.evaluated) {
    if (names.one) {
      known.push_back(*names.one);
    } else {
      patterns.push_back(names.many);
    }
  }
  return all_names_but(std::move(known), patterns);
}

std::unexpected<Error> SchemaReader::refuse(const Json& where, std::string_view what,
                                            ErrorCode code) const {
  return fail(code, fmt::format("{}: {}.", document_.path_of(where), what));
}

std::unexpected<Error> SchemaReader::at(const Json& where, const Error& error) const {
  std::string_view what = error.message;
  if (what.ends_with('.')) what.remove_suffix(1);
  return refuse(where, what, error.code);
}

std::unexpected<Error> SchemaReader::wrong(const Json& where, std::string_view key,
                                           const Json& value, std::string_view wanted) const {
  std::string shown = value.dump();
  if (shown.size() > 80) {
    shown.resize(base::utf8_complete_prefix(std::string_view(shown).substr(0, 80)));
    shown += "...";
  }
  return refuse(
      where,
      fmt::format("\"{}\" is {} ({}), but has to be {}", key, shown, value.type_name(), wanted),
      ErrorCode::kInvalidArgument);
}

Result<std::optional<uint64_t>> SchemaReader::count_at(const Json& schema, std::string_view key) {
  const Json* value = schema.find(key);
  if (value == nullptr) return std::nullopt;
  static constexpr double kMost = 9e15;  // whole numbers are exact up to here
  const bool whole = value->is_number() && value->number() >= 0 && value->number() <= kMost &&
                     value->number() == std::floor(value->number());
  if (!whole) return wrong(schema, key, *value, "a whole number from 0");
  return static_cast<uint64_t>(value->number());
}

Result<std::optional<Decimal>> SchemaReader::number_at(const Json& schema, std::string_view key) {
  const Json* value = schema.find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) return wrong(schema, key, *value, "a number");
  auto out = Decimal::of(*value);
  if (!out) {
    return wrong(
        schema, key, *value,
        fmt::format("a number of at most {} digits on a side of its point", Decimal::kMostDigits));
  }
  return out;
}

Result<const Json*> SchemaReader::list_at(const Json& schema, std::string_view key) {
  const Json* value = schema.find(key);
  if (value == nullptr || value->is_array()) return value;
  return wrong(schema, key, *value, "a list");
}

Result<const Json*> SchemaReader::map_at(const Json& schema, std::string_view key) {
  const Json* value = schema.find(key);
  if (value == nullptr || value->is_object()) return value;
  return wrong(schema, key, *value, "an object");
}

Result<const Json*> SchemaReader::schema_at(const Json& schema, std::string_view key) {
  const Json* value = schema.find(key);
  if (value == nullptr || value->is_object() || value->is_bool()) return value;
  return wrong(schema, key, *value, "a schema, which is an object or a boolean");
}

}  // namespace puna::grammar
