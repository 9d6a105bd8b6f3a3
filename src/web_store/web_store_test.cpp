#include "web_store/web_store.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "store/sha256.h"
#include "store/test_store.h"

namespace puna::web_store {
namespace {

using api::WebChange;
using api::WebRow;
using base::ErrorCode;
using base::Json;

Json json(const std::string& text) { return *Json::parse(text); }

WebChange conversation(const char* id, int64_t time, const char* name) {
  return {.table = "conversations",
          .id = id,
          .time_ms = time,
          .whole = true,
          .value = json(R"({"name": "x"})").set("name", name)};
}
WebChange message(const char* id, int64_t time, const char* of) {
  return {.table = "messages",
          .id = id,
          .time_ms = time,
          .whole = true,
          .value = json(R"({"content": "Hello"})").set("convId", of)};
}
WebChange removal(const char* table, const char* id, int64_t time) {
  return {.table = table, .id = id, .time_ms = time, .removed = true};
}

struct Kept {
  store::TestFolder folder;
  std::string path = folder.path() + "/chats.sqlite";
  std::unique_ptr<SqliteWebStore> store = reopened();

  std::unique_ptr<SqliteWebStore> reopened() const {
    auto out = SqliteWebStore::open(path);
    REQUIRE_MESSAGE(out.has_value(), out.error().text());
    return *std::move(out);
  }
  uint64_t change(std::string_view owner, const std::vector<WebChange>& changes) const {
    const auto state = store->change(owner, changes);
    REQUIRE_MESSAGE(state.has_value(), state.error().text());
    return state->revision;
  }
  api::WebRows rows(std::string_view owner, uint64_t after = 0) const {
    auto out = store->rows(owner, after);
    REQUIRE_MESSAGE(out.has_value(), out.error().text());
    return *std::move(out);
  }
  // By table and id, to the end.
  std::map<std::string, WebRow> all(std::string_view owner) const {
    std::map<std::string, WebRow> out;
    for (uint64_t after = 0;;) {
      const api::WebRows some = rows(owner, after);
      for (const WebRow& row : some.rows) CHECK(out.emplace(row.table + " " + row.id, row).second);
      if (!some.more) return out;
      REQUIRE(some.state.revision > after);
      after = some.state.revision;
    }
  }
};

TEST_CASE("what one device changes another reads, once, and after the program has ended too") {
  Kept kept;
  const uint64_t first = kept.change("me", {message("m", 1, "c"), conversation("c", 1, "One")});
  CHECK(kept.rows("me").rows.size() == 2);
  CHECK(kept.rows("me", first).rows.empty());
  kept.change(
      "me",
      {{.table = "conversations", .id = "c", .time_ms = 5, .value = json(R"({"name": "Two"})")}});
  const auto changed = kept.rows("me", first);
  REQUIRE(changed.rows.size() == 1);
  CHECK(changed.rows[0].value == json(R"({"name": "Two"})"));
  const std::string id = changed.state.store;
  CHECK(id.size() == 16);
  kept.store.reset();
  kept.store = kept.reopened();
  CHECK(kept.all("me").at("conversations c").value == json(R"({"name": "Two"})"));
  CHECK(kept.rows("me").state.store == id);
}

TEST_CASE("owners have nothing in common") {
  Kept kept;
  kept.change("me", {conversation("c", 1, "Mine")});
  CHECK(kept.all("you").empty());
  CHECK(kept.rows("you").state.store != kept.rows("me").state.store);
  kept.change("you", {removal("conversations", "c", 9)});
  CHECK(!kept.all("me").at("conversations c").removed_ms);
  const auto digest = kept.store->keep_file("me", "bytes");
  REQUIRE(digest.has_value());
  CHECK(kept.store->file("me", *digest).value() == "bytes");
  CHECK(kept.store->file("you", *digest).error().code == ErrorCode::kNotFound);
}

TEST_CASE("with a conversation its messages go, and none comes again without it") {
  Kept kept;
  kept.change("", {conversation("c", 1, "One"), message("m", 1, "c"), conversation("d", 1, "Other"),
                   message("n", 1, "d")});
  kept.change("", {removal("conversations", "c", 10)});
  auto all = kept.all("");
  CHECK(all.at("conversations c").removed_ms == 10);
  CHECK(all.at("messages m").removed_ms.has_value());
  CHECK(all.at("messages m").value == Json::object());
  CHECK(!all.at("messages n").removed_ms);
  // Of a device that has not heard of it.
  kept.change("", {message("late", 20, "c")});
  CHECK(kept.all("").at("messages late").removed_ms.has_value());
  // Undone: in one go, in whatever order.
  kept.change("", {message("m", 30, "c"), message("late", 30, "c"), conversation("c", 30, "One")});
  all = kept.all("");
  CHECK(!all.at("conversations c").removed_ms);
  CHECK(!all.at("messages m").removed_ms);
  CHECK(!all.at("messages late").removed_ms);
}

TEST_CASE("who has lost is told how it is") {
  Kept kept;
  kept.change("", {conversation("c", 10, "Later")});
  const uint64_t known = kept.rows("").state.revision;
  kept.change("", {conversation("c", 5, "Earlier")});
  const auto told = kept.rows("", known);
  REQUIRE(told.rows.size() == 1);
  CHECK(*told.rows[0].value.find("name") == Json("Later"));
}

TEST_CASE("answers have an end, and the next one goes on there") {
  Kept kept;
  std::vector<WebChange> changes;
  for (int i = 0; i < 2500; ++i) {
    changes.push_back(message("", 1, "c"));
    changes.back().id = "m" + std::to_string(i);
  }
  kept.change("", changes);
  CHECK(kept.rows("").more);
  CHECK(kept.all("").size() == 2500);
  // Few that are large: by their bytes.
  const std::string large(3 << 20, 'x');
  for (WebChange& each : changes) each.value.set("content", "");
  changes.resize(4);
  for (WebChange& each : changes) each.value.set("content", large);
  const uint64_t before = kept.change("", {});
  kept.change("", changes);
  CHECK(kept.rows("", before).rows.size() == 2);
  CHECK(kept.all("").size() == 2500);
}

TEST_CASE("files that no message names go when they are a day old") {
  Kept kept;
  const std::string used = *kept.store->keep_file("", "used");
  const std::string unused = *kept.store->keep_file("", "unused");
  WebChange naming = message("m", 1, "c");
  naming.value.set("files", Json::array().push(Json::object().set("sha256", used)));
  kept.change("", {naming});
  kept.store.reset();
  kept.store = kept.reopened();
  CHECK(kept.store->file("", unused).has_value());
  kept.store.reset();
  {
    auto database = Database::open(kept.path);
    REQUIRE(database.has_value());
    REQUIRE(database->run("UPDATE files SET since = 0").has_value());
  }
  kept.store = kept.reopened();
  CHECK(kept.store->file("", unused).error().code == ErrorCode::kNotFound);
  CHECK(kept.store->file("", used).value() == "used");
}

TEST_CASE("the file is its owner's alone, and another is refused by what it is") {
  Kept kept;
  struct stat status = {};
  REQUIRE(stat(kept.path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  kept.store.reset();
  {
    auto database = Database::open(kept.path);
    REQUIRE(database->run("PRAGMA user_version = 7").has_value());
  }
  const auto newer = SqliteWebStore::open(kept.path);
  CHECK(newer.error().code == ErrorCode::kUnsupported);
  CHECK(newer.error().text().contains("version 7"));
  std::ofstream(kept.path, std::ios::trunc) << std::string(8192, 'x');
  CHECK(SqliteWebStore::open(kept.path).error().code == ErrorCode::kCorrupt);
  CHECK(SqliteWebStore::open(kept.folder.path()).error().code == ErrorCode::kIo);
  CHECK(SqliteWebStore::open(kept.folder.path() + "/none/x").error().code == ErrorCode::kIo);
}

}  // namespace
}  // namespace puna::web_store
