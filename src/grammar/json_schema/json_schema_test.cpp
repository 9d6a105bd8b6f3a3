#include "grammar/json_schema/json_schema.h"

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>
#include <string_view>

namespace puna::grammar {
namespace {

struct Row {
  const char* schema;
  std::initializer_list<const char*> valid, invalid;
};

// The machine that tests may be slow and busy: what is tested is what is accepted.
JsonSchemaOptions unhurried(bool strict = false) {
  JsonSchemaOptions out;
  out.strict = strict;
  out.limits.compile_ms = 0;
  return out;
}

void check(std::initializer_list<Row> rows, bool strict = false) {
  for (const Row& row : rows) {
    CAPTURE(row.schema);
    const auto grammar = compile_json_schema_text(row.schema, unhurried(strict));
    REQUIRE_MESSAGE(grammar, grammar.error().text());
    for (const char* text : row.valid) CHECK_MESSAGE(accepts(*grammar, text), text);
    for (const char* text : row.invalid) CHECK_MESSAGE(!accepts(*grammar, text), text);
  }
}

TEST_CASE("a schema says which types there are") {
  check({
      {"true",
       {"null", "true", "false", "0", "-1.5e+3", "\"a\"", "[]", "{}", "[[], {\"a\": [null]}]",
        "\"\\u00e9\\ud83d\\ude00\\/\\n\""},
       {"", "nul", "01", "1.", ".5", "+1", "\"a", "[1,]", "{\"a\"}", "\"\\ud83d\"", "\"\n\"",
        "1 2"}},
      {"{}", {"1", "[]"}, {"x"}},
      {R"({"type": "null"})", {"null"}, {"0", "\"\"", "false"}},
      {R"({"type": "boolean"})", {"true", "false"}, {"null", "0", "True"}},
      {R"({"type": "integer"})",
       {"0", "-7", "123456789012345678901"},
       {"-0", "1.0", "1e3", "\"1\""}},
      {R"({"type": "number"})", {"0", "-7.25", "1e-9", "2E+8"}, {"", "1.", "NaN", "null", "1e999"}},
      {R"({"type": "string"})", {"\"\"", "\"é\"", "\"\\\"\""}, {"1", "\"\x01\"", "\"\xff\""}},
      {R"({"type": ["integer", "null"]})", {"1", "null"}, {"\"\"", "1.5"}},
      {R"({"type": "array"})", {"[]", "[1, \"a\"]"}, {"{}", "[1 2]"}},
      {R"({"type": "object"})", {"{}", R"({"a": {"b": 1}})"}, {"[]", R"({a: 1})"}},
  });
}

TEST_CASE("listed values are those and no others, of any type") {
  check({
      {R"({"const": "a\"b\n\u0001"})",
       {R"("a\"b\n\u0001")", R"("a\"b\u000a\u0001")"},
       {"\"a\"", "1"}},
      {R"({"const": 2.50})", {"2.5"}, {"2.50", "2.51", "25", "\"2.5\""}},
      {R"({"const": 1.0})", {"1"}, {"1.0", "10", "-1"}},
      {R"({"const": -0.0})", {"0"}, {"-0", "0.0"}},
      {R"({"const": {"b": [1, null], "a": {}}})",
       {R"({"b":[1,null],"a":{}})", R"({ "b": [1, null], "a": {} })"},
       {R"({"b":[1,null]})", R"({"b":[1],"a":{}})", R"({"b":[1,null],"a":{},"c":1})"}},
      {R"({"enum": ["a", "ab", 3, null, [true], 12.5]})",
       {"\"a\"", "\"ab\"", "3", "null", "[true]", "12.5"},
       {"\"abc\"", "\"\"", "true", "[]", "[false]", "12"}},
      {R"({"enum": [1, 10, 100, -1, 0]})",
       {"1", "10", "100", "-1", "0"},
       {"2", "1000", "-0", "11"}},
      {R"({"type": "string", "enum": ["x", 1]})", {"\"x\""}, {"1"}},
  });
}

