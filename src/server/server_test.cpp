// The server over loopback sockets and a model without weights. Nothing here depends on how long
// anything takes.
#include "server/server.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "base/json.h"
#include "server/guard.h"
#include "service/host_thread.h"
#include "service/testing/fake_model.h"

namespace puna::server {
namespace {

using base::Json;
using service::test::continued;
using service::test::fake_model;
using service::test::prompt;

void wait_until(const std::function<bool()>& is_so) {
  while (!is_so()) std::this_thread::yield();
}

// One connection, by hand.
class Client {
 public:
  explicit Client(const Address& address) {
    if (address.is_unix()) {
      fd_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
      sockaddr_un to{};
      to.sun_family = AF_UNIX;
      address.host.copy(to.sun_path, sizeof(to.sun_path) - 1);
      REQUIRE(::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0);
    } else {
      fd_ = ::socket(AF_INET, SOCK_STREAM, 0);
      sockaddr_in to{};
      to.sin_family = AF_INET;
      to.sin_port = htons(address.port);
      REQUIRE(::inet_pton(AF_INET, address.host.c_str(), &to.sin_addr) == 1);
      REQUIRE(::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0);
    }
  }
  ~Client() { close(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  void send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t n = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (n <= 0) return;
      text.remove_prefix(static_cast<size_t>(n));
    }
  }
  // Up to and with `end`; all there is where the server ends before.
  std::string read_to(std::string_view end) {
    size_t at = std::string::npos;
    while ((at = in_.find(end)) == std::string::npos && more()) {
    }
    return take(at == std::string::npos ? in_.size() : at + end.size());
  }
  std::string read_bytes(size_t n) {
    while (in_.size() < n && more()) {
    }
    return take(std::min(n, in_.size()));
  }
  std::string read_all() {
    while (more()) {
    }
    return take(in_.size());
  }

 private:
  bool more() {
    char bytes[4096];
    const ssize_t n = ::recv(fd_, bytes, sizeof(bytes), 0);
    if (n <= 0) return false;
    in_.append(bytes, static_cast<size_t>(n));
    return true;
  }
  std::string take(size_t n) {
    std::string out = in_.substr(0, n);
    in_.erase(0, n);
    return out;
  }

  int fd_ = -1;
  std::string in_;
};

struct Reply {
  int status = 0;
  std::string head, body;

  Json json() const {
    auto parsed = Json::parse(body);
    REQUIRE_MESSAGE(parsed.has_value(), head << body);
    return *std::move(parsed);
  }
  bool has(std::string_view header) const { return head.find(header) != std::string::npos; }
};

Reply read_reply(Client& client, bool head_only = false) {
  Reply out;
  out.head = client.read_to("\r\n\r\n");
  REQUIRE_MESSAGE(out.head.starts_with("HTTP/1.1 "), out.head);
  out.status = std::stoi(out.head.substr(9, 3));
  if (head_only) return out;
  constexpr std::string_view kLength = "Content-Length: ";
  if (const size_t at = out.head.find(kLength); at != std::string::npos) {
    out.body = client.read_bytes(std::stoul(out.head.substr(at + kLength.size())));
    return out;
  }
  if (!out.has("Transfer-Encoding: chunked")) return out;
  for (;;) {
    const size_t n = std::stoul(client.read_to("\r\n"), nullptr, 16);
    out.body += client.read_bytes(n);
    client.read_to("\r\n");
    if (n == 0) return out;
  }
}

std::string request(std::string_view method, std::string_view path, std::string_view body = {},
                    std::string_view headers = {}) {
  std::string out = fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\n{}", method, path, headers);
  if (!body.empty()) out += fmt::format("Content-Length: {}\r\n", body.size());
  return out + "\r\n" + std::string(body);
}

std::string completion(const std::vector<int32_t>& tokens, uint32_t n, bool stream) {
  Json ids = Json::array();
  for (const int32_t id : tokens) ids.push(id);
  Json body = Json::object();
  body.set("prompt", std::move(ids)).set("max_tokens", n).set("temperature", 0);
  body.set("stream", stream).set("return_tokens", true);
  return request("POST", "/v1/completions", body.dump());
}

api::ServedModel served(service::Host& host) {
  api::ServedModel out;
  out.id = "fake";
  out.aliases = {"fake"};
  out.n_texts = 8;
  out.hosts = std::make_shared<service::Hosts>(host);
  return out;
}

Options small_options() {
  Options out;
  out.listen = {{"127.0.0.1", 0}};
  out.n_threads = 2;
  return out;
}

struct Running {
  explicit Running(const Options& options = small_options(),
                   const service::test::FakeSetup& setup = {})
      : host(fake_model(setup).model), source(served(host)) {
    auto listening = Server::listen(options);
    REQUIRE_MESSAGE(listening.has_value(), listening.error().text());
    server = *std::move(listening);
    server->serve(source);
  }
  ~Running() {
    server->stop();
    host.stop();
  }

