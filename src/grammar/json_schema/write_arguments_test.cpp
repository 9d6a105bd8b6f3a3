// Arguments of calls as keywords, between tags and in other notations of values.
#include <doctest/doctest.h>

#include "grammar/json_schema/json_schema.h"

namespace puna::grammar {
namespace {

using Form = ArgumentNotation::Form;

base::Result<std::shared_ptr<const Grammar>> grammar_of(const char* schema,
                                                        const ArgumentNotation& notation) {
  const auto json = base::Json::parse(schema);
  REQUIRE_MESSAGE(json.has_value(), schema);
  Builder builder({.compile_ms = 0});
  PUNA_TRY(const Symbol start, SchemaRules(builder).write_arguments(*json, {}, notation));
  builder.need(start, "No object fits.");
  return std::move(builder).build(start);
}

void check(const char* schema, const ArgumentNotation& notation,
           std::initializer_list<const char*> valid, std::initializer_list<const char*> invalid) {
  CAPTURE(schema);
  const auto grammar = grammar_of(schema, notation);
  REQUIRE_MESSAGE(grammar.has_value(), grammar.error().text());
  for (const char* text : valid) CHECK_MESSAGE(accepts(*grammar, text), text);
  for (const char* text : invalid) CHECK_MESSAGE(!accepts(*grammar, text), text);
}

std::string refused(const char* schema, const ArgumentNotation& notation) {
  const auto grammar = grammar_of(schema, notation);
  REQUIRE_FALSE(grammar.has_value());
  return grammar.error().message;
}

constexpr const char* kSchema = R"({"type": "object", "required": ["city"], "properties": {
    "city": {"type": "string"}, "days": {"type": "integer"}, "on": {"type": ["boolean", "null"]},
    "more": {"type": "object", "additionalProperties": {"type": "string"}}},
    "additionalProperties": false})";

}  // namespace

const ValueTags kParameterTags{.before_name = "<parameter=",
                               .behind_name = ">\n",
                               .before_value = {},
                               .behind_value = "\n</parameter>"};

TEST_CASE("arguments as keywords have Python's words and no mark that ends them") {
  ArgumentNotation notation;
  notation.form = Form::kKeywords;
  notation.values = {.null = "None", .no = "False", .yes = "True", .ends = {"</calls>"}};
  check(kSchema, notation,
        {R"((city="Rome"))", R"((city="a</b", days=3, on=True))", R"((city="", on=None))",
         R"((city="x", more={"a b": "c"}))"},
        {"()", R"(("Rome"))", R"((city='Rome'))", R"((city="a</calls>"))", R"((city="", on=true))",
         R"((days=3, city=""))", R"((city="", other=1))"});
  check(R"({"type": "object", "properties": {"a b": {}, "c": {"type": "null"}}})", notation,
        {"()", "(c=None)", "(other=1)"}, {R"(("a b"=1))", "(a b=1)", "(1=1)"});
  CHECK(refused(R"({"type": "object", "required": ["a b"]})", notation) ==
        "#: the property \"a b\" is required, but calls of this model have no way to write its "
        "name.");
}

TEST_CASE("texts between quotes of their own stand as they are") {
  ArgumentNotation notation;
  notation.values = {.quote = "<q>", .ends = {"<end>"}};
  check(kSchema, notation,
        {"{city:<q>Ro\"me\n<q>}", "{city: <q><q>, days: 3}",
         "{city:<q><q>,more:{<q>a b<q>:<q>c<q>}}"},
        {"{city:\"Rome\"}", "{\"city\":<q><q>}", "{city:<q><end><q>}"});
}

TEST_CASE("texts between quotes of their own hold none of these") {
  for (const char* quote : {"<q>", "\xFF<q>"}) {
    CAPTURE(quote);
    const std::string q = quote;
    ArgumentNotation notation;
    notation.values = {.quote = q, .ends = {"<end>", "<q>"}};
    const std::string text = "{city:" + q + "Rome" + q + "}";
    const std::string names =
        "{city:" + q + q + ",more:{" + q + "a b" + q + ":" + q + "c" + q + "}}";
    const std::string held = "{city:" + q + "a<q>b" + q + "}";
    const std::string ended = "{city:" + q + "a<end>b" + q + "}";
    check(kSchema, notation, {text.c_str(), names.c_str()}, {held.c_str(), ended.c_str()});
    const std::string spaced = "{" + q + "a b" + q + ":1}";
    check(R"({"type": "object", "properties": {"a b": {"type": "integer"}, "c<q>": {}},
              "required": ["a b"], "additionalProperties": false})",
          notation, {spaced.c_str()}, {"{a b:1}"});
  }
}