TEST_CASE("numbers keep their bounds and steps") {
  check({
      {R"({"type": "integer", "minimum": 3, "maximum": 120})",
       {"3", "9", "10", "99", "120"},
       {"2", "121", "-3", "03", "1000", "3.5"}},
      {R"({"type": "integer", "minimum": -12, "exclusiveMaximum": 5})",
       {"-12", "-1", "0", "4"},
       {"-13", "5", "-0", "-100"}},
      {R"({"minimum": 0.5, "exclusiveMaximum": 1.25})",
       {"0.5", "0.50", "0.999", "1", "1.2", "1.2499", "null"},
       {"0.49", "1.25", "1.250", "2", "-1", "1e0"}},
      {R"({"exclusiveMinimum": 0, "type": "number"})", {"0.001", "5"}, {"0", "0.0", "-0.1"}},
      {R"({"type": "number", "maximum": -1e-3})", {"-0.001", "-1"}, {"0", "-0.0009", "1"}},
      {R"({"type": "integer", "multipleOf": 7})",
       {"0", "7", "-14", "700", "49"},
       {"1", "50", "-15"}},
      {R"({"type": "integer", "multipleOf": 250})", {"250", "1000", "0"}, {"25", "100", "1001"}},
      {R"({"type": "integer", "multipleOf": 1000000})", {"1000000", "12000000"}, {"100000"}},
      {R"({"type": "number", "multipleOf": 0.05, "maximum": 10})",
       {"0.05", "0.10", "3", "-2.75", "9.950"},
       {"0.01", "0.051", "10.05"}},
      {R"({"multipleOf": 1.5, "type": "integer"})", {"3", "0", "-6"}, {"1", "4"}},
      {R"({"allOf": [{"multipleOf": 4}, {"multipleOf": 6}], "type": "integer"})",
       {"12", "24"},
       {"4", "6", "8"}},
  });
}

TEST_CASE("lengths beside formats and expressions make no state for each") {
  const std::string path(300, 'x');
  const std::string long_url = "\"https://a.bc/" + path + "\"";
  const std::string longer_url = "\"https://a.bc/" + std::string(2070, 'x') + "\"";
  const std::string words = "\"" + path.substr(0, 255) + "\"", too_long = "\"" + path + "\"";
  check({
      {R"({"type": "string", "format": "uri", "minLength": 1, "maxLength": 2083})",
       {"\"a:\"", long_url.c_str()},
       {"\"\"", "\"a\"", longer_url.c_str()}},
      {R"({"type": "string", "format": "email", "minLength": 5, "maxLength": 254})",
       {"\"a@b.c\"", "\"first.last@example.org\""},
       {"\"a@bc\"", "\"ab\""}},
      {R"({"type": "string", "format": "hostname", "maxLength": 30})",
       {"\"a\"", "\"www.example.org\""},
       {"\"\"", "\"abcdefghij.abcdefghij.abcdefghij\""}},
      {R"({"type": "string", "pattern": "^\\S+$", "minLength": 3, "maxLength": 255})",
       {"\"abc\"", "\"\\\"é😀\"", words.c_str()},
       {"\"ab\"", "\"a c\"", too_long.c_str()}},
      {R"({"type": "string", "pattern": "foo.*bar", "maxLength": 100})",
       {"\"foobar\"", "\"-foo\\\\bar\""},
       {"\"foo\"", "\"barfoo\""}},
  });
}