  Reply ask(std::string_view text, bool head_only = false) {
    Client client(server->addresses().front());
    client.send(text);
    return read_reply(client, head_only);
  }
  bool is_idle() {
    const service::HostStatus status = host.status();
    return status.n_running + status.n_waiting + status.n_held == 0 && status.n_pages_in_use == 0;
  }

  service::HostThread host;
  api::OneModel source;
  std::unique_ptr<Server> server;
};

// The ids of the chunks of a stream.
std::vector<int32_t> tokens_of(const std::string& stream) {
  std::vector<int32_t> out;
  constexpr std::string_view kData = "data: ";
  for (size_t at = stream.find(kData); at != std::string::npos; at = stream.find(kData, at)) {
    at += kData.size();
    const std::string line = stream.substr(at, stream.find('\n', at) - at);
    const auto chunk = Json::parse(line);
    const Json* tokens = chunk ? chunk->find("tokens") : nullptr;
    if (!tokens) continue;
    for (const Json& id : tokens->items()) out.push_back(static_cast<int32_t>(id.integer()));
  }
  return out;
}

}  // namespace

TEST_CASE("health is bad until there is a model, and life is always there") {
  auto server = *Server::listen(small_options());
  Client client(server->addresses().front());
  client.send(request("GET", "/health") + request("GET", "/livez") + request("GET", "/v1/models"));
  const Reply health = read_reply(client), live = read_reply(client), models = read_reply(client);
  CHECK(health.status == 503);
  CHECK(health.json().find("error")->find("message")->string() == "Loading model");
  CHECK(live.status == 200);
  CHECK(models.status == 503);
  service::HostThread host(fake_model().model);
  api::OneModel source(served(host));
  server->serve(source);
  client.send(request("GET", "/health"));
  CHECK(read_reply(client).json().find("status")->string() == "ok");
  server->stop();
  host.stop();
}

TEST_CASE("what is wrong with a request is said by its status, in the form of its dialect") {
  Options options = small_options();
  options.limits.body_bytes = 1000;
  options.limits.header_bytes = 2000;
  Running running(options);
  CHECK(running.ask(request("GET", "/nothing")).status == 404);
  const Reply method = running.ask(request("GET", "/v1/completions"));
  CHECK(method.status == 405);
  CHECK(method.has("Allow: POST, OPTIONS"));
  CHECK(method.json().find("error")->find("type")->is_string());
  CHECK(running.ask(request("HEAD", "/health"), /*head_only=*/true).status == 200);
  const std::pair<std::string, std::string> bodies[] = {
      {"{\"prompt\": ", "line 1, column"},
      {R"({"prompt": [1], "prompt": [2]})", "twice"},
      {R"({"prompt": [1], "temperature": 1e999})", "malformed"},
      {R"({"prompt": [1], "temperature": 1000})", "temperature"},
      {R"({"prompt": [1], "model": "none"})", "none"},
      {R"({"prompt": [5000]})", "5000"},
      {"[]", "object"}};
  for (const auto& [body, part] : bodies) {
    const Reply reply = running.ask(request("POST", "/v1/completions", body));
    CHECK_MESSAGE(reply.status == (part == "none" ? 404 : 400), body);
    CHECK_MESSAGE(
        reply.json().find("error")->find("message")->string().find(part) != std::string::npos,
        reply.body);
  }
  const std::string long_body = fmt::format("{{\"prompt\": \"{}\"}}", std::string(2000, 'a'));
  CHECK(running.ask(request("POST", "/v1/completions", long_body)).status == 413);
  CHECK(running.ask(request("GET", "/health", "", "X-Long: " + std::string(3000, 'a') + "\r\n"))
            .status == 431);
  CHECK(running.ask("NO SENSE\r\n\r\n").status == 400);
  CHECK(running.is_idle());
}

TEST_CASE("what clients look for and is not here has its status, whatever the body is") {
  Running at;
  const Reply tools = at.ask(request("GET", "/tools"));
  CHECK(tools.status == 403);
  CHECK(*tools.json().find("error")->find("type") == Json("feature_disabled"));
  CHECK(at.ask(request("POST", "/tools", R"({"tool":"read_file"})")).status == 403);
  CHECK(at.ask(request("GET", "/cors-proxy?url=http://localhost/")).status == 403);
  CHECK(at.ask(request("POST", "/cors-proxy?url=http://localhost/", "{}")).status == 403);
  CHECK(at.ask(request("GET", "/api/status")).body ==
        R"({"cloud":{"disabled":true,"source":"config"}})");
  const std::string parts =
      "--x\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nRIFF\r\n--x--\r\n";
  const Reply sound = at.ask(request("POST", "/v1/audio/transcriptions", parts,
                                     "Content-Type: multipart/form-data; boundary=x\r\n"));
  CHECK(sound.status == 501);
  CHECK(*sound.json().find("error")->find("type") == Json("not_supported_error"));
  CHECK(at.ask(request("GET", "/lora-adapters")).body == "[]");
  CHECK(at.ask(request("POST", "/lora-adapters", R"([{"id":0,"scale":1}])")).status == 400);
}

TEST_CASE("who may not ask is refused: without a key, by another name, from a foreign page") {
  Options options = small_options();
  options.api_keys = {"one", "two"};
  Running running(options);
  CHECK(running.ask(request("GET", "/health")).status == 200);
  CHECK(running.ask(request("GET", "/v1/models")).status == 401);
  CHECK(running.ask(request("GET", "/v1/models", "", "Authorization: Bearer on\r\n")).status ==
        401);
  CHECK(running.ask(request("GET", "/v1/models", "", "Authorization: Bearer two\r\n")).status ==
        200);
  CHECK(running.ask(request("GET", "/v1/models", "", "X-Api-Key: one\r\n")).status == 200);
  CHECK(running.ask("GET /health HTTP/1.1\r\nHost: evil.example\r\n\r\n").status == 403);
  const std::string key = "X-Api-Key: one\r\nContent-Type: application/json\r\n";
  const std::string body = R"({"prompt": [1], "max_tokens": 1})";
  const auto from = [&](const std::string& origin, const std::string& more) {
    return running.ask(
        request("POST", "/v1/completions", body, more + "Origin: " + origin + "\r\n"));
  };
  CHECK(from("http://evil.example", key).status == 403);
  const Reply near = from("http://localhost:5173", key);
  CHECK(near.status == 200);
  CHECK(near.has("Access-Control-Allow-Origin: http://localhost:5173"));
  CHECK(from("http://localhost:5173", "X-Api-Key: one\r\nContent-Type: text/plain\r\n").status ==
        415);
}

TEST_CASE("keys are changed while the server runs, and nobody gets the number of another") {
  Options options = small_options();
  options.api_keys = {"one", "two"};
  Running at(options);
  const auto status = [&](std::string_view key) {
    return at.ask(request("GET", "/v1/models", "", fmt::format("X-Api-Key: {}\r\n", key))).status;
  };
  CHECK(status("one") == 200);
  at.server->set_keys({"three", "two"});
  CHECK(status("one") == 401);
  CHECK(status("two") == 200);
  CHECK(status("three") == 200);

  Guard guard(options);
  const auto number = [&](const char* key) {
    api::HttpRequest http;
    http.headers.emplace_back("x-api-key", key);
    const auto client = guard.client_of(http);
    return client ? std::optional(client->key) : std::nullopt;
  };
  CHECK(number("two") == 1u);
  guard.set_keys({"three", "two"});
  CHECK(number("two") == 1u);
  CHECK(number("three") == 2u);
  guard.set_keys({"one"});
  CHECK(number("one") == 3u);
  CHECK_FALSE(number("two").has_value());
}

TEST_CASE("texts are what they are alone, as a whole and as streams, on one connection") {
  Running running;
  Client client(running.server->addresses().front());
  for (uint32_t i = 0; i < 3; ++i) {
    const auto text = prompt(20 + 7 * i, i);
    client.send(completion(text, 12, /*stream=*/true));
    const Reply stream = read_reply(client);
    CHECK(stream.status == 200);
    CHECK(stream.has("Content-Type: text/event-stream"));
    CHECK(tokens_of(stream.body) == continued(text, 12));
    CHECK(stream.body.ends_with("data: [DONE]\n\n"));
    client.send(completion(text, 12, /*stream=*/false));
    const Json whole = read_reply(client).json();
    CHECK(whole.find("usage")->find("completion_tokens")->integer() == 12);
  }
  CHECK(running.is_idle());
  const std::string metrics = running.ask(request("GET", "/metrics")).body;
  CHECK(metrics.find("llamacpp:tokens_predicted_total 72") != std::string::npos);
}

TEST_CASE("many clients at once each get their own text, and requests behind each other in order") {
  Running running;
  std::vector<std::thread> threads;
  std::atomic<int> n_right = 0;
  for (uint32_t c = 0; c < 12; ++c) {
    threads.emplace_back([&, c] {
      Client client(running.server->addresses().front());
      const auto first = prompt(10 + c, c), second = prompt(15 + c, c + 50);
      client.send(completion(first, 10, true) + completion(second, 8, true));
      const bool one = tokens_of(read_reply(client).body) == continued(first, 10);
      const bool two = tokens_of(read_reply(client).body) == continued(second, 8);
      n_right += one && two;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(n_right == 12);
  CHECK(running.is_idle());
}

TEST_CASE("a client that leaves costs nothing further, whenever it does") {
  Running running(small_options(), {.n_sequences = 2, .context = 4096, .n_pages = 256});
  for (int i = 0; i < 6; ++i) {
    Client client(running.server->addresses().front());
    client.send(completion(prompt(40, 1), 4000, /*stream=*/i % 2 == 0));
    // Before anything comes, or in the middle.
    if (i % 4 == 0) client.read_to("data: ");
    client.close();
  }
  wait_until([&] { return running.is_idle(); });
  const auto text = prompt(30, 2);
  Client client(running.server->addresses().front());
  client.send(completion(text, 5, true));
  CHECK(tokens_of(read_reply(client).body) == continued(text, 5));
}

TEST_CASE("bodies come in chunks, after they were asked for, or never") {
  Options options = small_options();
  options.limits.body_pause = std::chrono::milliseconds(50);
  options.limits.header = std::chrono::milliseconds(50);
  Running running(options);
  const std::string body = R"({"prompt": [1, 2], "max_tokens": 1})";
  const std::string head = "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n";
  CHECK(running
            .ask(head + fmt::format("Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{}\r\n0\r\n\r\n",
                                    body.size(), body))
            .status == 200);
  Client waiting(running.server->addresses().front());
  waiting.send(head +
               fmt::format("Content-Length: {}\r\nExpect: 100-continue\r\n\r\n", body.size()));
  CHECK(waiting.read_to("\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n");
  waiting.send(body);
  CHECK(read_reply(waiting).status == 200);
  CHECK(running.ask(head + "Content-Length: 100\r\n\r\n{").status == 408);
  CHECK(running.ask("GET /health HTTP/1.1\r\nHo").status == 408);
}

TEST_CASE("a Unix socket is listened on, and is gone afterwards") {
  const auto path =
      std::filesystem::temp_directory_path() / fmt::format("puna-{}.sock", ::getpid());
  Options options = small_options();
  options.listen = {{path.string(), 0}};
  {
    Running running(options);
    CHECK(running.ask(request("GET", "/health")).status == 200);
  }
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE(
    "a port that is taken, or an address of somebody else, is an error before anything is served") {
  Running running;
  Options options = small_options();
  options.listen = running.server->addresses();
  const auto taken = Server::listen(options);
  REQUIRE_FALSE(taken.has_value());
  CHECK(taken.error().code == base::ErrorCode::kIo);
  CHECK(taken.error().message.find(std::to_string(options.listen.front().port)) !=
        std::string::npos);
}

TEST_CASE("what is under way when the server ends has its time, and is told when that is over") {
  Running running(small_options(), {.context = 4096, .n_pages = 256});
  Client client(running.server->addresses().front());
  client.send(completion(prompt(20, 1), 4000, true));
  client.read_to("data: ");
  running.server->drain(std::chrono::milliseconds(1));
  CHECK(client.read_all().find("shut down") != std::string::npos);
  wait_until([&] { return running.is_idle(); });
}

}  // namespace puna::server
