// Streams that go on without their client, who reads on later (stream_store.h).
#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>

#include "server/testing/fixture.h"

namespace puna::server {
namespace {

using base::Json;
using std::chrono::milliseconds;
using test::Client;
using test::Fixture;
using test::get;
using test::post;
using test::quick;
using test::Reply;
using test::stream_of;
using test::wait_until;

service::test::FakeSetup long_texts() {
  return {.n_sequences = 4, .context = 1 << 17, .n_pages = 1 << 12, .at_once = true};
}
// Its model comes when it is told to.
class Late final : public api::ModelSource {
 public:
  explicit Late(api::ModelLease model) : model_(std::move(model)) {}
  std::shared_ptr<void> acquire(const api::ModelWish&,
                                std::function<void(base::Result<api::ModelLease>)> done) override {
    const std::lock_guard lock(mutex_);
    const int number = n_asked_++;
    waiting_.emplace(number, std::move(done));
    return {static_cast<void*>(this), [this, number](void*) {
              std::function<void(base::Result<api::ModelLease>)> dropped;
              const std::lock_guard leaving(mutex_);
              if (auto node = waiting_.extract(number)) dropped = std::move(node.mapped());
            }};
  }
  std::vector<api::ModelLease> loaded() const override { return {}; }
  size_t n_waiting() {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
  }
  void come() {
    std::map<int, std::function<void(base::Result<api::ModelLease>)>> all;
    {
      const std::lock_guard lock(mutex_);
      all.swap(waiting_);
    }
    for (const auto& [number, done] : all) done(model_);
  }