TEST_CASE("strings keep their lengths, expressions and formats") {
  check({
      {R"({"type": "string", "minLength": 2, "maxLength": 3})",
       {"\"ab\"", "\"äöü\"", "\"\\n\\\"x\"", "\"😀😀\""},
       {"\"a\"", "\"abcd\"", "\"\""}},
      {R"({"type": "string", "maxLength": 0})", {"\"\""}, {"\"a\""}},
      {R"({"pattern": "^a+$"})", {"\"a\"", "\"aaa\"", "7"}, {"\"\"", "\"ab\"", "\"ba\""}},
      {R"({"pattern": "b"})", {"\"abc\"", "\"b\""}, {"\"ac\""}},
      {R"({"pattern": "^[^\"]\"$", "type": "string"})", {R"("x\"")", R"("\\\"")"}, {R"("x")"}},
      {R"({"pattern": "^\\d{3}-\\w+$", "maxLength": 6, "type": "string"})",
       {"\"123-a\"", "\"123-ab\""},
       {"\"123-abc\"", "\"12-ab\"", "\"123-é\""}},
      {R"({"format": "date", "type": "string"})",
       {"\"2024-02-29\"", "\"2000-02-29\"", "\"2023-12-31\""},
       {"\"2023-02-29\"", "\"1900-02-29\"", "\"2023-04-31\"", "\"23-01-01\""}},
      {R"({"format": "date-time", "type": "string"})",
       {"\"2024-01-01T00:00:00Z\"", "\"2024-01-01T23:59:59.25+02:00\""},
       {"\"2024-01-01 00:00:00Z\"", "\"2024-01-01T24:00:00Z\"", "\"2024-01-01T00:00:00\""}},
      {R"({"format": "duration", "type": "string"})",
       {"\"P1Y2M3DT4H\"", "\"PT5S\""},
       {"\"P\"", "\"P1D2H\""}},
      {R"({"format": "uuid", "type": "string"})",
       {"\"123e4567-e89b-12d3-a456-426614174000\""},
       {"\"123e4567e89b12d3a456426614174000\""}},
      {R"({"format": "ipv4", "type": "string"})",
       {"\"192.168.0.255\""},
       {"\"256.1.1.1\"", "\"1.1.1\"", "\"01.1.1.1\""}},
      {R"({"format": "ipv6", "type": "string"})",
       {"\"::1\"", "\"fe80::1:2\"", "\"1:2:3:4:5:6:7:8\"", "\"::ffff:1.2.3.4\""},
       {"\":\"", "\"1:2:3:4:5:6:7\"", "\"1::2::3\"", "\"12345::\""}},
      {R"({"format": "email", "type": "string"})",
       {"\"a.b@c-d.org\""},
       {"\"a@\"", "\".a@b.c\"", "\"a b@c.d\""}},
      {R"({"format": "hostname", "type": "string"})",
       {"\"a.b-c.example\""},
       {"\"-a.b\"", "\"a..b\"", "\"\""}},
      {R"({"format": "uri", "type": "string"})",
       {"\"http://a.b:80/c?d=e#f\"", "\"urn:x:y\""},
       {"\"a/b\"", "\"http://a b\"", "\"http://[::1\""}},
      {R"({"format": "json-pointer", "type": "string"})",
       {"\"/a~1b\"", "\"\""},
       {"\"a\"", "\"/~2\""}},
      {R"({"format": "color", "type": "string"})", {"\"any\""}, {"1"}},
  });
}

TEST_CASE("objects have their properties in the order of the schema, others after them") {
  check({
      {R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}})",
       {"{}", R"({"a":1})", R"({"b":"x"})", R"({"a":1,"b":"x"})", R"({"b":"x","c":[1]})"},
       {R"({"b":"x","a":1})", R"({"a":"x"})", R"({"a":1,"a":2})", R"({"a":1,})"}},
      {R"({"properties": {"a": {}, "b": {}, "c": {}}, "required": ["b", "z"], "type": "object"})",
       {R"({"b":1,"z":2})", R"({"a":1,"b":1,"c":1,"z":2,"y":3})"},
       {R"({"a":1})", R"({"b":1})", R"({"z":1,"b":2})", "{}"}},
      {R"({"properties": {"a": {}}, "additionalProperties": false, "type": "object"})",
       {"{}", R"({"a":1})"},
       {R"({"b":1})", R"({"\u0061":1})"}},
      {R"({"additionalProperties": {"type": "integer"}, "properties": {"a": {}}, "type": "object"})",
       {R"({"a":"x","b":1,"c":2})", R"({"aa":1})"},
       {R"({"b":"x"})", R"({"b":1,"a":1})"}},
      {R"({"patternProperties": {"^x": {"type": "integer"}, "y$": {"minimum": 5}}, "type": "object"})",
       {R"({"xa":1,"by":"s","xy":7})", "{}"},
       {R"({"xa":"s"})", R"({"xy":1})", R"({"by":4})"}},
      {R"({"patternProperties": {"^x": {}}, "additionalProperties": false, "type": "object"})",
       {R"({"x":1,"x1":2})"},
       {R"({"y":1})"}},
      {R"({"propertyNames": {"maxLength": 2}, "type": "object"})",
       {R"({"ab":1})"},
       {R"({"abc":1})"}},
      {R"({"minProperties": 2, "maxProperties": 3, "type": "object"})",
       {R"({"a":1,"b":2})", R"({"a":1,"b":2,"c":3})"},
       {"{}", R"({"a":1})", R"({"a":1,"b":2,"c":3,"d":4})"}},
      {R"({"properties": {"a": {}, "b": {}, "c": {}}, "maxProperties": 2, "required": ["b"],
           "type": "object"})",
       {R"({"b":1})", R"({"a":1,"b":1})", R"({"b":1,"d":1})"},
       {R"({"a":1})", R"({"a":1,"b":1,"c":1})"}},
      {R"({"dependentRequired": {"a": ["b"]}, "properties": {"a": {}, "b": {}}, "type": "object"})",
       {"{}", R"({"b":1})", R"({"a":1,"b":2})"},
       {R"({"a":1})"}},
      {R"({"dependentSchemas": {"a": {"minProperties": 2}}, "type": "object"})",
       {R"({"b":1})", R"({"a":1,"b":2})"},
       {R"({"a":1})"}},
      {R"({"dependencies": {"a": ["b"], "c": {"required": ["d"]}}, "type": "object"})",
       {"{}", R"({"a":1,"b":2})"},
       {R"({"a":1})", R"({"c":1})"}},
      {R"({"properties": {"a": {}}, "allOf": [{"properties": {"b": {}}}],
           "unevaluatedProperties": false, "type": "object"})",
       {R"({"a":1,"b":2})"},
       {R"({"c":1})"}},
      {R"({"properties": {"a": false}, "type": "object"})", {"{}", R"({"b":1})"}, {R"({"a":1})"}},
      {R"({"properties": {"q\"\\": {}}, "additionalProperties": false, "type": "object"})",
       {R"({"q\"\\":1})"},
       {R"({"q":1})"}},
  });
}

