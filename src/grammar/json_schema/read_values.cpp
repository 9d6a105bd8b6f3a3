// What a schema itself says of its value's type, of listed values, of numbers and of strings.
#include <fmt/format.h>

#include <algorithm>

#include "grammar/json_schema/formats.h"
#include "grammar/json_schema/reader.h"
#include "grammar/regex.h"

namespace puna::grammar {

using base::ErrorCode;
using base::Json;
using base::Result;

Result<void> SchemaReader::read_type(const Json& schema, ValueSet& set) {
  const Json* types = schema.find("type");
  if (types == nullptr) return {};
  static constexpr std::string_view kWanted =
      "one of \"null\", \"boolean\", \"integer\", \"number\", \"string\", \"array\" and "
      "\"object\", or a list of them";
  ValueSet out = algebra_.none();
  const auto add = [&](const Json& type) -> Result<void> {
    if (!type.is_string()) return wrong(schema, "type", *types, kWanted);
    const std::string& name = type.string();
    if (name == "null") {
      out.null = true;
    } else if (name == "boolean") {
      out.no = out.yes = true;
    } else if (name == "integer") {
      out.numbers = Numerals::either(out.numbers, Numerals::integers());
    } else if (name == "number") {
      out.numbers = Numerals::all();
    } else if (name == "string") {
      out.strings = languages_.any();
    } else if (name == "array") {
      out.arrays.assign(1, {});
    } else if (name == "object") {
      out.objects.assign(1, {.described = true});
    } else {
      return wrong(schema, "type", *types, kWanted);
    }
    return {};
  };
  if (types->is_array()) {
    if (types->items().empty()) return wrong(schema, "type", *types, kWanted);
    for (const Json& type : types->items()) PUNA_TRY(add(type));
  } else {
    PUNA_TRY(add(*types));
  }
  return algebra_.meet(set, out);
}

Result<void> SchemaReader::read_enum(const Json& schema, ValueSet& set) {
  if (const Json* value = schema.find("const")) {
    PUNA_TRY(algebra_.meet(set, algebra_.of_values({value, 1})));
  }
  PUNA_TRY(const Json* list, list_at(schema, "enum"));
  if (list == nullptr) return {};
  return algebra_.meet(set, algebra_.of_values(list->items()));
}

Result<std::optional<std::vector<Json>>> SchemaReader::listed_values(TermId id) {
  const Term term = terms_[id];
  if (term.kind == Term::Kind::kEvery) {
    for (const TermId part : term.parts) {
      PUNA_TRY(auto out, listed_values(part));
      if (out) return out;
    }
  }
  if (term.kind != Term::Kind::kSchema) return std::nullopt;
  const Json* schema = term.json;
  // A reference to a list is as good; longer ways are not followed.
  if (const Json* ref = schema->find("$ref"); ref != nullptr && ref->is_string()) {
    PUNA_TRY(schema, document_.resolve(*schema, ref->string()));
  }
  if (const Json* list = schema->find("enum"); list != nullptr && list->is_array()) {
    return list->items();
  }
  if (const Json* value = schema->find("const")) return std::vector<Json>{*value};
  const Json* type = schema->find("type");
  if (type != nullptr && *type == Json("boolean")) return std::vector<Json>{false, true};
  if (type != nullptr && *type == Json("null")) return std::vector<Json>{nullptr};
  return std::nullopt;
}

Result<void> SchemaReader::read_numbers(const Json& schema, ValueSet& set) {
  struct Bound {
    std::string_view key;
    bool less, equal, greater;
  };
  static constexpr Bound kBounds[] = {{"minimum", false, true, true},
                                      {"exclusiveMinimum", false, false, true},
                                      {"maximum", true, true, false},
                                      {"exclusiveMaximum", true, false, false}};
  Numerals bounded = Numerals::all();
  for (const Bound& row : kBounds) {
    PUNA_TRY(const auto bound, number_at(schema, row.key));
    if (!bound) continue;
    bounded = Numerals::both(bounded, Numerals::compared(*bound, row.less, row.equal, row.greater));
  }
  if (bounded.is_none()) {
    return refuse(schema, "no number is within the bounds", ErrorCode::kInvalidArgument);
  }
  set.numbers = Numerals::both(set.numbers, bounded);
  PUNA_TRY(const auto step, number_at(schema, "multipleOf"));
  if (!step) return {};
  const Json& value = *schema.find("multipleOf");
  if (step->negative || step->is_zero()) {
    return wrong(schema, "multipleOf", value, "a number above 0");
  }
  const auto multiples = Numerals::multiples_of(*step);
  if (!multiples) {
    return refuse(schema, fmt::format("\"multipleOf\" is {}, but steps of more than {} without "
                                      "their powers of ten are not supported",
                                      value.dump(), Numerals::kMostSteps));
  }
  set.numbers = Numerals::both(set.numbers, *multiples);
  return {};
}

Result<void> SchemaReader::read_strings(const Json& schema, ValueSet& set) {
  Expressions& e = languages_.expressions();
  PUNA_TRY(const auto least, count_at(schema, "minLength"));
  PUNA_TRY(const auto most, count_at(schema, "maxLength"));
  if (least && most && *least > *most) {
    return refuse(schema,
                  fmt::format("\"minLength\" is {}, but \"maxLength\" only {}", *least, *most),
                  ErrorCode::kInvalidArgument);
  }
  static constexpr uint64_t kMostCounted = kUnbounded - 1;
  if (least.value_or(0) > kMostCounted) {
    return wrong(schema, "minLength", *schema.find("minLength"), "below 4294967295");
  }
  if (least || most) {
    const uint64_t upper = most.value_or(kEndless);
    set.strings = languages_.both(
        set.strings, e.repeat(e.any_character(), static_cast<uint32_t>(least.value_or(0)),
                              upper > kMostCounted ? kUnbounded : static_cast<uint32_t>(upper)));
  }
  if (const Json* pattern = schema.find("pattern")) {
    if (!pattern->is_string()) return wrong(schema, "pattern", *pattern, "a text");
    PUNA_TRY(const Names names, pattern_names(*pattern, pattern->string()));
    set.strings = languages_.both(set.strings, names.many);
  }
  const Json* name = schema.find("format");
  if (name == nullptr) return {};
  if (!name->is_string()) return wrong(schema, "format", *name, "a text");
  const Format* format = find_format(name->string());
  if (format == nullptr) return {};
  const std::string whole = fmt::format("^({})$", format->expression);
  PUNA_TRY(const Names names, pattern_names(*name, whole));
  set.strings = languages_.both(set.strings, names.many);
  set.strings_in_part |= format->in_part;
  return {};
}

// The texts in which an expression is found. One for each, since many schemas have few.
Result<Names> SchemaReader::pattern_names(const Json& where, std::string_view pattern) {
  auto known = patterns_.find(pattern);
  if (known == patterns_.end()) {
    auto found =
        regex_expression(languages_.expressions(), pattern, RegexFit::kPart, options_.limits);
    if (!found) return at(where, std::move(found.error()));
    known = patterns_.emplace(pattern, languages_.both(languages_.any(), *found)).first;
  }
  return Names{std::nullopt, known->second, std::nullopt};
}

}  // namespace puna::grammar
