// Requests whose model runs behind another server, which here is in the same process.
#include "server/forward.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "server/testing/fixture.h"

using namespace puna;
using namespace puna::server;
using namespace puna::server::test;

namespace {

class Elsewhere final : public api::RemoteModel {
 public:
  explicit Elsewhere(std::string socket) : socket_(std::move(socket)) {}
  const std::string& socket() const override { return socket_; }
  const api::ModelFacts& facts() const override { return facts_; }
  const base::Json& props() const override { return props_; }
  service::HostStatus status() const override { return {}; }

 private:
  const std::string socket_;
  const api::ModelFacts facts_;
  const base::Json props_;
};

class Source final : public api::ModelSource {
 public:
  explicit Source(const std::string& socket) {
    api::ServedModel model;
    model.id = "fake";
    model.aliases = {"fake"};
    model.remote = std::make_shared<Elsewhere>(socket);
    model_ = std::make_shared<const api::ServedModel>(std::move(model));
  }
  std::shared_ptr<void> acquire(const api::ModelWish& wish,
                                std::function<void(base::Result<api::ModelLease>)> done) override {
    if (wish.name == "none") {
      done(base::fail(base::ErrorCode::kNotFound, "There is no model \"none\"."));
    } else {
      done(model_);
    }
    return nullptr;
  }
  std::vector<api::ModelLease> loaded() const override { return {model_}; }
  bool is_remote() const override { return true; }
  long n_leases() const { return model_.use_count() - 1; }

 private:
  api::ModelLease model_;
};

struct Two {
  std::string folder = [] {
    std::string path = std::filesystem::temp_directory_path() / "puna-forward-XXXXXX";
    REQUIRE(::mkdtemp(path.data()));
    return path;
  }();
  const std::string socket = folder + "/model.sock";
  Options behind() const {
    Options out = quick();
    out.listen = {{socket, 0}};
    out.behind_server = true;
    return out;
  }
  std::unique_ptr<Fixture> model;
  Source source{socket};
  std::unique_ptr<Server> server;

  explicit Two(const Options& options = quick(), const service::test::FakeSetup& setup = {})
      : model(std::make_unique<Fixture>(behind(), setup)) {
    auto listening = Server::listen(options, kTestRoutes);
    REQUIRE(listening.has_value());
    server = *std::move(listening);
    server->serve(source);
  }
  ~Two() {
    server->stop();
    model.reset();
    std::filesystem::remove_all(folder);
  }

  Client client() const { return Client(server->addresses().at(0).port); }
  Reply ask(std::string_view text) const { return client().ask(text); }
};

}  // namespace