TEST_CASE("arrays keep their items and how many there are") {
  check({
      {R"({"items": {"type": "integer"}, "type": "array"})",
       {"[]", "[1]", "[1,2,3]", "[\n  1,\n  2\n]"},
       {"[\"a\"]", "[1,]", "[,1]"}},
      {R"({"items": {"type": "integer"}, "minItems": 2, "maxItems": 3, "type": "array"})",
       {"[1,2]", "[1,2,3]"},
       {"[]", "[1]", "[1,2,3,4]"}},
      {R"({"maxItems": 0, "type": "array"})", {"[]", "[ ]"}, {"[1]"}},
      {R"({"minItems": 100000, "type": "array"})", {}, {"[]", "[1]"}},
      {R"({"prefixItems": [{"type": "integer"}, {"type": "string"}], "items": {"type": "null"},
           "type": "array"})",
       {"[]", "[1]", "[1,\"a\"]", "[1,\"a\",null,null]"},
       {"[\"a\"]", "[1,2]", "[1,\"a\",3]"}},
      {R"({"prefixItems": [{"type": "integer"}, {"type": "string"}], "items": false, "minItems": 1,
           "type": "array"})",
       {"[1]", "[1,\"a\"]"},
       {"[]", "[1,\"a\",2]"}},
      {R"({"items": [{"type": "integer"}], "additionalItems": {"type": "string"}, "type": "array"})",
       {"[1,\"a\"]", "[]"},
       {"[1,2]"}},
      {R"({"contains": {"type": "string"}, "type": "array"})",
       {"[\"a\"]", "[1,\"a\",2]"},
       {"[]", "[1]"}},
      {R"({"contains": {"type": "string"}, "minContains": 2, "maxContains": 3, "type": "array",
           "maxItems": 4})",
       {"[\"a\",\"b\"]", "[1,\"a\",\"b\",\"c\"]"},
       {"[\"a\"]", "[\"a\",\"b\",\"c\",\"d\"]", "[1,2,\"a\",\"b\",3]"}},
      {R"({"contains": {"type": "integer"}, "maxContains": 1, "type": "array"})",
       {"[1]", "[\"a\",1,\"b\",\"c\"]"},
       {"[1,2]", "[\"a\",1,1]", "[\"a\"]"}},
      {R"({"contains": {"const": 1}, "minContains": 0, "type": "array"})", {"[]", "[2]"}, {"{}"}},
      {R"({"uniqueItems": true, "items": {"enum": ["a", "b", 1]}, "type": "array"})",
       {"[]", "[\"b\",\"a\"]", "[1,\"a\",\"b\"]"},
       {"[\"a\",\"a\"]", "[1,\"a\",1]", "[\"c\"]"}},
      {R"({"uniqueItems": true, "maxItems": 1, "type": "array"})", {"[[]]"}, {"[1,2]"}},
      {R"({"unevaluatedItems": false, "prefixItems": [{}], "type": "array"})", {"[1]"}, {"[1,2]"}},
  });
}

