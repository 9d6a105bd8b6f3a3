// Work that takes long, and bodies that go to the disk, through a server.
#include "server/upload.h"

#include <doctest/doctest.h>

#include "api/ollama/stored.h"
#include "server/stored_models.h"
#include "server/testing/fixture.h"
#include "store/test_store.h"

namespace puna::server {
namespace {

using base::ErrorCode;
using base::Json;
using base::Result;
using test::Client;
using test::Fixture;
using test::get;
using test::post;
using test::quick;
using test::Reply;
using test::wait_until;

constexpr size_t kBodyLimit = 1000;

Options narrow() {
  Options out = quick();
  out.limits.body_bytes = kBodyLimit;
  return out;
}

// A store whose pulls wait to be let go, or to be cancelled.
class Waits : public StoredModels {
 public:
  using StoredModels::StoredModels;
  std::atomic<bool> go = false;
  std::atomic<uint32_t> n_running = 0, n_cancelled = 0;

  Result<void> pull(std::string_view name, bool, const api::Watch& watch) override {
    if (name == "none") return base::fail(ErrorCode::kNotFound, "There is none.");
    ++n_running;
    watch.tell({.status = "pulling manifest"});
    wait_until([&] { return go || watch.cancelled; });
    --n_running;
    if (watch.cancelled) {
      ++n_cancelled;
      return base::fail(ErrorCode::kCancelled, "It was cancelled.");
    }
    if (name == "cut") return base::fail(ErrorCode::kNetwork, "The line was cut in /home/me/x.");
    watch.tell({.status = "success"});
    return {};
  }
};

struct Stored {
  store::TestFolder folder;
  store::Store store{folder.path()};
  Waits models{store};
  Fixture server;

  explicit Stored(const Options& options = narrow()) : server(options) {
    server.server().serve(server.models, &models);
  }
  ~Stored() { models.go = true; }

  size_t n_files() const { return store::names_in(store.layout().blobs()).size(); }
};

std::string blob_path(std::string_view text) {
  return "/api/blobs/" + store::sha256_of(text).text();
}

const std::string kPull = R"({"model": "a"})";

}  // namespace

TEST_CASE("a blob may be longer than other bodies") {
  Stored all;
  const std::string bytes = store::some_bytes(10'000'000);
  CHECK(all.server.ask(get(blob_path(bytes))).status == 404);
  Client client = all.server.client();
  CHECK(client.ask(post(blob_path(bytes), bytes)).status == 201);
  // The connection goes on behind it.
  CHECK(client.ask(post(blob_path(bytes), bytes)).status == 200);
  CHECK(client.ask(get(blob_path(bytes))).status == 200);
  CHECK(*store::read_text(all.store.layout().blob(store::sha256_of(bytes)), 20'000'000) == bytes);
  CHECK(all.n_files() == 1);
  CHECK(client.ask(post(blob_path(""), "")).status == 201);
  const Reply wrong = client.ask(post(blob_path("x"), "y"));
  CHECK(wrong.status == 400);
  CHECK(wrong.body.contains("digest mismatch, expected"));
  CHECK(all.n_files() == 2);
  CHECK(client.ask(post("/api/copy", std::string(2 * kBodyLimit, ' '))).status == 413);
}

TEST_CASE("a blob may come in chunks") {
  Stored all;
  Client client = all.server.client();
  REQUIRE(client.say("POST " + blob_path("hello") +
                     " HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                     "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"));
  CHECK(client.read().status == 201);
}

TEST_CASE("a blob that is cut off leaves nothing") {
  Stored all;
  {
    Client client = all.server.client();
    const std::string request = post(blob_path("hello"), "hello");
    REQUIRE(client.say(std::string_view(request).substr(0, request.size() - 1)));
    wait_until([&] { return all.n_files() == 1; });
  }
  wait_until([&] { return all.n_files() == 0; });
  // What has no digest is refused before its body has come.
  Client client = all.server.client();
  REQUIRE(
      client.say("POST /api/blobs/sha256:x HTTP/1.1\r\nHost: localhost\r\n"
                 "Content-Length: 100000000\r\n\r\n"));
  CHECK(client.read().status == 400);
}

TEST_CASE("a work tells its lines as they come, or the last alone") {
  Stored all;
  Client client = all.server.client();
  REQUIRE(client.say(post("/api/pull", kPull)));
  const Reply head = client.read_head();
  CHECK(head.status == 200);
  CHECK(head.headers.at("Content-Type") == "application/x-ndjson");
  CHECK(client.read_chunk() == "{\"status\":\"pulling manifest\"}\n");
  all.models.go = true;
  CHECK(client.read_chunk() == "{\"status\":\"success\"}\n");
  CHECK(client.read_chunk().empty());
  const Reply last = client.ask(post("/api/pull", R"({"model": "a", "stream": false})"));
  CHECK(last.status == 200);
  CHECK(last.body == "{\"status\":\"success\"}");
  // An error before the first line has a status, and behind it a line; neither has a path.
  const Reply none = client.ask(post("/api/pull", R"({"model": "none"})"));
  CHECK(none.status == 404);
  CHECK(none.body == "{\"error\":\"There is none.\"}");
  CHECK(client.ask(post("/api/pull", R"({"model": "cut"})")).body ==
        "{\"status\":\"pulling manifest\"}\n{\"error\":\"The line was cut in x.\"}\n");
  CHECK(client.ask(post("/api/pull", R"({"model": "cut", "stream": false})")).status == 500);
}

TEST_CASE("a work ends when its client leaves, and with the server") {
  Stored all;
  {
    Client client = all.server.client();
    REQUIRE(client.say(post("/api/pull", kPull)));
    CHECK(client.read_head().status == 200);
    REQUIRE(all.models.n_running == 1);
  }
  wait_until([&] { return all.models.n_cancelled == 1; });
  Client client = all.server.client();
  REQUIRE(client.say(post("/api/pull", kPull)));
  CHECK(client.read_head().status == 200);
  all.server.server().drain(std::chrono::milliseconds(10));
  CHECK(client.everything().contains("shut down"));
  wait_until([&] { return all.models.n_cancelled == 2; });
}

TEST_CASE("a work that has ended keeps no server from its end") {
  Stored all;
  all.models.go = true;
  CHECK(all.server.ask(post("/api/pull", kPull)).status == 200);
  const base::Timer timer;
  all.server.server().drain(std::chrono::minutes(1));
  CHECK(timer.ms() < 30'000);
}

TEST_CASE("only so many works run at once, and none holds up what is short") {
  Stored all;
  std::vector<Client> clients;
  for (size_t i = 0; i < WorkThreads::kMost; ++i) {
    clients.push_back(all.server.client());
    REQUIRE(clients.back().say(post("/api/pull", kPull)));
  }
  wait_until([&] { return all.models.n_running == WorkThreads::kMost; });
  const Reply busy = all.server.ask(post("/api/pull", kPull));
  CHECK(busy.status == 503);
  CHECK(busy.header("Retry-After") == "5");
  CHECK(all.server.ask(post(blob_path("x"), "x")).status == 503);
  CHECK(all.server.ask(get("/api/tags")).status == 200);
  all.models.go = true;
  for (Client& client : clients) CHECK(client.read().status == 200);
}

TEST_CASE("a server without a store says so") {
  Fixture server;
  CHECK(server.ask(post(blob_path("x"), "x")).status == 501);
  CHECK(server.ask(post("/api/pull", kPull)).status == 400);
}

}  // namespace puna::server