 private:
  const api::ModelLease model_;
  std::mutex mutex_;
  int n_asked_ = 0;
  std::map<int, std::function<void(base::Result<api::ModelLease>)>> waiting_;
};

// A server whose model is not loaded yet, and a request that waits for it.
struct Loading {
  Fixture at;
  Late models{at.models.loaded().front()};
  std::unique_ptr<Server> server = [] {
    auto listening = Server::listen(quick(), test::kTestRoutes);
    REQUIRE(listening.has_value());
    return *std::move(listening);
  }();
  Loading() { server->serve(models); }
  ~Loading() { server->stop(); }
  Client client() const { return Client(server->addresses().at(0).port); }
  Reply ask(std::string_view text) const { return client().ask(text); }
  Client waiting(std::string_view headers) {
    Client out = client();
    out.say(post("/completion",
                 R"({"prompt":[1,2,3],"n_predict":6,"ignore_eos":true,"stream":true})", headers));
    wait_until([&] { return models.n_waiting() == 1; });
    return out;
  }
  // Its connection, and not the one that asks.
  void wait_until_gone() const {
    wait_until([&] {
      return ask(get("/metrics")).body.find("puna:connections 1\n") != std::string::npos;
    });
  }
};
std::string write(std::string_view body, std::string_view id, std::string_view headers = "") {
  return post("/write", body, fmt::format("X-Conversation-Id: {}\r\n{}", id, headers));
}
std::string read_from(std::string_view id, size_t from) {
  return get(fmt::format("/v1/stream?conv_id={}&from={}", id, from));
}
std::string stop(std::string_view id) {
  return fmt::format("DELETE /v1/stream?conv_id={} HTTP/1.1\r\nHost: localhost\r\n\r\n", id);
}
Json lookup(const Fixture& at, std::string_view id, std::string_view headers = "") {
  const Reply reply = at.ask(post(
      "/v1/streams/lookup", fmt::format(R"({{"conversation_ids":["{}","other"]}})", id), headers));
  CHECK(reply.status == 200);
  const auto list = Json::parse(reply.body);
  REQUIRE(list);
  return list->items().empty() ? Json() : list->items().at(0);
}
void wait_for_end(const Fixture& at, std::string_view id) {
  wait_until([&] {
    const Json one = lookup(at, id);
    return !one.is_null() && one.find("is_done")->boolean();
  });
}

TEST_CASE("a client that left at any moment reads on where it was") {
  const Fixture at(quick(), long_texts());
  std::mt19937 random(7);
  const std::string all = stream_of(5, 1, 2000, 20);
  for (int i = 0; i < 20; ++i) {
    const std::string id = fmt::format("c{}", i);
    std::string came;
    {
      Client client = at.client();
      client.say(write(R"({"stream":1,"n_tokens":2000,"pad":20})", id));
      const auto n_chunks = static_cast<uint32_t>(random() % 20);
      if (n_chunks > 0) CHECK(client.read_head().status == 200);
      for (uint32_t n = 1; n < n_chunks; ++n) came += client.read_chunk();
      if (random() % 2) client.reset();
    }
    // A request that has not been read to its end is none.
    wait_until([&] { return !lookup(at, id).is_null(); });
    const Reply rest = at.ask(read_from(id, came.size()));
    CHECK(rest.status == 200);
    CHECK(rest.header("Content-Type") == "text/event-stream");
    CHECK(rest.header("X-Pad") == "20");
    CHECK(came + rest.body == all);
    // As often as one likes.
    CHECK(at.ask(read_from(id, 17)).body == all.substr(17));
  }
  const Json one = lookup(at, "c3");
  CHECK(one.find("conversation_id")->string() == "c3");
  CHECK(one.find("is_done")->boolean());
  CHECK(one.find("total_bytes")->integer() == static_cast<int64_t>(all.size()));
  CHECK(one.find("first_byte")->integer() == 0);
  CHECK(one.find("completed_at")->integer() >= one.find("started_at")->integer());
  CHECK(one.find("started_at")->integer() > 0);
  wait_until([&] { return at.at_rest(); });
}

TEST_CASE("several readers get the same, live, with the pings that were sent") {
  Options options = quick();
  options.ping = milliseconds(5);
  Fixture at(options);
  at.close_gate();
  Client first = at.client();
  first.say(write(R"({"stream":1,"n_tokens":40})", "c"));
  CHECK(first.read_head().status == 200);
  CHECK_FALSE(first.until(".").empty());
  first.close();
  std::vector<Client> readers;
  for (size_t i = 0; i < 3; ++i) {
    readers.push_back(at.client());
    readers.back().say(read_from("c", i));
    CHECK(readers.back().read_head().status == 200);
    CHECK_FALSE(readers.back().read_chunk().empty());
  }
  CHECK_FALSE(lookup(at, "c").find("is_done")->boolean());
  CHECK(lookup(at, "c").find("completed_at")->integer() == 0);
  at.open_gate();
  for (Client& reader : readers) CHECK_FALSE(reader.until("\r\n0\r\n\r\n").empty());
  std::string all = at.ask(read_from("c", 0)).body;
  CHECK(all.starts_with("<."));
  std::erase(all, '.');
  CHECK(all == stream_of(5, 1, 40));
  CHECK(at.ask(get("/v1/stream?conv_id=c", "")).status == 200);
  Client head = at.client();
  head.say("HEAD /v1/stream?conv_id=c HTTP/1.1\r\nHost: localhost\r\n\r\n");
  CHECK(head.read_head().header("Content-Type") == "text/event-stream");
}

TEST_CASE("only a stop ends a text that goes on alone, with what there is of it") {
  const Fixture at(quick(), long_texts());
  Client gone = at.client(), here = at.client();
  gone.say(write(R"({"stream":1,"n_tokens":100000})", "gone"));
  here.say(write(R"({"stream":1,"n_tokens":100000})", "here"));
  CHECK(here.read_head().status == 200);
  CHECK(gone.read_head().status == 200);
  gone.close();
  const int64_t before = lookup(at, "gone").find("total_bytes")->integer();
  wait_until([&] { return lookup(at, "gone").find("total_bytes")->integer() > before; });
  for (const char* id : {"gone", "here"}) {
    for (int i = 0; i < 2; ++i) CHECK(at.ask(stop(id)).status == 204);
    CHECK(at.ask(read_from(id, 0)).status == 404);
    CHECK(lookup(at, id).is_null());
  }
  wait_until([&] { return at.at_rest(); });
  CHECK_FALSE(here.until("\r\n0\r\n\r\n").empty());
  CHECK(here.ask(get("/livez")).status == 200);
}

TEST_CASE("a text that waits for its turn is stopped before it begins") {
  Fixture at(quick(), {.n_sequences = 1});
  at.close_gate();
  std::vector<Client> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(at.client());
    clients.back().say(write(R"({"stream":1})", fmt::format("c{}", i)));
    wait_until([&] { return !lookup(at, fmt::format("c{}", i)).is_null(); });
  }
  CHECK(at.ask(stop("c3")).status == 204);
  CHECK(clients[3].read().status == 400);
  at.open_gate();
  for (int i = 0; i < 3; ++i)
    CHECK(clients[static_cast<size_t>(i)].read().body == stream_of(5, 1, 3));
  wait_until([&] { return at.at_rest(); });
}

TEST_CASE("a text that waits for its model to be loaded outlives its client") {
  Loading at;
  at.waiting("X-Conversation-Id: c\r\n").close();
  at.wait_until_gone();
  CHECK(at.models.n_waiting() == 1);
  const Reply soon = at.ask(read_from("c", 0));
  CHECK(soon.status == 503);
  CHECK_FALSE(soon.header("Retry-After").empty());
  at.models.come();
  Reply reply;
  wait_until([&] { return (reply = at.ask(read_from("c", 0))).status == 200; });
  CHECK(reply.body.find("\"stop\":true") != std::string::npos);
  // One that is not kept goes with its client.
  at.waiting("").close();
  wait_until([&] { return at.models.n_waiting() == 0; });
}

TEST_CASE("a text that waits for its model to be loaded can be stopped") {
  Loading at;
  Client client = at.waiting("X-Conversation-Id: c\r\n");
  CHECK(at.ask(stop("other")).status == 204);
  CHECK(at.ask(read_from("c", 0)).status == 503);
  CHECK(at.ask(stop("c")).status == 204);
  const Reply reply = client.read();
  CHECK(reply.status == 400);
  CHECK(reply.body.find("cancelled") != std::string::npos);
  CHECK(at.ask(read_from("c", 0)).status == 404);
  wait_until([&] { return at.models.n_waiting() == 0; });
  CHECK(client.ask(get("/livez")).status == 200);
}

TEST_CASE("a server that is drained waits for no model for whoever has left") {
  Loading at;
  at.waiting("X-Conversation-Id: c\r\n").close();
  at.wait_until_gone();
  const base::Timer timer;
  at.server->drain(milliseconds(50));
  CHECK(timer.ms() < 30'000);
  CHECK(at.models.n_waiting() == 0);
}

TEST_CASE("a conversation has one stream: the next stops the one before") {
  const Fixture at(quick(), long_texts());
  Client first = at.client();
  first.say(write(R"({"stream":1,"n_tokens":100000})", "c"));
  CHECK(first.read_head().status == 200);
  // One that is refused, or no stream, stops nothing.
  CHECK(at.ask(write(R"({"stream":1,"prompt":2000000})", "c")).status == 400);
  CHECK(at.ask(write(R"({"n_tokens":1})", "c")).status == 200);
  CHECK_FALSE(lookup(at, "c").find("is_done")->boolean());
  CHECK(at.ask(write(R"({"stream":1})", "c")).body == stream_of(5, 1, 3));
  CHECK_FALSE(first.until("\r\n0\r\n\r\n").empty());
  CHECK(at.ask(read_from("c", 0)).body == stream_of(5, 1, 3));
  wait_until([&] { return at.at_rest(); });
}

TEST_CASE("streams are kept for a while after their last byte") {
  using Clock = std::chrono::steady_clock;
  std::atomic<int64_t> seconds = 1000;
  Options options = quick();
  options.streams.now = [&] { return Clock::time_point(std::chrono::seconds(seconds)); };
  Fixture at(options);
  CHECK(at.ask(write(R"({"stream":1})", "early")).status == 200);
  seconds += 200;
  CHECK(at.ask(write(R"({"stream":1})", "late")).status == 200);
  // One that has not ended stays, however long it takes.
  at.close_gate();
  Client client = at.client();
  client.say(write(R"({"stream":1})", "slow"));
  wait_until([&] { return !lookup(at, "slow").is_null(); });
  seconds += 99;
  CHECK(at.ask(read_from("early", 0)).body == stream_of(5, 1, 3));
  seconds += 2;
  CHECK(at.ask(read_from("early", 0)).status == 404);
  CHECK_FALSE(lookup(at, "late").is_null());
  seconds += 10'000;
  CHECK(lookup(at, "late").is_null());
  CHECK_FALSE(lookup(at, "slow").is_null());
  at.open_gate();
  CHECK(client.read().body == stream_of(5, 1, 3));
}

TEST_CASE("of a long stream the last bytes are kept, and who reads too slowly is told") {
  Options options = quick();
  options.streams.ring_bytes = 300 << 10;
  const Fixture at(options, long_texts());
  // It reads nothing, and holds nothing up; what its buffers do not take is lost to it.
  Client slow = at.client();
  slow.say(write(R"({"stream":1,"n_tokens":20000,"pad":1000})", "c"));
  wait_for_end(at, "c");
  wait_until([&] { return at.at_rest(); });
  const std::string all = stream_of(5, 1, 20000, 1000);
  const Json one = lookup(at, "c");
  CHECK(one.find("total_bytes")->integer() == static_cast<int64_t>(all.size()));
  // Where one can read on after all.
  const auto first = static_cast<size_t>(one.find("first_byte")->integer());
  CHECK(first <= all.size() - (300 << 10));
  const bool goes_on = at.ask(read_from("c", first)).body == all.substr(first);
  CHECK(goes_on);
  for (const size_t from : {size_t{0}, first - 1, all.size() - (400 << 10), all.size() + 1}) {
    const Reply reply = at.ask(read_from("c", from));
    CHECK(reply.status == 400);
    CHECK(reply.body.find(std::to_string(all.size())) != std::string::npos);
  }
  for (const size_t n : {size_t{0}, size_t{1}, size_t{300 << 10}}) {
    const bool same = at.ask(read_from("c", all.size() - n)).body == all.substr(all.size() - n);
    CHECK(same);
  }
  const std::string came = slow.everything();
  CHECK(came.size() < all.size());
  CHECK_FALSE(came.ends_with("0\r\n\r\n"));
}

TEST_CASE("streams that have ended go when there are too many, or too much of them") {
  for (const bool by_number : {true, false}) {
    Options options = quick();
    if (by_number) {
      options.streams.most = 2;
    } else {
      options.streams.most_bytes = 80 << 10;  // two of 32 KiB
    }
    const Fixture at(options, long_texts());
    for (const char* id : {"a", "b", "c"})
      CHECK(at.ask(write(R"({"stream":1,"n_tokens":30,"pad":1000})", id)).status == 200);
    CHECK(at.ask(read_from("a", 0)).status == 404);
    for (const char* id : {"b", "c"})
      CHECK(at.ask(read_from(id, 0)).body == stream_of(5, 1, 30, 1000));
    if (by_number) continue;
    // One alone has no more than all together.
    Client client = at.client();
    client.say(write(R"({"stream":1,"n_tokens":1000,"pad":1000})", "d"));
    wait_for_end(at, "d");
    CHECK(at.ask(read_from("d", 0)).status == 400);
  }
}

TEST_CASE("a conversation is its key's") {
  Options options = quick();
  options.api_keys = {"one", "two"};
  const Fixture at(options);
  const std::string one = "X-Api-Key: one\r\n", two = "X-Api-Key: two\r\n";
  const std::string path = "/v1/stream?conv_id=c";
  CHECK(at.ask(write(R"({"stream":1})", "c", one)).status == 200);
  CHECK(at.ask(get(path, one)).status == 200);
  CHECK(at.ask(get(path, two)).status == 404);
  CHECK(at.ask(get(path)).status == 401);
  CHECK(lookup(at, "c", two).is_null());
  CHECK(at.ask("DELETE " + path + " HTTP/1.1\r\nHost: localhost\r\n" + two + "\r\n").status == 204);
  CHECK(at.ask(write(R"({"stream":1,"seed":2})", "c", two)).status == 200);
  CHECK(at.ask(get(path, one)).body == stream_of(5, 1, 3));
  CHECK(at.ask(get(path, two)).body == stream_of(5, 2, 3));
}

TEST_CASE("what cannot be meant is refused") {
  const Fixture at;
  for (const char* query : {"", "?conv_id=", "?conv_id=c&from=x", "?conv_id=c&from=-1",
                            "?conv_id=c&from=99999999999999999999999", "?from=1"})
    CHECK_MESSAGE(at.ask(get(fmt::format("/v1/stream{}", query))).status == 400, query);
  CHECK(at.ask(get("/v1/stream?conv_id=nobody")).status == 404);
  CHECK(at.ask(stop("nobody")).status == 204);
  CHECK(at.ask(stop("")).status == 400);
  for (const char* body :
       {"{}", R"({"conversation_ids":"c"})", R"({"conversation_ids":[1]})", "[]"})
    CHECK_MESSAGE(at.ask(post("/v1/streams/lookup", body)).status == 400, body);
  CHECK(at.ask(post("/v1/streams/lookup", R"({"conversation_ids":[]})")).body == "[]");
  CHECK(at.ask(write(R"({"stream":1})", std::string(300, 'c'))).status == 400);
  // A text that its model refuses has no stream.
  CHECK(at.ask(write(R"({"stream":1,"prompt":1000})", "c")).status == 400);
}

TEST_CASE("a server that is drained ends texts that nobody reads") {
  for (const bool read : {true, false}) {
    Fixture at(quick(), long_texts());
    Client client = at.client();
    client.say(write(R"({"stream":1,"n_tokens":100000})", "c"));
    CHECK(client.read_head().status == 200);
    if (!read) {
      client.close();
      // The one that asks.
      wait_until([&] {
        return at.ask(get("/metrics")).body.find("puna:connections 1\n") != std::string::npos;
      });
    }
    const base::Timer timer;
    at.server().drain(milliseconds(read ? 50 : 60'000));
    CHECK(timer.ms() < 30'000);
    if (read) CHECK(client.everything().find("shut down") != std::string::npos);
  }
}

// What ThreadSanitizer runs over.
TEST_CASE("clients that leave, come back, stop and replace at random get what each would alone") {
  Options options = quick();
  options.streams.kept = milliseconds(50);
  const Fixture at(options, {.n_sequences = 4, .context = 4096, .n_pages = 300}, {.n_queued = 8});
  std::vector<std::thread> threads;
  std::atomic<int> n_wrong = 0;
  for (uint32_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
      for (int i = 0; i < 12; ++i) {
        const std::string id = fmt::format("c{}", below(4) == 0 ? 100 : t);
        const uint32_t seed = below(3), n_tokens = 1 + below(60);
        const std::string body =
            fmt::format(R"({{"stream":1,"seed":{},"n_tokens":{}}})", seed, n_tokens);
        {
          Client client = at.client();
          client.say(write(body, id));
          const uint32_t how = below(4);
          if (how == 0) client.reset();
          if (how == 1) client.read_head();
          if (how == 2) client.read();
          if (how == 3 && below(2)) at.ask(stop(id));
        }
        // Of this request, or the one before where this was not read; to where it was stopped.
        const Reply reply = at.ask(read_from(id, 0));
        // 503: this one is still being prepared.
        if (reply.status == 404 || reply.status == 503) continue;
        if (reply.status == 400 && reply.body.find("cancelled") != std::string::npos) continue;
        const size_t count = reply.body.find('(');
        if (count == std::string::npos) {
          ++n_wrong;
          continue;
        }
        const size_t n = std::stoul("0" + reply.body.substr(count + 1));
        if (reply.body != stream_of(5, 0, n) && reply.body != stream_of(5, 1, n) &&
            reply.body != stream_of(5, 2, n))
          ++n_wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(n_wrong == 0);
  wait_until([&] { return at.at_rest(); });
}

}  // namespace
}  // namespace puna::server