TEST_CASE("between tags a text is bare, and nothing that would be read as something else") {
  ArgumentNotation notation;
  notation.form = Form::kTags;
  notation.tags = kParameterTags;
  notation.values.ends = {"</parameter>", "</call>"};
  notation.reading = [](std::string_view name) -> TextReading {
    if (name == "city") return {.text = true, .null = true};
    if (name == "days") return {.number = true};
    return {.by_looks = true,
            .null = true,
            .boolean = true,
            .number = true,
            .array = true,
            .object = true};
  };
  check(kSchema, notation,
        {"<parameter=city>\nRome \"x\"\n</parameter>",
         "<parameter=city>\n</p>5\n</parameter>\n<parameter=days>\n5\n</parameter>",
         "<parameter=city>\n\n</parameter><parameter=more>\n{\"a\": \"b\"}\n</parameter>"},
        {"", "<parameter=city>\nnull\n</parameter>", "<parameter=city>\na</call>\n</parameter>",
         "<parameter=days>\n5\n</parameter>", "<parameter=city>Rome</parameter>"});
  check(R"({"type": "object", "properties": {"any": {}}})", notation,
        {"", "<parameter=any>\nword\n</parameter>", "<parameter=any>\n5\n</parameter>",
         "<parameter=any>\ntruely\n</parameter>", "<parameter=b>\nx\n</parameter>"},
        {"<parameter=any>\n 5\n</parameter>", "<parameter=any>\n{a\n</parameter>",
         "<parameter=any>\ntrue \n</parameter>", "<parameter=a>b>\nx\n</parameter>"});
}

TEST_CASE("numbers of arguments are short, and a length is kept beside marks") {
  ArgumentNotation notation;
  notation.values.short_numbers = true;
  notation.values.ends = {"<end>"};
  const std::string digits(40, '7');
  const std::string fits = "{\"n\":" + digits + "." + digits + digits + "e-99}";
  const std::string long_one = "{\"n\":" + digits + "7}", far_one = "{\"n\":1e100}";
  check(R"({"type": "object", "properties": {"n": {"type": "number"}}})", notation,
        {fits.c_str(), "{\"n\":-0.5}"}, {long_one.c_str(), far_one.c_str()});
  check(R"({"type": "object", "properties": {"s": {"type": "string", "maxLength": 3}}})", notation,
        {"{\"s\":\"<en\"}"}, {"{\"s\":\"abcd\"}"});
  check(R"({"type": "object", "properties": {"s": {"type": "string", "maxLength": 100,
            "minLength": 4}}})",
        notation, {"{\"s\":\"<end\"}", "{\"s\":\"<<<end >\"}"},
        {"{\"s\":\"<en\"}", "{\"s\":\"<<end>\"}"});
  check(R"({"type": "object", "properties": {"s": {"type": "string", "minLength": 4,
            "pattern": "^(é|[a-z]+<)+$"}}})",
        notation, {"{\"s\":\"ééab<\"}", "{\"s\":\"a<end<éé\"}", "{\"s\":\"éééé\"}"},
        {"{\"s\":\"ab<\"}", "{\"s\":\"ééé\"}", "{\"s\":\"abcd\"}"});
  // What a pattern leaves no way to end is not begun.
  check(R"({"type": "object", "properties": {"s": {"pattern": "^(a|b<end.{1,9})$"}}})", notation,
        {"{\"s\":\"a\"}", "{\"s\":\"b<end?\"}"}, {"{\"s\":\"b<end>\"}"});
  // So long a text with marks to be told apart has too many states, so it goes without "<".
  check(R"({"type": "object", "properties": {"s": {"type": "string", "maxLength": 3000}}})",
        notation, {"{\"s\":\"end>\"}"}, {"{\"s\":\"<end>\"}"});
}

TEST_CASE("a bare text keeps its length, and is not read as something else") {
  ArgumentNotation notation;
  notation.form = Form::kTags;
  notation.tags = kParameterTags;
  notation.values.ends = {"</parameter>"};
  notation.reading = [](std::string_view) -> TextReading {
    return {.text = true, .by_looks = true, .null = true};
  };
  check(R"({"type": "object", "properties": {"s": {"type": ["string", "null"], "minLength": 3,
            "maxLength": 90}}, "required": ["s"], "additionalProperties": false})",
        notation,
        {"<parameter=s>\nword\n</parameter>", "<parameter=s>\nnull\n</parameter>",
         "<parameter=s>\n</p>\n</parameter>"},
        {"<parameter=s>\nab\n</parameter>", "<parameter=s>\n5th\n</parameter>",
         "<parameter=s>\n null\n</parameter>"});
}

TEST_CASE("tags may stand around the name and around the value") {
  ArgumentNotation notation;
  notation.form = Form::kTags;
  notation.tags = {.before_name = "<key>",
                   .behind_name = "</key>",
                   .before_value = "<value>",
                   .behind_value = "</value>"};
  notation.values.ends = {"</value>"};
  notation.reading = [](std::string_view) -> TextReading { return {.text = true}; };
  check(R"({"type": "object", "properties": {"s": {"type": "string"}, "a<b": {}, "c>d": {}},
            "required": ["s"], "additionalProperties": false})",
        notation,
        {"<key>s</key><value>\nx</value>", "<key>s</key>\n<value></value>",
         "<key>s</key><value>1</value>\n<key>c>d</key><value></value>"},
        {"<key>s</key> <value>x</value>", "<key>s</key><value>a</value>b</value>",
         "<key>s</key><value>1</value><key>a<b</key><value></value>"});
}

TEST_CASE("arguments are objects") {
  check(R"({})", {}, {"{}", R"({"a": 1})"}, {"1", "[]"});
  check(R"({"type": ["object", "null"], "maxProperties": 0})", {}, {"{}"}, {"null"});
  CHECK(refused(R"({"type": "string"})", {}) == "No object fits.");
  CHECK(refused(R"({"properties": {"a": {"type": "thing"}}})", {}).starts_with("#/properties/a: "));
}

}  // namespace puna::grammar