TEST_CASE("a request is answered by the server that has its model, as if by that") {
  const Two two;
  const Reply whole = two.ask(post("/write", R"({"model":"fake","seed":3,"n":2})"));
  const Reply there = Client(two.socket).ask(post("/write", R"({"seed":3,"n":2})"));
  CHECK(whole.status == 200);
  CHECK(whole.body == there.body);
  CHECK(whole.header("x-puna-totals") == "");
  CHECK_FALSE(there.header("x-puna-totals").empty());
  const Reply stream = two.ask(post("/write", R"({"stream":1,"seed":5,"n_tokens":9,"pad":3})"));
  CHECK(stream.status == 200);
  CHECK(stream.header("x-pad") == "3");
  CHECK(stream.body == stream_of(5, 5, 9, 3));
  const Reply echo = two.ask(post("/v1/echo?a=%2F%20b&c", R"({"x":[1,2],"model":"fake"})"));
  const auto said = *base::Json::parse(echo.body);
  CHECK(said.find("query")->dump() == R"({"a":"/ b","c":""})");
  CHECK(said.find("body")->dump() == R"({"x":[1,2],"model":"fake"})");
  CHECK(two.ask(get("/slots?model=fake")).status == 200);
  // Long ones too, both ways.
  const std::string pad(300'000, 'p');
  const Reply longer = two.ask(post("/v1/echo", "{\"pad\":\"" + pad + "\"}"));
  CHECK(longer.body.find(pad) != std::string::npos);
  CHECK(two.ask(post("/write", R"({"stream":1,"n_tokens":7,"pad":200000})")).body ==
        stream_of(5, 1, 7, 200'000));
  wait_until([&] { return two.source.n_leases() == 0 && two.model->at_rest(); });
}

TEST_CASE("what each request has cost is counted where it came in") {
  const Two two;
  two.ask(post("/write", R"({"seed":3,"n":2})"));
  two.ask(post("/write", R"({"stream":1,"seed":4,"n_tokens":4})"));
  two.ask(post("/job", "{}"));
  const std::string page = two.ask(get("/metrics")).body;
  for (const char* line :
       {"puna:texts_total{model=\"fake\"} 3\n", "llamacpp:tokens_predicted_total 10\n"})
    CHECK_MESSAGE(page.find(line) != std::string::npos, line << page);
  // Gaps between tokens are known where these are written.
  const auto gaps_of = [](const std::string& text) {
    const size_t at = text.find("puna:token_gap_seconds_bucket");
    return text.substr(at, text.find("puna:token_gap_seconds_sum") - at);
  };
  CHECK(gaps_of(page) == gaps_of(Client(two.socket).ask(get("/metrics")).body));
  CHECK(page.find("puna:token_gap_seconds_count{model=\"fake\"} 0\n") == std::string::npos);
  // How much of the second text's prompt was known before depends on when it began.
  const auto count = [&](std::string_view name) {
    const size_t at = page.find(fmt::format("\n{} ", name));
    REQUIRE(at != std::string::npos);
    return std::stoul(page.substr(at + name.size() + 2));
  };
  CHECK(count("llamacpp:prompt_tokens_total") + count("llamacpp:prompt_tokens_cached_total") == 22);
}

TEST_CASE("errors of the other server are passed on, and what names no model does not get there") {
  const Two two;
  CHECK(two.ask(post("/v1/echo", R"({"model":"none"})")).status == 404);
  CHECK(two.ask(post("/v1/echo", R"({"model":7})")).status == 400);
  CHECK(two.ask(post("/v1/echo", R"({"model":"fake",)")).status == 400);
  // What nobody has to know here is found out there.
  CHECK(two.ask(post("/v1/echo", R"({"model":"fake","a":1,"a":2})")).status == 400);
  CHECK(two.ask(post("/v1/echo", R"({"model":"fake","a":tru})")).status == 400);
  const Reply stops = two.ask(post("/slots/77?action=erase", R"({"model":"fake"})"));
  CHECK(stops.status == 400);
}

TEST_CASE("a client that leaves takes its text with it") {
  const Two two;
  two.model->close_gate();
  {
    Client client = two.client();
    client.say(post("/write", R"({"stream":1,"n_tokens":50})"));
    wait_until([&] { return two.source.n_leases() == 1; });
  }
  wait_until([&] { return two.source.n_leases() == 0; });
  two.model->open_gate();
  wait_until([&] { return two.model->at_rest(); });
}

TEST_CASE("where the other server ends, its clients are told so in the shape of their dialect") {
  Two two;
  two.model->close_gate();
  Client chat = two.client(), message = two.client();
  chat.say(post("/write", R"({"n_tokens":50})"));
  message.say(post("/v1/messages", "{}"));
  // What comes while it ends is refused, which is another answer.
  wait_until([&] { return !two.model->at_rest(); });
  std::thread ending([&] { two.model->server().stop(); });
  const Reply reply = chat.read();
  CHECK(reply.status == 502);
  CHECK(reply.body.find("The process that runs the model") != std::string::npos);
  two.model->open_gate();
  ending.join();
  CHECK(two.ask(post("/v1/messages", "{}")).status == 502);
  CHECK(two.ask(post("/api/echo", "{}")).body.starts_with("{\"error\":\""));
  wait_until([&] { return two.source.n_leases() == 0; });
}

TEST_CASE("a stream that breaks off ends with an error behind its last whole frame") {
  Two two;
  // A server by hand, that says half of a frame.
  two.model.reset();
  const int door = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  two.socket.copy(address.sun_path, sizeof(address.sun_path) - 1);
  REQUIRE(::bind(door, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  REQUIRE(::listen(door, 4) == 0);
  for (const auto& [path, type, whole, rest, last] :
       {std::tuple{"/write", "text/event-stream", "data: 1\n\n", "data: {\"cho",
                   "data: {\"error\""},
        std::tuple{"/v1/messages", "text/event-stream", "event: a\ndata: 1\n\n", "event: b\n",
                   "event: error\ndata: {"},
        std::tuple{"/api/echo", "application/x-ndjson", "{\"a\":1}\n", "{\"b\"", "{\"error\":"}}) {
    Client client = two.client();
    client.say(post(path, "{}"));
    const int other = ::accept(door, nullptr, nullptr);
    const std::string body = std::string(whole) + rest;
    const std::string text = fmt::format(
        "HTTP/1.1 200 OK\r\nContent-Type: {}\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{}\r\n",
        type, body.size(), body);
    CHECK(::send(other, text.data(), text.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(text.size()));
    ::close(other);
    const Reply reply = client.read();
    CHECK(reply.status == 200);
    CHECK_MESSAGE(reply.body.starts_with(std::string(whole) + last), reply.body);
    CHECK(reply.body.find(rest) == std::string::npos);
  }
  // And what is no HTTP at all.
  Client client = two.client();
  client.say(post("/write", "{}"));
  const int other = ::accept(door, nullptr, nullptr);
  constexpr std::string_view kNoHttp = "This is no reply of HTTP.\r\n\r\n";
  CHECK(::send(other, kNoHttp.data(), kNoHttp.size(), MSG_NOSIGNAL) ==
        static_cast<ssize_t>(kNoHttp.size()));
  CHECK(client.read().status == 502);
  ::close(other);
  ::close(door);
}

TEST_CASE("a stream that is kept goes on without its client, wherever its model runs") {
  const Two two;
  two.model->close_gate();
  {
    Client client = two.client();
    client.say(
        "POST /completion HTTP/1.1\r\nHost: localhost\r\nX-Conversation-Id: talk\r\n"
        "Content-Length: 85\r\n\r\n"
        "{\"prompt\":[1,2,3],\"n_predict\":6,\"ignore_eos\":true,\"return_tokens\":true,\"stream\":"
        "true}");
    wait_until([&] { return two.source.n_leases() == 1; });
  }
  two.model->open_gate();
  wait_until([&] { return two.source.n_leases() == 0; });
  const Reply kept = two.ask(get("/v1/stream?conv_id=talk"));
  CHECK(kept.status == 200);
  CHECK(kept.body.find("\"stop\":true") != std::string::npos);
}

TEST_CASE(
    "a stream that is kept and stopped ends with what there is of it, wherever its model runs") {
  const Two two(quick(),
                {.n_sequences = 4, .context = 1 << 17, .n_pages = 1 << 12, .at_once = true});
  Client client = two.client();
  client.say(post("/completion",
                  R"({"prompt":[1,2,3],"n_predict":100000,"ignore_eos":true,"stream":true})",
                  "X-Conversation-Id: talk\r\n"));
  CHECK(client.read_head().status == 200);
  CHECK(two.ask("DELETE /v1/stream?conv_id=talk HTTP/1.1\r\nHost: localhost\r\n\r\n").status ==
        204);
  CHECK(client.until("\r\n0\r\n\r\n").find("\"stop\":true") != std::string::npos);
  wait_until([&] { return two.source.n_leases() == 0 && two.model->at_rest(); });
  // Whose request it is, is for the servers to say.
  const char* const other =
      "DELETE /v1/stream HTTP/1.1\r\nHost: localhost\r\nx-puna-stop: 1\r\n\r\n";
  CHECK(two.ask(other).status == 400);
  CHECK(Client(two.socket).ask(other).status == 404);
}
