#include "chat/messages.h"

#include <doctest/doctest.h>

namespace puna::chat {
namespace {

TEST_CASE("messages, the generation prompt and further variables reach the template") {
  const auto chat = Template::parse(
      "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% if m.name %}({{ "
      "m.name }}){% endif %}"
      "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}");
  REQUIRE(chat.has_value());
  base::Json name;
  name.set("name", "get_time");
  base::Json extra;
  extra.set("bos_token", "<s>");
  const std::vector<Message> messages = {{.role = "user", .content = "Hi"},
                                         {.role = "tool", .content = "12:00", .fields = name}};
  CHECK(render_chat(*chat, messages, true, extra).value() ==
        "<s><user>Hi<tool>12:00(get_time)<assistant>");
  CHECK(render_chat(*chat, messages, false).value() == "<user>Hi<tool>12:00(get_time)");
}

TEST_CASE("a list of parts stands in place of the text") {
  const auto chat =
      Template::parse("{% for part in messages[0].content %}{{ part.text }};{% endfor %}");
  base::Json part, parts, fields;
  part.set("text", "one");
  parts.push(part);
  fields.set("content", parts);
  CHECK(
      render_chat(*chat, {{.role = "user", .content = "unused", .fields = fields}}, true).value() ==
      "one;");
}

TEST_CASE("a message may have many members, of which those that are known are in their places") {
  const auto chat = Template::parse("{{ messages[0].content }} {{ messages[0].last }}");
  base::Json fields = base::Json::object();
  for (int i = 0; i < 1'000; ++i) fields.add("member " + std::to_string(i), i);
  fields.add("content", "this").add("last", "one");
  CHECK(
      render_chat(*chat, {{.role = "user", .content = "unused", .fields = fields}}, true).value() ==
      "this one");
}

TEST_CASE("tools and documents are none until they are given") {
  const auto chat =
      Template::parse("{{ tools is none }} {{ documents is none }} {{ other is defined }}");
  CHECK(render_chat(*chat, {}, true).value() == "True True False");
  base::Json extra;
  extra.set("tools", base::Json::array());
  CHECK(render_chat(*chat, {}, true, extra).value() == "False True False");
}

TEST_CASE("fields and variables that are no objects are refused") {
  const auto chat = Template::parse("x");
  CHECK_FALSE(render_chat(*chat, {{.role = "user", .fields = base::Json(1)}}, true).has_value());
  CHECK_FALSE(render_chat(*chat, {}, true, base::Json("x")).has_value());
}

TEST_CASE("templates are told what day it is") {
  const auto chat = Template::parse("{{ date_string }}, {{ datetime }}");
  // Noon in Greenwich: the same day in most places.
  const Limits limits{.now_s = 1764158400};
  CHECK(render_chat(*chat, {}, true, {}, limits).value() == "26 Nov 2025, Nov 26 2025");
}

}  // namespace
}  // namespace puna::chat