TEST_CASE("schemas are put together as logic has it") {
  check({
      {R"({"allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}},
                     {"properties": {"a": {"minimum": 3}}, "required": ["a"]}]})",
       {R"({"a":3})"},
       {R"({"a":2})", "{}", R"({"a":"x"})"}},
      {R"({"anyOf": [{"type": "integer"}, {"minLength": 2}]})", {"1", "\"ab\"", "null"}, {"\"a\""}},
      {R"({"oneOf": [{"type": "integer"}, {"minimum": 2}]})", {"1", "2.5", "\"a\""}, {"3", "1.5"}},
      {R"({"oneOf": [{"type": "object", "required": ["a"]}, {"type": "object", "required": ["b"]}]})",
       {R"({"a":1})", R"({"b":1})"},
       {"{}", R"({"a":1,"b":1})"}},
      {R"({"oneOf": [{"properties": {"k": {"const": "x"}, "v": {"type": "integer"}}, "required": ["k"]},
                     {"properties": {"k": {"const": "y"}, "v": {"type": "string"}}, "required": ["k"]}],
           "type": "object"})",
       {R"({"k":"x","v":1})", R"({"k":"y","v":"s"})"},
       {R"({"k":"x","v":"s"})", R"({"k":"z"})", "{}"}},
      {R"({"not": {"type": "string"}})", {"1", "{}", "[\"a\"]"}, {"\"a\""}},
      {R"({"not": {"enum": ["a", 1]}, "type": ["string", "integer"]})",
       {"\"b\"", "\"\"", "\"aa\"", "2", "11"},
       {"\"a\"", "1"}},
      {R"({"not": {"required": ["a"]}, "type": "object"})", {"{}", R"({"b":1})"}, {R"({"a":1})"}},
      {R"({"not": {"additionalProperties": {"type": "integer"}}, "type": "object"})",
       {R"({"a":"x"})", R"({"a":1,"b":"x"})"},
       {"{}", R"({"a":1})"}},
      {R"({"not": {"items": {"type": "integer"}}, "type": "array"})",
       {"[\"a\"]", "[1,\"a\"]"},
       {"[]", "[1]"}},
      {R"({"not": {"pattern": "^a"}, "type": "string"})", {"\"b\"", "\"\""}, {"\"ab\""}},
      // What is left of all strings is UTF-8.
      {R"({"not": {"pattern": "^a+$"}})", {"\"b\"", "\"\u00e9\""}, {"\"a\"", "\"\xe9\""}},
      {R"({"not": {"multipleOf": 5}, "type": "integer"})", {"4", "-7"}, {"0", "10", "-5"}},
      {R"({"if": {"properties": {"c": {"const": "US"}}}, "then": {"required": ["zip"]},
           "else": {"required": ["code"]}, "properties": {"c": {"type": "string"}},
           "required": ["c"], "type": "object"})",
       {R"({"c":"US","zip":1})", R"({"c":"DE","code":1})"},
       {R"({"c":"US"})", R"({"c":"DE","zip":1})"}},
      {R"({"if": {"type": "string"}, "then": {"minLength": 1}})", {"\"a\"", "1"}, {"\"\""}},
      {R"({"then": false, "else": false})", {"1"}, {"x"}},
  });
}

