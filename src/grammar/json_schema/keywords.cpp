#include "grammar/json_schema/keywords.h"

#include <fmt/format.h>

#include <algorithm>

namespace puna::grammar {

namespace {

constexpr auto kKept = Keyword::Effect::kKept;
constexpr auto kAnnotates = Keyword::Effect::kAnnotates;
constexpr auto kRefused = Keyword::Effect::kRefused;
constexpr auto kNothing = Keyword::Holds::kNothing;
constexpr auto kSchema = Keyword::Holds::kSchema;
constexpr auto kList = Keyword::Holds::kList;
constexpr auto kMap = Keyword::Holds::kMap;
constexpr auto kSchemaOrList = Keyword::Holds::kSchemaOrList;

constexpr Keyword kKeywords[] = {
    {"type", kKept, kNothing, "A name or a list of names. Integers are written without a point."},
    {"enum", kKept, kNothing, "Values of any type."},
    {"const", kKept, kNothing, "A value of any type."},

    {"properties", kKept, kMap, "Written in the order of the schema."},
    {"required", kKept, kNothing, "Names that `properties` lacks come after those it has."},
    {"additionalProperties", kKept, kSchema,
     "Such properties come last. Absent: any, as the standard says; with `strict`: none."},
    {"patternProperties", kKept, kMap, "Such properties come last."},
    {"propertyNames", kKept, kSchema, ""},
    {"minProperties", kKept, kNothing, ""},
    {"maxProperties", kKept, kNothing, ""},
    {"dependentRequired", kKept, kNothing, ""},
    {"dependentSchemas", kKept, kMap, ""},
    {"dependencies", kKept, kMap, "Of draft 7."},
    {"unevaluatedProperties", kKept, kSchema, ""},

    {"prefixItems", kKept, kList, ""},
    {"items", kKept, kSchemaOrList, "A list of schemas is that of draft 7."},
    {"additionalItems", kKept, kSchema, "Of draft 7."},
    {"minItems", kKept, kNothing, ""},
    {"maxItems", kKept, kNothing, ""},
    {"contains", kKept, kSchema, ""},
    {"minContains", kKept, kNothing, ""},
    {"maxContains", kKept, kNothing, ""},
    {"uniqueItems", kKept, kNothing,
     "Where an array has at most one item, or items of at most eight values; else refused."},
    {"unevaluatedItems", kKept, kSchema, "Not beside `contains`."},

    {"minLength", kKept, kNothing, "In characters."},
    {"maxLength", kKept, kNothing, "In characters; beside `pattern` or `format` see below."},
    {"pattern", kKept, kNothing,
     "An expression of ECMA-262 without look-around and back-references, found anywhere unless "
     "it has anchors."},
    {"format", kKept, kNothing, "The formats below; others only annotate."},

    {"minimum", kKept, kNothing, "Numbers with bounds are written without an exponent."},
    {"maximum", kKept, kNothing, ""},
    {"exclusiveMinimum", kKept, kNothing, "A number; `true` of draft 4 is refused."},
    {"exclusiveMaximum", kKept, kNothing, "A number; `true` of draft 4 is refused."},
    {"multipleOf", kKept, kNothing, "Up to 2,000 without its powers of ten, as 2000 or 0.05."},

    {"allOf", kKept, kList, ""},
    {"anyOf", kKept, kList, ""},
    {"oneOf", kKept, kList, "Exactly one."},
    {"not", kKept, kSchema, "Not around `uniqueItems`, nor a format of which only a part is made."},
    {"if", kKept, kSchema, ""},
    {"then", kKept, kSchema, ""},
    {"else", kKept, kSchema, ""},

    {"$ref", kKept, kNothing,
     "Within the schema, also to itself. Nothing is fetched: others are refused."},
    {"$dynamicRef", kKept, kNothing, "Where the schema has one `$id` at most; else refused."},
    {"$recursiveRef", kKept, kNothing, "Where the schema has one `$id` at most; else refused."},
    {"$defs", kKept, kMap, ""},
    {"definitions", kKept, kMap, "Of draft 7."},
    {"$id", kKept, kNothing, ""},
    {"$anchor", kKept, kNothing, ""},
    {"$dynamicAnchor", kKept, kNothing, ""},
    {"$recursiveAnchor", kKept, kNothing, ""},
    {"$schema", kKept, kNothing, "Drafts 6, 7, 2019-09 and 2020-12; others are refused."},

    {"$comment", kAnnotates, kNothing, ""},
    {"$vocabulary", kAnnotates, kNothing, ""},
    {"title", kAnnotates, kNothing, ""},
    {"description", kAnnotates, kNothing, ""},
    {"default", kAnnotates, kNothing, ""},
    {"examples", kAnnotates, kNothing, ""},
    {"deprecated", kAnnotates, kNothing, ""},
    {"readOnly", kAnnotates, kNothing, ""},
    {"writeOnly", kAnnotates, kNothing, ""},
    {"contentEncoding", kAnnotates, kNothing, ""},
    {"contentMediaType", kAnnotates, kNothing, ""},
    {"contentSchema", kAnnotates, kSchema, ""},

    {"id", kAnnotates, kNothing, "Of draft 4; `$id` is its name since."},
    {"discriminator", kAnnotates, kNothing,
     "Of OpenAPI; the schemas of `oneOf` say it themselves."},
    {"example", kAnnotates, kNothing, "Of OpenAPI."},
    {"externalDocs", kAnnotates, kNothing, "Of OpenAPI."},

    {"extends", kRefused, kNothing, "Of draft 3; `allOf` is its name since."},
    {"disallow", kRefused, kNothing, "Of draft 3; `not` is its name since."},
    {"divisibleBy", kRefused, kNothing, "Of draft 3; `multipleOf` is its name since."},
};

std::string_view effect_name(Keyword::Effect effect) {
  switch (effect) {
    case kKept:
      return "kept";
    case kAnnotates:
      return "annotates only";
    case kRefused:
      break;
  }
  return "refused";
}

}  // namespace

std::span<const Keyword> keywords() { return kKeywords; }

const Keyword* find_keyword(std::string_view name) {
  const auto* row = std::ranges::find(kKeywords, name, &Keyword::name);
  return row == std::end(kKeywords) ? nullptr : row;
}

std::string keywords_as_markdown() {
  std::string out = "| Keyword | Effect | |\n| --- | --- | --- |\n";
  for (const Keyword& row : kKeywords) {
    out += fmt::format("| `{}` | {} | {} |\n", row.name, effect_name(row.effect), row.about);
  }
  return out;
}

}  // namespace puna::grammar
