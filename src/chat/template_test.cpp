// Limits, errors and what sets Puna's Jinja apart; the language itself is in fixtures_test.cpp.
#include "chat/template.h"

#include <doctest/doctest.h>

namespace puna::chat {
namespace {

base::Result<std::string> render(const std::string& source, const std::string& context = "{}",
                                 const Limits& limits = {}) {
  PUNA_TRY(const Template parsed, Template::parse(source));
  PUNA_TRY(const base::Json json, base::Json::parse(context));
  return parsed.render(json, limits);
}

std::string message_of(const std::string& source, const std::string& context = "{}",
                       const Limits& limits = {}) {
  const auto result = render(source, context, limits);
  REQUIRE_FALSE(result.has_value());
  return result.error().message;
}

TEST_CASE("errors tell line and column, counted in characters") {
  CHECK(message_of("ab\n {{ 'é' + 1 }}") ==
        "Line 2, column 9: \"+\" does not work on values of type str and int.");
  CHECK(message_of("{{ x }}\n{% for %}") ==
        "Line 2, column 8: unexpected \"%}\", but the name of a variable is expected.");
  CHECK(message_of("\n\n{{ x | shout }}") ==
        "Line 3, column 8: the filter \"shout\" is not supported.");
  CHECK(message_of("{{ x is tall }}") == "Line 1, column 9: the test \"tall\" is not supported.");
  CHECK(message_of("{% include 'a' %}") ==
        "Line 1, column 4: the statement \"include\" is not supported, as a chat template is one "
        "file.");
  CHECK(message_of("{{ f(*a, *b) }}") ==
        "Line 1, column 10: unexpected \"*\", but a named argument is expected.");
  CHECK(message_of("{{ dict(**3) }}") ==
        "Line 1, column 11: \"**\" wants a dict, not a value of type int.");
  CHECK(message_of("{% for a in [1] recursive %}{{ loop() }}{% endfor %}") ==
        "Line 1, column 4: loop() takes one argument, what to go over.");
}

TEST_CASE("an exception of the template carries its message") {
  CHECK(message_of("{{ raise_exception('Roles must ' ~ 'alternate!') }}") ==
        "Line 1, column 19: the template refuses the conversation: Roles must alternate!.");
}

TEST_CASE("an unknown filter in a branch is an error only when the branch is taken") {
  const std::string source = "{% if x %}{{ x | shout }}{% else %}quiet{% endif %}";
  CHECK(render(source).value() == "quiet");
  CHECK(message_of(source, R"({"x": 1})") ==
        "Line 1, column 18: the filter \"shout\" is not supported.");
}

TEST_CASE("steps are bounded, whatever the template does") {
  const Limits few{.max_steps = 20'000};
  const char* endless[] = {
      "{% for a in range(1000) %}{% for b in range(1000) %}{% endfor %}{% endfor %}",
      "{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% "
      "endfor %}",
      "{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% "
      "endfor %}",
      "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% "
      "endfor %}",
      "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% "
      "endfor %}{{ ns.x }}",
      "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% "
      "endfor %}{{ ns.x|tojson }}",
      "{{ 'a' * 1000000000000 }}",
      "{{ [1] * 1000000000000 }}",
      "{{ ('a' * 10000)|replace('', 'b' * 10000) }}",
      "{{ range(1000)|join('x' * 100000) }}",
      "{{ 'a'|indent(1000000000000) }}",
      "{{ ('a\n' * 1000)|indent(1000) }}",
      "{{ range(100000)|sort|unique|list|length }}",
      "{% set x = 'a' * 1000 %}{% for i in range(1000) %}{{ x in x }}{% endfor %}",
      "{% macro m(n) %}{{ m(n) ~ m(n) }}{% endmacro %}{{ m(1) }}",
      "{% for i in range(100) recursive %}{{ loop(range(100)) }}{% endfor %}",
      "{% set x = range(1000) %}{% for i in x %}{{ range(*x[:2])|length + dict(**{})|length }}{% "
      "endfor %}",
      "{% set x = 'a' * 10000 %}{% macro m() %}{{ varargs|length }}{% endmacro %}{% for i in "
      "range(9) %}{{ m(*x) }}{% endfor %}",
  };
  for (const char* source : endless) {
    CAPTURE(source);
    const auto result = render(source, "{}", few);
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().code == base::ErrorCode::kUnsupported);
  }
}

TEST_CASE("output and nesting are bounded") {
  const std::string long_output = "{% for i in range(100) %}0123456789{% endfor %}";
  CHECK(render(long_output, "{}", {.max_output_bytes = 1000}).has_value());
  CHECK(message_of(long_output, "{}", {.max_output_bytes = 999}).find("beyond 999 bytes") !=
        std::string::npos);
  CHECK(message_of("{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}").find("too deep") !=
        std::string::npos);
  CHECK(message_of("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}").find("too deep") !=
        std::string::npos);

  const auto nested = [](int n, const std::string& open, const std::string& inner,
                         const std::string& close) {
    std::string text;
    for (int i = 0; i < n; ++i) text += open;
    text += inner;
    for (int i = 0; i < n; ++i) text += close;
    return text;
  };
  CHECK(render("{{ " + nested(40, "(", "1", ")") + " }}").value() == "1");
  CHECK(message_of("{{ " + nested(100'000, "(", "1", ")") + " }}").find("nests deeper") !=
        std::string::npos);
  CHECK(message_of("{{ " + nested(100'000, "[", "1", "]") + " }}").find("nests deeper") !=
        std::string::npos);
  CHECK(message_of("{{ " + nested(100'000, "-", "1", "") + " }}").find("deeper than") !=
        std::string::npos);
  CHECK(message_of("{{ x" + nested(100'000, ".a", "", "") + " }}").find("deeper than") !=
        std::string::npos);
  CHECK(message_of("{{ 1" + nested(100'000, "+1", "", "") + " }}").find("deeper than") !=
        std::string::npos);
  CHECK(message_of("{{ 1" + nested(100'000, "|abs", "", "") + " }}").find("deeper than") !=
        std::string::npos);
  CHECK(message_of("{{ 1" + nested(100'000, " if 1 else 2", "", "") + " }}").find("deeper") !=
        std::string::npos);
  CHECK(message_of(nested(100'000, "{% if 1 %}", "", "{% endif %}")).find("nest deeper") !=
        std::string::npos);
  CHECK(render("{{ " + nested(100'000, "not ", "1", "") + " }}").value() == "True");

  CHECK(message_of("{% set ns = namespace(x=1) %}{% for i in range(1000) %}{% set ns.x = [ns.x] "
                   "%}{% endfor %}")
            .find("nests deeper") != std::string::npos);
  CHECK(render("x", nested(90, "{\"a\":", "1", "}")).has_value());
}

TEST_CASE("namespaces that hold each other are let go of") {
  CHECK(render("{% set a = namespace() %}{% set b = namespace(a=a) %}{% set a.b = b %}{% set a.me "
               "= a %}{{ a.b.a.b is defined }}")
            .value() == "True");
}

TEST_CASE("integers that do not fit 64 bits are refused, not wrapped") {
  for (const char* source :
       {"{{ 9223372036854775807 + 1 }}", "{{ 1e30|int }}", "{{ '9223372036854775808'|int }}",
        "{{ 2 ** 64 }}", "{{ -9223372036854775807 - 2 }}", "{{ 4611686018427387904 * 2 }}",
        "{{ (-9223372036854775807 - 1) // -1 }}", "{{ (-9223372036854775807 - 1)|abs }}",
        "{{ 9223372036854775808 }}"}) {
    CAPTURE(source);
    CHECK(message_of(source).find("64 bits") != std::string::npos);
  }
  CHECK(render("{{ (-9223372036854775807 - 1) % -1 }}").value() == "0");
  CHECK(render("{{ 'x'|int(9223372036854775807) }}").value() == "9223372036854775807");
}

TEST_CASE("slices and indices at the far ends stay inside") {
  CHECK(render("{{ [1, 2, 3][::9223372036854775807] }}").value() == "[1]");
  CHECK(render("{{ [1, 2, 3][::-9223372036854775807] }}").value() == "[3]");
  CHECK(render("{{ [1, 2, 3][-9223372036854775807:9223372036854775807] }}").value() == "[1, 2, 3]");
  CHECK(render("{{ [1, 2, 3][9223372036854775807] }}|{{ 'abc'[-9223372036854775807] }}").value() ==
        "|");
}

TEST_CASE("invalid UTF-8 passes through") {
  CHECK(render("{{ '\xff\x80' }}{{ ('a\xff' | upper)[1] }}\xc3").value() == "\xff\x80\xff\xc3");
}

TEST_CASE("text may be turned into values with from_json") {
  CHECK(render(R"({{ ('{"a": [1, "x"]}' | from_json).a[1] }})").value() == "x");
  CHECK(message_of("{{ '{' | from_json }}").find("no JSON") != std::string::npos);
}

TEST_CASE("the context is an object") {
  CHECK(message_of("x", "[1]").find("of type array") != std::string::npos);
}

}  // namespace
}  // namespace puna::chat
