// Texts over sockets: streams, clients that are slow or leave, and what is left of them afterwards.
#include <doctest/doctest.h>

#include <random>

#include "server/testing/fixture.h"

namespace puna::server {
namespace {

using std::chrono::milliseconds;
using test::Client;
using test::Fixture;
using test::get;
using test::n_endless_steps;
using test::n_write_calls;
using test::post;
using test::quick;
using test::Reply;
using test::stream_of;
using test::wait_until;

// A model that can write for long.
service::test::FakeSetup long_texts(uint32_t n_sequences = 8) {
  return {.n_sequences = n_sequences, .context = 1 << 17, .n_pages = 1 << 12, .at_once = true};
}
// More than any buffer on the way to a reader takes.
constexpr const char* kLong = R"({"stream":1,"n_tokens":20000,"pad":1000})";

std::string whole_of(size_t n_prompt, uint32_t seed, size_t n_tokens) {
  const auto tokens = service::test::continued(service::test::prompt(n_prompt, seed), n_tokens);
  std::string out = "[";
  for (const int32_t id : tokens) out += fmt::format("{}{}", out.size() > 1 ? "," : "", id);
  return out + "]";
}

TEST_CASE("texts come whole or as a stream") {
  const Fixture at;
  Client client = at.client();
  CHECK(client.ask(post("/write", R"({"prompt":9,"n_tokens":20})")).body ==
        "[" + whole_of(9, 1, 20) + "]");
  CHECK(client.ask(post("/write", R"({"n":3,"seed":4})")).body ==
        "[" + whole_of(5, 4, 3) + "," + whole_of(5, 5, 3) + "," + whole_of(5, 6, 3) + "]");
  const Reply stream = client.ask(post("/write", R"({"prompt":9,"n_tokens":20,"stream":1})"));
  CHECK(stream.header("Content-Type") == "text/event-stream");
  CHECK(stream.header("X-Accel-Buffering") == "no");
  CHECK(stream.header("X-Pad") == "0");
  CHECK(stream.body == stream_of(9, 1, 20));
  const Reply two = client.ask(post("/write", R"({"n":2,"stream":1})"));
  CHECK(two.body.find("/1 ") != std::string::npos);
  CHECK(client.ask(post("/write", R"({"n":0,"stream":1})")).body == "<>");
  CHECK(client.ask(post("/write", R"({"n":0})")).body == "[]");
  CHECK(client.ask(post("/job", "{}")).body == R"({"job":"fake"})");
  CHECK(client.ask(get("/livez")).status == 200);
  wait_until([&] { return at.at_rest(); });
}

TEST_CASE("HTTP/1.0 has streams that end with the connection") {
  const Fixture at;
  Client client = at.client();
  client.say("POST /write HTTP/1.0\r\nContent-Length: 12\r\n\r\n{\"stream\":1}");
  const Reply head = client.read_head();
  CHECK(head.header("Transfer-Encoding").empty());
  CHECK(client.everything() == stream_of(5, 1, 3));
}

TEST_CASE("a text that its model refuses is an error, not an empty stream") {
  const Fixture at;
  for (const char* stream : {"0", "1"}) {
    const Reply reply =
        at.ask(post("/write", fmt::format(R"({{"prompt":1000,"stream":{}}})", stream)));
    CHECK(reply.status == 400);
    CHECK(reply.body.find("1000") != std::string::npos);
  }
  wait_until([&] { return at.at_rest(); });
}

TEST_CASE("an error in the middle of a stream ends it") {
  std::atomic<bool> lost = false;
  auto setup = long_texts();
  setup.fails = [&] { return lost.load(); };
  const Fixture at(quick(), setup);
  Client client = at.client();
  client.say(post("/write", kLong));
  CHECK(client.read_head().status == 200);
  client.read_chunk();
  lost = true;
  CHECK_FALSE(client.until("failed: The device failed.").empty());
  CHECK_FALSE(client.until("0\r\n\r\n").empty());
  CHECK(client.ask(get("/livez")).status == 200);
}

TEST_CASE("a stream in which nothing happens has pings, before its first token too") {
  Options options = quick();
  options.ping = milliseconds(5);
  Fixture at(options);
  at.close_gate();
  Client client = at.client();
  client.say(post("/write", R"({"stream":1})"));
  CHECK(client.read_head().status == 200);
  CHECK(client.read_chunk() == "<");
  for (int i = 0; i < 3; ++i) CHECK(client.read_chunk() == ".");
  at.open_gate();
  CHECK_FALSE(client.until("(3)").empty());
}

TEST_CASE("where a dialect has no pings nothing is sent before the first token") {
  Options options = quick();
  options.ping = milliseconds(1);
  Fixture at(options);
  at.close_gate();
  Client client = at.client();
  client.say(post("/write", R"({"stream":1,"pings":0})"));
  wait_until([&] { return at.host.status().n_running + at.host.status().n_waiting > 0; });
  std::this_thread::sleep_for(milliseconds(20));
  char byte = 0;
  CHECK(::recv(client.fd(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0);
  at.open_gate();
  CHECK(client.read().body == stream_of(5, 1, 3));
}

TEST_CASE("a slow reader has its text held, and nobody else waits for that") {
  const Fixture at(quick(), long_texts(2));
  std::vector<Client> slow;
  for (int i = 0; i < 3; ++i) {
    slow.push_back(at.client());
    slow.back().say(post("/write", kLong));
  }
  wait_until([&] { return at.host.status().n_held == 3; });
  CHECK(at.ask(post("/write", R"({"n_tokens":30})")).body == "[" + whole_of(5, 1, 30) + "]");
  // One that reads on has all of it.
  const bool all = slow[0].read().body == stream_of(5, 1, 20000, 1000);
  CHECK(all);
  slow.clear();
  wait_until([&] { return at.at_rest(); });
}

TEST_CASE("a client that leaves costs nothing any more, in whichever phase") {
  Fixture at(quick(), long_texts(2));
  const auto leave = [](Client client, int how) {
    if (how == 0) client.close();
    if (how == 1) client.reset();
    if (how == 2) {
      client.half_close();
      CHECK(client.ended());  // nothing is sent to it, and the connection is closed
    }
  };
  for (int how = 0; how < 3; ++how) {
    // While its answer is written:
    for (const char* body : {kLong, R"({"n_tokens":100000})", R"({"n":3,"n_tokens":100000})"}) {
      Client client = at.client();
      client.say(post("/write", body));
      if (body == kLong) {
        CHECK(client.read_head().status == 200);
        if (how == 2) continue;  // it would have to read the rest first
      }
      wait_until([&] { return at.host.status().n_running > 0; });
      leave(std::move(client), how);
      wait_until([&] { return at.at_rest(); });
    }
    // While its prompt is read, and while it waits for its turn:
    at.close_gate();
    std::vector<Client> clients;
    for (int i = 0; i < 9; ++i) {
      clients.push_back(at.client());
      clients.back().say(post("/write", R"({"n_tokens":100000,"prompt":3000})"));
    }
    wait_until([&] {
      return at.ask(get("/metrics")).body.find("puna:texts_queued 6\n") != std::string::npos;
    });
    std::vector<std::thread> threads;
    for (Client& client : clients)
      threads.emplace_back([&leave, &client, how] { leave(std::move(client), how); });
    for (std::thread& thread : threads) thread.join();
    at.open_gate();
    wait_until([&] { return at.at_rest(); });
  }
}

TEST_CASE("with as many texts as there may be, more are refused until some have ended") {
  Options options = quick();
  options.queue = 3;
  Fixture at(options, long_texts());
  at.close_gate();
  Client client = at.client();
  client.say(post("/write", R"({"n":3})"));
  wait_until([&] { return at.host.status().n_running + at.host.status().n_waiting > 0; });
  const Reply reply = at.ask(post("/write", "{}"));
  CHECK(reply.status == 503);
  CHECK_FALSE(reply.header("Retry-After").empty());
  at.open_gate();
  CHECK(client.read().status == 200);
  CHECK(at.ask(post("/write", "{}")).status == 200);
}

TEST_CASE("more texts at once than there may be are refused for good, with both numbers") {
  Options options = quick();
  options.queue = 3;
  const Fixture at(options);
  const Reply reply = at.ask(post("/write", R"({"n":4})"));
  CHECK(reply.status == 400);
  CHECK(reply.body.contains("for 4 texts, but at most 3"));
  CHECK(at.ask(post("/write", R"({"n":3})")).status == 200);
}

TEST_CASE("a job counts as a text, and ends when its client leaves") {
  Options options = quick();
  options.queue = 1;
  const Fixture at(options);
  const uint32_t n_before = n_endless_steps;
  Client client = at.client();
  client.say(post("/endless-job", "{}"));
  wait_until([&] { return n_endless_steps > n_before; });
  for (const char* path : {"/write", "/job"}) CHECK(at.ask(post(path, "{}")).status == 503);
  client.close();
  wait_until([&] { return at.ask(post("/write", "{}")).status == 200; });
  CHECK(at.ask(post("/job", "{}")).status == 200);
}

TEST_CASE("a client that sends much ahead is answered while it stays, and missed when it leaves") {
  constexpr int kBehind = 600;
  std::string behind;
  for (int i = 0; i < kBehind; ++i) behind += get("/livez");
  Fixture at;
  const uint32_t n_before = n_endless_steps;
  {
    Client client = at.client();
    client.say(post("/endless-job", "{}") + behind);
    wait_until([&] { return n_endless_steps > n_before; });
  }
  wait_until([&] { return at.ask(post("/job", "{}")).status == 200; });
  {
    // It has ended before its job begins.
    Client client = at.client();
    client.say(get("/v1/things/1") + post("/endless-job", "{}"));
  }
  wait_until([&] { return at.ask(post("/job", "{}")).status == 200; });
  at.close_gate();
  Client client = at.client();
  client.say(post("/write", R"({"n_tokens":20})") + behind);
  wait_until([&] { return at.host.status().n_running + at.host.status().n_waiting > 0; });
  // For longer than it takes to look whether it has left.
  std::this_thread::sleep_for(milliseconds(300));
  at.open_gate();
  CHECK(client.read().body == "[" + whole_of(5, 1, 20) + "]");
  for (int i = 0; i < kBehind; ++i) REQUIRE(client.read().status == 200);
}

TEST_CASE("who asks for one text does not wait behind all of another's") {
  Options options = quick();
  options.api_keys = {"many", "one"};
  Fixture at(options, long_texts(1));
  at.close_gate();
  std::vector<Client> many;
  for (int i = 0; i < 40; ++i) {
    many.push_back(at.client());
    many.back().say(post("/write", R"({"n_tokens":5})", "X-Api-Key: many\r\n"));
  }
  const auto queued = [&](int n) {
    return at.ask(get("/metrics", "X-Api-Key: one\r\n"))
               .body.find(fmt::format("puna:texts_queued {}\n", n)) != std::string::npos;
  };
  wait_until([&] { return queued(38); });
  Client one = at.client();
  one.say(post("/write", R"({"n_tokens":5})", "X-Api-Key: one\r\n"));
  wait_until([&] { return queued(39); });
  at.open_gate();
  CHECK(one.read().status == 200);
  for (Client& client : many) CHECK(client.read().status == 200);
}

TEST_CASE("many connections take few threads, and get what each would alone") {
  const Fixture at(quick(), {.n_sequences = 8, .n_pages = 256});
  std::vector<Client> clients;
  for (uint32_t i = 0; i < 200; ++i) clients.push_back(at.client());
  for (uint32_t i = 0; i < 200; ++i)
    clients[i].say(
        post("/write", fmt::format(R"({{"prompt":{},"seed":{},"n_tokens":{},"stream":{}}})",
                                   5 + i % 50, i, 5 + i % 7, i % 2)));
  for (uint32_t i = 0; i < 200; ++i) {
    const std::string body = clients[i].read().body;
    CHECK(body == (i % 2 ? stream_of(5 + i % 50, i, 5 + i % 7)
                         : "[" + whole_of(5 + i % 50, i, 5 + i % 7) + "]"));
  }
  wait_until([&] { return at.at_rest(); });
}

TEST_CASE("a server that is drained ends what it has, for as long as it may") {
  for (const bool in_time : {true, false}) {
    Fixture at(quick(), long_texts());
    Client kept = at.client(), stream = at.client(), whole = at.client();
    CHECK(kept.ask(get("/health")).status == 200);
    const int n_tokens = in_time ? 50 : 100000;
    at.close_gate();
    const uint32_t before = n_write_calls;
    stream.say(post("/write", fmt::format(R"({{"stream":1,"n_tokens":{}}})", n_tokens)));
    whole.say(post("/write", fmt::format(R"({{"n_tokens":{}}})", n_tokens)));
    wait_until([&] { return n_write_calls == before + 2; });
    std::thread drain([&] { at.server().drain(milliseconds(in_time ? 60'000 : 20)); });
    wait_until([&] { return kept.ask(get("/health")).status != 200; });
    at.open_gate();
    if (in_time) {
      CHECK(stream.read().body == stream_of(5, 1, 50));
      CHECK(whole.read().body == "[" + whole_of(5, 1, 50) + "]");
    } else {
      CHECK(stream.everything().find("shut down") != std::string::npos);
      CHECK(whole.everything().find("503") != std::string::npos);
    }
    drain.join();
  }
}

TEST_CASE("metrics and loads say what goes on") {
  const Fixture at;
  at.ask(post("/write", R"({"prompt":40,"n_tokens":20})"));
  at.ask(post("/write", R"({"prompt":40,"n_tokens":20})"));
  at.ask(post("/job", "{}"));
  const std::string text = at.ask(get("/metrics")).body;
  for (const char* line :
       {"llamacpp:tokens_predicted_total 40\n",
        // 40 of the first text, what the second does not share of them, and those of the job.
        "llamacpp:prompt_tokens_total 48\n", "llamacpp:requests_processing 0\n",
        "puna:texts_total{model=\"fake\"} 2\n", "puna:kv_pages{model=\"fake\"} 64\n",
        "puna:first_token_seconds_count{model=\"fake\"} 2\n",
        "puna:token_gap_seconds_count{model=\"fake\"} 38\n",
        "puna:http_requests_total{method=\"POST\",route=\"/write\",status=\"200\"} 2\n"})
    CHECK_MESSAGE(text.find(line) != std::string::npos, line);
  CHECK(text.find("puna:prefix_hit_tokens_total{model=\"fake\"} 0\n") == std::string::npos);
  const auto loads = base::Json::parse(at.ask(get("/v1/loads")).body);
  REQUIRE(loads);
  const base::Json& first = loads->find("loads")->items().at(0);
  CHECK(first.find("num_running_reqs")->integer() == 0);
  CHECK(first.find("max_total_num_tokens")->integer() == 64 * 32);
}

TEST_CASE("what is switched off is answered by 501, which names the flag") {
  const auto ask = [](const Options& options, std::string_view text) {
    auto server = Server::listen(options);
    REQUIRE(server.has_value());
    const Reply reply = Client((*server)->addresses().at(0).port).ask(text);
    // What is on waits for a model, which this server has none of.
    CHECK((reply.status == 501 || reply.status == 503 || reply.status == 200));
    return reply.status == 501 ? reply.body : std::string();
  };
  Options off = quick(), on = quick();
  off.metrics = off.slots = false;
  on.props = true;
  CHECK(ask(off, get("/metrics")).find("--metrics turns it on") != std::string::npos);
  CHECK(ask(off, get("/slots")).find("--slots turns it on") != std::string::npos);
  CHECK(ask(off, post("/slots/0?action=erase", "{}")).find("--slots") != std::string::npos);
  CHECK(ask(off, post("/props", "{}")).find("--props turns it on") != std::string::npos);
  CHECK(ask(on, get("/metrics")).empty());
  CHECK(ask(on, get("/slots")).empty());
  CHECK(ask(on, post("/props", "{}")).empty());
  CHECK(ask(off, get("/props")).empty());
}

// What ThreadSanitizer runs over.
TEST_CASE("clients that ask, read a little and leave at random leave nothing behind") {
  const Fixture at(quick(), {.n_sequences = 4, .context = 4096, .n_pages = 300}, {.n_queued = 8});
  std::vector<std::thread> threads;
  std::atomic<int> n_wrong = 0;
  for (uint32_t t = 0; t < 16; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
      for (int i = 0; i < 10; ++i) {
        Client client = at.client();
        const uint32_t n_prompt = 1 + below(100), seed = below(3), n_tokens = 1 + below(60);
        const bool stream = below(2) == 0;
        client.say(
            post("/write", fmt::format(R"({{"prompt":{},"seed":{},"n_tokens":{},"stream":{}}})",
                                       n_prompt, seed, n_tokens, stream ? 1 : 0)));
        const uint32_t how = below(5);
        if (how == 0) client.reset();
        if (how == 1) continue;
        if (how == 2) client.read_head();
        if (how < 3) continue;
        if (client.read().body != (stream ? stream_of(n_prompt, seed, n_tokens)
                                          : "[" + whole_of(n_prompt, seed, n_tokens) + "]"))
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
