#include "api/web/conversations.h"

#include <string>
#include <utility>
#include <vector>

#include "api/testing/served.h"
#include "api/web_store.h"

using namespace puna;
using namespace puna::api;
using namespace puna::api::test;
using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

// Notes what it is told.
class FakeStore final : public WebStore {
 public:
  std::vector<WebChange> changes;
  std::string owner;
  uint64_t after = 0;

  Result<WebRows> rows(std::string_view of, uint64_t from) override {
    owner = of;
    after = from;
    WebRows out{.state = {.store = "abc", .revision = 9}, .more = true};
    out.rows.push_back({.table = "conversations",
                        .id = "c",
                        .value = *Json::parse(R"({"parent": null})"),
                        .times = *Json::parse(R"({"parent": 3})")});
    out.rows.push_back({.table = "messages", .id = "m", .removed_ms = 7});
    return out;
  }
  Result<WebState> change(std::string_view of, std::span<const WebChange> what) override {
    owner = of;
    changes.assign(what.begin(), what.end());
    return WebState{.store = "abc", .revision = 10};
  }
  Result<std::string> file(std::string_view, std::string_view sha256) override {
    if (sha256 == "00") return std::string("\0<script>", 9);
    return base::fail(ErrorCode::kNotFound, "There is none.");
  }
  Result<std::string> keep_file(std::string_view, std::string_view bytes) override {
    return std::to_string(bytes.size());
  }
};

struct Asked : Served {
  FakeStore store;

  Result<Exchange> ask(Endpoint endpoint, const Json& body, const std::string& after = {},
                       std::vector<std::string> path_values = {}) {
    HttpRequest http;
    http.owner = "me";
    http.path_values = std::move(path_values);
    if (!after.empty()) http.query.emplace_back("after", after);
    return endpoint(
        {.http = http, .body = body, .model = nullptr, .models = source, .web_store = &store});
  }
  std::string error(const char* body) {
    const auto exchange = ask(web::change_rows, *Json::parse(body));
    REQUIRE_MESSAGE(!exchange.has_value(), body);
    CHECK(exchange.error().code == ErrorCode::kInvalidArgument);
    return exchange.error().text();
  }
};

TEST_CASE("rows are given as they are kept") {
  Asked asked;
  CHECK(body_of(asked.ask(web::read_rows, nullptr, "12")) == *Json::parse(R"({"store": "abc",
    "revision": 9, "more": true, "changes": [{"table": "conversations", "id": "c",
    "value": {"parent": null}, "times": {"parent": 3}},
    {"table": "messages", "id": "m", "removed": 7}]})"));
  CHECK(asked.store.after == 12);
  CHECK(asked.store.owner == "me");
  for (const char* after : {"-1", "x", "1x", "99999999999999999999"})
    CHECK(asked.ask(web::read_rows, nullptr, after).error().code == ErrorCode::kInvalidArgument);
}

TEST_CASE("changes are read whole before any of them is taken") {
  Asked asked;
  const Json body = *Json::parse(R"({"changes": [
    {"table": "messages", "id": "m", "time": 5, "whole": true, "value": {"parent": null}},
    {"table": "conversations", "id": "c", "time": 6, "without": ["preset"]},
    {"table": "presets", "id": "p", "time": 7, "removed": true}]})");
  CHECK(body_of(asked.ask(web::change_rows, body)) ==
        *Json::parse(R"({"store": "abc", "revision": 10})"));
  REQUIRE(asked.store.changes.size() == 3);
  CHECK(asked.store.changes[0].whole);
  CHECK(asked.store.changes[0].value == *Json::parse(R"({"parent": null})"));
  CHECK(asked.store.changes[1].without == std::vector<std::string>{"preset"});
  CHECK(asked.store.changes[2].removed);
  asked.store.changes.clear();
  CHECK(asked
            .error(R"({"changes": [{"table": "messages", "id": "m", "time": 5,
    "whole": true}, {"table": "drafts", "id": "x", "time": 1, "removed": true}]})")
            .contains("conversations"));
  CHECK(asked.store.changes.empty());
}

TEST_CASE("a change that says nothing, or too much, is refused by its field") {
  Asked asked;
  CHECK(asked.error("{}").contains("changes"));
  CHECK(asked.error(R"({"changes": [3]})").contains("integer"));
  const auto with = [](const char* members) {
    return std::string(R"({"changes": [{"table": "messages", )") + members + "}]}";
  };
  CHECK(asked.error(with(R"("id": "m", "value": {"a": 1})").c_str()).contains("time"));
  CHECK(asked.error(with(R"("id": "", "time": 1, "removed": true)").c_str()).contains("id"));
  CHECK(asked.error(with(R"("id": "m", "time": -1, "removed": true)").c_str()).contains("time"));
  CHECK(asked.error(with(R"("id": "m", "time": 1)").c_str()).contains("value"));
  CHECK(asked.error(with(R"("id": "m", "time": 1, "removed": true, "value": {"a": 1})").c_str())
            .contains("removed"));
  std::string members;
  for (int i = 0; i < 1001; ++i) members += fmt::format(R"(, "{}": 1)", i);
  CHECK(asked
            .error(with((R"("id": "m", "time": 1, "value": {)" + members.substr(1) + '}').c_str())
                       .c_str())
            .contains("1001 members"));
  const std::string long_id(201, 'x');
  CHECK(
      asked.error(with((R"("time": 1, "removed": true, "id": ")" + long_id + '"').c_str()).c_str())
          .contains("200"));
}

TEST_CASE("files come as bytes that no browser opens") {
  Asked asked;
  const auto exchange = asked.ask(web::read_file, nullptr, "", {"00"});
  REQUIRE(exchange.has_value());
  const auto& reply = std::get<HttpReply>(*exchange);
  CHECK(reply.body == std::string("\0<script>", 9));
  CHECK(reply.content_type == "application/octet-stream");
  CHECK(asked.ask(web::read_file, nullptr, "", {"01"}).error().code == ErrorCode::kNotFound);
  CHECK(body_of(asked.ask(web::keep_file, Json::object().set("file", "12345"))) ==
        *Json::parse(R"({"sha256": "5"})"));
  CHECK(asked.ask(web::keep_file, Json::object()).error().text().contains("file"));
}

TEST_CASE("a server that keeps nothing says what would") {
  Asked asked;
  HttpRequest http;
  const std::pair<Endpoint, const char*> requests[] = {
      {web::read_rows, "null"},
      {web::change_rows, R"({"changes": []})"},
      {web::read_file, "null"},
      {web::keep_file, R"({"file": "x"})"},
  };
  for (const auto& [endpoint, text] : requests) {
    const Json body = *Json::parse(text);
    const auto exchange =
        endpoint({.http = http, .body = body, .model = nullptr, .models = asked.source});
    REQUIRE(exchange.has_value());
    const auto& reply = std::get<HttpReply>(*exchange);
    CHECK(reply.status == 501);
    CHECK(reply.body.contains("--web-store"));
  }
}

}  // namespace
