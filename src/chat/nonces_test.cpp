#include "chat/nonces.h"

#include <doctest/doctest.h>

using puna::chat::make_nonces_equal;
using puna::chat::Message;

namespace {

std::string made_equal(const std::string& text, const std::string& role = "system") {
  std::vector<Message> messages = {{.role = role, .content = text, .fields = {}}};
  make_nonces_equal(messages);
  return messages[0].content;
}

}  // namespace

TEST_CASE("what an agent puts into its first line is equal from request to request") {
  const std::string head = "x-anthropic-billing-header: cc_version=2.1.81.a1b; cch=";
  CHECK(made_equal(head + "1f2e3;\nYou are an agent.") == head + "fffff;\nYou are an agent.");
  CHECK(made_equal(head + "9;\nYou are") == made_equal(head + "123456789;\nYou are"));
  CHECK(made_equal("Hello\n" + head + "1f2e3") == "Hello\n" + head + "fffff");
  CHECK(made_equal(head + ";") == head + "fffff;");
}

TEST_CASE("nothing else is changed") {
  for (const std::string text :
       {"", "cch=1f2e3", "see x-anthropic-billing-header: cch=1f2e3",
        "x-anthropic-billing-header: a\ncch=1f2e3", "x-anthropic-billing-header: cch"}) {
    CHECK(made_equal(text) == text);
  }
  CHECK(made_equal("x-anthropic-billing-header: cch=1", "user") ==
        "x-anthropic-billing-header: cch=1");
}