TEST_CASE("schemas refer to each other and to themselves") {
  check({
      {R"({"$ref": "#/$defs/n", "$defs": {"n": {"type": "object",
           "properties": {"v": {"type": "integer"}, "next": {"$ref": "#/$defs/n"}},
           "required": ["v"], "additionalProperties": false}}})",
       {R"({"v":1})", R"({"v":1,"next":{"v":2,"next":{"v":3}}})"},
       {R"({"next":{"v":1}})", R"({"v":1,"next":{}})"}},
      {R"({"items": {"$ref": "#"}, "type": "array"})", {"[]", "[[],[[]]]"}, {"[1]"}},
      {R"({"$ref": "#a", "definitions": {"x": {"$anchor": "a", "type": "null"}}})",
       {"null"},
       {"1"}},
      {R"({"$ref": "#/$defs/a~1b%25", "$defs": {"a/b%": {"type": "null"}}})", {"null"}, {"1"}},
      {R"({"$id": "http://x.y/root.json", "$ref": "item.json",
           "$defs": {"i": {"$id": "item.json", "type": "integer"}}})",
       {"1"},
       {"\"a\""}},
      {R"({"$schema": "http://json-schema.org/draft-07/schema#", "properties":
           {"a": {"$ref": "#/definitions/s", "maxLength": 1}},
           "definitions": {"s": {"type": "string"}}, "type": "object"})",
       {R"({"a":"long"})"},
       {R"({"a":1})"}},
      {R"({"properties": {"a": {"$ref": "#/$defs/s", "maxLength": 1}},
           "$defs": {"s": {"type": "string"}}, "type": "object"})",
       {R"({"a":"l"})"},
       {R"({"a":"long"})"}},
      {R"({"$dynamicRef": "#t", "$defs": {"t": {"$dynamicAnchor": "t", "type": "null"}}})",
       {"null"},
       {"1"}},
  });
}

TEST_CASE("white space is a space, or a line break and its indentation") {
  check({
      {R"({"properties": {"a": {"type": "array"}}, "required": ["a"], "type": "object"})",
       {R"({"a":[1,2]})", R"({ "a": [ 1, 2 ] })", "{\n  \"a\": [\n    1,\n    2\n  ]\n}",
        "{\n\t\"a\": []\n}"},
       {R"({"a" :[]})", R"({  "a":[]})", "{\n\n\"a\":[]}", " {\"a\":[]}", "{\"a\":[]} ",
        "{\n                     \"a\":[]}", R"({"a":[1 ,2]})"}},
  });
}

TEST_CASE("strictly, objects have no properties but those of the schema") {
  check({{R"({"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {}}}}})",
          {"{}", R"({"a":{"b":1}})"},
          {R"({"x":1})", R"({"a":{"c":1}})"}},
         {R"({"type": "object", "properties": {"a": {}}, "additionalProperties": true})",
          {R"({"x":1})"},
          {"[]"}},
         {R"({"allOf": [{"$ref": "#/$defs/p"}, {"properties": {"b": {}}}],
              "$defs": {"p": {"type": "object", "properties": {"a": {}}}}})",
          {R"({"a":1,"b":2})"},
          {R"({"c":1})"}},
         {R"({"anyOf": [{"$ref": "#/$defs/p"}, {"type": "null"}],
              "$defs": {"p": {"type": "object", "properties": {"a": {}}}}})",
          {R"({"a":1})", "null"},
          {R"({"c":1})"}},
         {R"({"type": "object"})", {"{}"}, {R"({"a":1})"}},
         {"{}", {R"({"a":1})"}, {}}},
        /*strict=*/true);
}

struct Refused {
  const char* schema;
  std::initializer_list<const char*> says;
  bool strict = false;
};

TEST_CASE("what cannot be followed is refused, by name and place") {
  const Refused rows[] = {
      {"{", {"line 1", "column"}},
      {"3", {"#: ", "object or a boolean"}},
      {R"({"a": 1, "a": 2})", {"\"a\" twice"}},
      {R"({"properties": {"a/b": {"type": "strin"}}})", {"#/properties/a~1b", "\"strin\""}},
      {R"({"items": {"minLength": "3"}})", {"#/items", "\"minLength\" is \"3\" (string)"}},
      {R"({"minItems": -1})", {"\"minItems\" is -1"}},
      {R"({"minItems": 1.5})", {"\"minItems\" is 1.5"}},
      {R"({"properties": []})", {"\"properties\" is []"}},
      {R"({"required": [1]})", {"a name is 1"}},
      {R"({"anyOf": []})", {"\"anyOf\" is []"}},
      {R"({"anyOf": {"type": "null"}})", {"\"anyOf\""}},
      {R"({"multipleOf": 0})", {"\"multipleOf\" is 0"}},
      {R"({"multipleOf": 123457})", {"\"multipleOf\" is 123457"}},
      {R"({"exclusiveMinimum": true})", {"\"exclusiveMinimum\" is true (boolean)"}},
      {R"({"maximum": 1e300})", {"\"maximum\"", "100 digits"}},
      {R"({"minLength": 5, "maxLength": 3})", {"\"minLength\" is 5, but \"maxLength\" only 3"}},
      {R"({"minItems": 5, "maxItems": 3})", {"\"minItems\" is 5"}},
      {R"({"minimum": 5, "maximum": 3})", {"no number is within the bounds"}},
      {R"({"allOf": [{"properties": {"a": {"pattern": "a(b"}}}]})",
       {"#/allOf/0/properties/a/pattern", "column 2"}},
      {R"j({"pattern": "(?=a)"})j", {"#/pattern", "Look-ahead"}},
      {R"({"$ref": "http://x.y/z.json"})", {"\"http://x.y/z.json\"", "nothing is fetched"}},
      {R"({"$ref": "#/$defs/none"})", {"\"#/$defs/none\"", "\"$defs\" is not there"}},
      {R"({"$ref": "#none"})", {"no schema has this anchor"}},
      {R"({"$ref": "#"})", {"refers to itself"}},
      {R"({"anyOf": [{"type": "null"}, {"$ref": "#"}]})", {"refers to itself"}},
      {R"({"$schema": "http://json-schema.org/draft-04/schema#"})", {"draft-04"}},
      {R"({"uniqueItems": true})", {"\"uniqueItems\""}},
      {R"({"not": {"uniqueItems": true}})", {"#/not", "\"uniqueItems\""}},
      {R"({"not": {"format": "email"}})", {"#/not", "format"}},
      {R"({"divisibleBy": 3})", {"\"divisibleBy\""}},
      {R"({"properties": {"a": {"typ": "string"}}})",
       {"#/properties/a", "\"typ\" is not known"},
       true},
      {"false", {"No text at all"}},
      {R"({"enum": []})", {"No text at all"}},
      {R"({"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2})", {"No text at all"}},
      {R"({"properties": {"a": false}, "required": ["a"], "type": "object"})", {"No text at all"}},
      {R"({"properties": {"a": {"$ref": "#"}}, "required": ["a"], "type": "object"})",
       {"No text at all"}},
      {R"({"type": "string", "pattern": "^a$", "minLength": 2})", {"No text at all"}},
  };
  for (const Refused& row : rows) {
    CAPTURE(row.schema);
    const auto grammar = compile_json_schema_text(row.schema, unhurried(row.strict));
    REQUIRE(!grammar);
    for (const char* part : row.says)
      CHECK_MESSAGE(grammar.error().text().find(part) != std::string::npos, grammar.error().text());
  }
}

TEST_CASE("limits are named in the error") {
  const auto error_of = [](const std::string& schema, const JsonSchemaOptions& options) {
    const auto grammar = compile_json_schema_text(schema, options);
    return grammar ? std::string() : grammar.error().text();
  };
  const auto mentions = [](const std::string& text, std::string_view part) {
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
  };
  JsonSchemaOptions options = unhurried();
  std::string deep = "{}";
  for (int i = 0; i < 70; ++i) deep = "{\"not\":" + deep + "}";
  mentions(error_of(deep, options), "deeper than 64");
  mentions(error_of(std::string(70'000, ' ') + "{}", options), "text_bytes");
  std::string chain;
  for (int i = 0; i < 100; ++i)
    chain += "\"" + std::to_string(i) + "\":{\"$ref\":\"#/$defs/" + std::to_string(i + 1) + "\"},";
  mentions(error_of(R"({"$ref":"#/$defs/0","$defs":{)" + chain + R"("100":{}}})", options),
           "depth");
  mentions(error_of(R"({"contains":{"type":"string"},"minContains":100,"maxItems":1000})", options),
           "rules");
  mentions(error_of(R"({"type":"string","pattern":"^(a|b)*a(a|b){15}$","maxLength":90})", options),
           "lexeme_states");
  std::string alternatives;
  for (int i = 0; i < 600; ++i)
    alternatives += "{\"type\":\"object\",\"required\":[\"" + std::to_string(i) + "\"]},";
  alternatives.pop_back();
  mentions(error_of("{\"anyOf\":[" + alternatives + "]}", options), "shapes");
  options.limits.rules = 5;
  mentions(error_of(R"({"type":"object","properties":{"a":{},"b":{},"c":{},"d":{}}})", options),
           "rules");
}

}  // namespace
}  // namespace puna::grammar
