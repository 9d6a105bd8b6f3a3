// What comes in over sockets, and what is answered at once. Nothing here depends on how long
// anything takes.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>

#include <fstream>

#include "base/sanitized.h"
#include "server/server.h"
#include "server/testing/fixture.h"

namespace puna::server {
namespace {

using std::chrono::milliseconds;
using test::Client;
using test::Fixture;
using test::get;
using test::post;
using test::quick;
using test::Reply;

std::string error_type(const Reply& reply) {
  const auto body = base::Json::parse(reply.body);
  REQUIRE(body);
  const base::Json* error = body->find("error");
  REQUIRE(error);
  return error->is_string() ? "text" : error->find("type")->string();
}

TEST_CASE("a path with values, a query and a body reach the endpoint decoded") {
  const Fixture at;
  const Reply reply = at.ask(get("/v1/things/a%2Fb%20c?x=1%262&y=a+b&z"));
  CHECK(reply.status == 200);
  CHECK(reply.header("Content-Type") == "application/json");
  CHECK(reply.body == R"({"path":"/v1/things/a/b c","values":["a/b c"],)"
                      R"("query":{"x":"1&2","y":"a b","z":""},"body":null,"model":null})");
  CHECK(
      at.ask(post("/v1/echo", R"({"model":"fake","a":[1]})")).body ==
      R"({"path":"/v1/echo","values":[],"query":{},"body":{"model":"fake","a":[1]},"model":"fake"})");
  CHECK(at.ask(get("/v1/models/org/fake")).status == 200);
  CHECK(at.ask(get("/v1/models/org%2Ffake")).status == 200);
  CHECK(at.ask(get("http://localhost/v1/things/1")).status == 200);
}

TEST_CASE("what there is not is refused in the form of its dialect") {
  const Fixture at;
  CHECK(at.ask(get("/nothing")).status == 404);
  CHECK(error_type(at.ask(get("/v1/nothing"))) == "not_found_error");
  CHECK(error_type(at.ask(get("/api/nothing"))) == "text");
  CHECK(at.ask(get("/v1/messages/nothing")).body.starts_with(R"({"type":"error")"));
  CHECK(at.ask(get("/v1/things/")).status == 404);
  CHECK(at.ask(get("/v1/things/%zz")).status == 400);
  CHECK(at.ask(post("/v1/echo", R"({"model":"other"})")).status == 404);
  CHECK(at.ask(post("/api/echo", R"({"model":"other"})")).body ==
        R"({"error":"model \"other\" not found, try pulling it first"})");
  CHECK(at.ask(post("/v1/echo", R"({"model":1})")).status == 400);

  const Reply wrong_method = at.ask(post("/v1/things/1", ""));
  CHECK(wrong_method.status == 405);
  CHECK(wrong_method.header("Allow") == "GET, HEAD, DELETE, OPTIONS");
  const Reply options = at.ask("OPTIONS /v1/things/1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  CHECK(options.status == 204);
  CHECK(options.header("Allow") == "GET, HEAD, DELETE, OPTIONS");

  const Reply no_paths = at.ask(post("/refuse", ""));
  CHECK(no_paths.status == 400);
  CHECK(no_paths.body.find("somebody") == std::string::npos);
  CHECK(no_paths.body.find("a.gguf") != std::string::npos);
}

TEST_CASE("what is counted by methods does not grow with words that are none") {
  const Fixture at;
  for (int i = 0; i < 5; ++i)
    CHECK(at.ask(fmt::format("WORD{} /livez HTTP/1.1\r\nHost: localhost\r\n\r\n", i)).status ==
          405);
  const std::string metrics = at.ask(get("/metrics")).body;
  CHECK(
      metrics.contains("puna:http_requests_total{method=\"other\",route=\"\",status=\"405\"} 5\n"));
  CHECK_FALSE(metrics.contains("WORD"));
}

TEST_CASE("HEAD is GET without the body") {
  const Fixture at;
  Client client = at.client();
  client.say("HEAD /health HTTP/1.1\r\nHost: localhost\r\n\r\n" + get("/livez"));
  const Reply head = client.read(/*to_head=*/true);
  CHECK(head.status == 200);
  CHECK(head.header("Content-Length") == "15");
  CHECK(client.read().body == R"({"status":"ok"})");
}

TEST_CASE("JSON that is none is refused, with the place") {
  const Fixture at;
  const auto refused = [&](std::string_view body) {
    const Reply reply = at.ask(post("/v1/echo", body));
    CHECK(reply.status == 400);
    CHECK(error_type(reply) == "invalid_request_error");
    return reply.body;
  };
  CHECK(refused("{\"a\":\n 1,}").find("line 2, column 4") != std::string::npos);
  CHECK(refused(R"({"a":1,"a":2})").find("twice") != std::string::npos);
  refused(R"({"a":{"b":[{"c":1,"d":2,"c":3}]}})");
  refused(R"({"a":"\ud800"})");
  refused(R"({"a":"\udc00\ud800"})");
  refused("{\"a\":\"\xff\"}");
  refused(R"({"a":1e999})");
  refused(R"({"a":NaN})");
  refused(R"({"a":1} x)");
  refused(std::string(200, '[') + std::string(200, ']'));
  CHECK(at.ask(post("/api/echo", "{")).body.starts_with(R"({"error":")"));
}

TEST_CASE("a connection goes on, and requests that come together are answered in order") {
  const Fixture at;
  Client client = at.client();
  for (int i = 0; i < 3; ++i) CHECK(client.ask(get("/livez")).status == 200);
  std::string all;
  for (int i = 0; i < 200; ++i)
    all += i % 3 == 0   ? get("/livez")
           : i % 3 == 1 ? post("/v1/echo", fmt::format("[{}]", i))
                        : get("/no");
  client.say(all);
  for (int i = 0; i < 200; ++i) {
    const Reply reply = client.read();
    CHECK(reply.status == (i % 3 == 2 ? 404 : 200));
    if (i % 3 == 1) CHECK(reply.body.find(fmt::format("[{}]", i)) != std::string::npos);
  }
  const Reply last = client.ask(get("/livez", "Connection: close\r\n"));
  CHECK(last.header("Connection") == "close");
  CHECK(client.ended());
  CHECK(at.ask("GET /livez HTTP/1.0\r\n\r\n").header("Connection") == "close");
}

TEST_CASE("a client that ends its side is answered what it has asked for") {
  const Fixture at;
  Client client = at.client();
  client.say(get("/livez") + get("/v1/things/1") + get("/livez"));
  client.half_close();
  for (int i = 0; i < 3; ++i) CHECK(client.read().status == 200);
  CHECK(client.ended());
}

TEST_CASE("bodies come in pieces") {
  const Fixture at;
  Client client = at.client();
  const std::string head = "POST /v1/echo HTTP/1.1\r\nHost: localhost\r\n";
  client.say(head + "Transfer-Encoding: chunked\r\n\r\n2;x=y\r\n[1\r\n");
  client.say("3\r\n,2]\r\n0\r\n\r\n");
  CHECK(client.read().body.find(R"("body":[1,2])") != std::string::npos);

  client.say(head + "Content-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  CHECK(client.until("\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n");
  CHECK(client.ask("[3]").body.find(R"("body":[3])") != std::string::npos);
  CHECK(client.ask(head + "Content-Length: 3\r\nExpect: more\r\n\r\n").status == 417);
  CHECK(client.ended());
  // Nobody wants the body of what is refused.
  Client second = at.client();
  CHECK(second
            .ask("POST /no HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n"
                 "Expect: 100-continue\r\n\r\n")
            .status == 404);
  Client third = at.client();
  CHECK(third.ask(post("/no", "[1,2]")).status == 404);
  CHECK(third.ask(get("/livez")).status == 200);
  CHECK(at.ask(head + "Transfer-Encoding: gzip\r\n\r\n").status == 501);
  CHECK(at.ask(head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n").status == 400);
  CHECK(at.ask(head + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n").status == 400);
}

TEST_CASE("what is too long or too slow is refused") {
  Options options = quick();
  options.limits.body_bytes = 1000;
  options.limits.header = milliseconds(50);
  options.limits.body_pause = milliseconds(50);
  const Fixture at(options);
  const std::string head = "POST /api/echo HTTP/1.1\r\nHost: localhost\r\n";
  const Reply long_header = at.ask(get("/livez", "X: " + std::string(20'000, 'x') + "\r\n"));
  CHECK(long_header.status == 431);
  const Reply long_body = at.ask(post("/api/echo", std::string(1001, ' ')));
  CHECK(long_body.status == 413);
  CHECK(error_type(long_body) == "text");
  CHECK(at.ask(head + "Content-Length: 99999999999\r\n\r\n").status == 413);
  std::string chunks;
  for (int i = 0; i < 30; ++i) chunks += "64\r\n" + std::string(100, ' ') + "\r\n";
  CHECK(at.ask(head + "Transfer-Encoding: chunked\r\n\r\n" + chunks).status == 413);
  CHECK(at.ask(head + "Transfer-Encoding: chunked\r\n\r\n" + std::string(40'000, '0')).status ==
        400);
  CHECK(at.ask("GARBAGE\r\n\r\n").status == 400);

  CHECK(at.ask("GET /livez HT").status == 408);
  const Reply slow_body = at.ask(head + "Content-Length: 10\r\n\r\n[");
  CHECK(slow_body.status == 408);
  CHECK(error_type(slow_body) == "text");
  CHECK(at.ask(head + "Transfer-Encoding: chunked\r\n\r\n1\r\n[\r\n").status == 408);
}

TEST_CASE("bodies that never end, and connections without requests, come to an end") {
  Options options = quick();
  options.limits.timeout = milliseconds(100);
  options.limits.idle = milliseconds(50);
  const Fixture at(options);
  Client client = at.client();
  client.say("POST /v1/echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
  while (client.say("1\r\n \r\n")) std::this_thread::sleep_for(milliseconds(1));
  CHECK(at.client().ended());
}

TEST_CASE("keys are asked for where they are needed") {
  Options options = quick();
  options.api_keys = {"secret", "other"};
  const Fixture at(options);
  CHECK(at.ask(get("/health")).status == 200);
  for (const char* header :
       {"", "Authorization: Bearer wrong\r\n", "Authorization: Bearer secre\r\n",
        "Authorization: Basic secret\r\n", "X-Api-Key: \r\n"}) {
    const Reply reply = at.ask(get("/v1/things/1", header));
    CHECK(reply.status == 401);
    CHECK(error_type(reply) == "authentication_error");
  }
  for (const char* header : {"Authorization: Bearer secret\r\n", "authorization: bearer other\r\n",
                             "X-API-Key: other\r\n"})
    CHECK(at.ask(get("/v1/things/1", header)).status == 200);
}

TEST_CASE("pages of others are kept out") {
  Options options = quick();
  options.hosts = {"models.example"};
  options.origins = {"localhost", "https://app.example"};
  const Fixture at(options);
  const auto status_of_host = [&](const std::string& host) {
    return at.ask("GET /livez HTTP/1.1\r\nHost: " + host + "\r\n\r\n").status;
  };
  for (const char* host : {"localhost", "localhost:1", "127.0.0.1:80", "[::1]:80", "LOCALHOST",
                           "models.example:443", "a.localhost"})
    CHECK(status_of_host(host) == 200);
  for (const char* host :
       {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "192.168.1.1"})
    CHECK(status_of_host(host) == 403);
  CHECK(at.ask("GET /livez HTTP/1.1\r\n\r\n").status == 403);

  const std::string json = "Content-Type: application/json\r\n";
  const auto from = [&](const std::string& origin) {
    return at.ask(post("/change", "{}", json + "Origin: " + origin + "\r\n"));
  };
  for (const char* origin :
       {"http://localhost:5173", "http://127.0.0.1", "https://app.example", "http://localhost"}) {
    const Reply reply = from(origin);
    CHECK(reply.status == 200);
    CHECK(reply.header("Access-Control-Allow-Origin") == origin);
  }
  for (const char* origin : {"http://evil.example", "null", "https://app.example.evil.example",
                             "http://localhost.evil.example"}) {
    const Reply reply = from(origin);
    CHECK(reply.status == 403);
    CHECK(reply.header("Access-Control-Allow-Origin").empty());
  }
  CHECK(at.ask(post("/change", "{}", json + "Sec-Fetch-Site: cross-site\r\n")).status == 403);
  CHECK(at.ask(post("/change", "{}", json + "Sec-Fetch-Site: same-origin\r\n")).status == 200);
  // Forms can be sent from anywhere; what no browser sends may have any type.
  const std::string form = "Content-Type: text/plain\r\n";
  CHECK(at.ask(post("/v1/echo", "{}", form + "Origin: http://localhost\r\n")).status == 415);
  CHECK(at.ask(post("/v1/echo", "{}", "Sec-Fetch-Site: none\r\n")).status == 415);
  CHECK(at.ask(post("/v1/echo", "{}", form)).status == 200);

  const auto preflight = [&](const std::string& origin) {
    return at.ask("OPTIONS /v1/echo HTTP/1.1\r\nHost: localhost\r\nOrigin: " + origin +
                  "\r\nAccess-Control-Request-Method: POST\r\n"
                  "Access-Control-Request-Headers: content-type, authorization\r\n\r\n");
  };
  const Reply allowed = preflight("https://app.example");
  CHECK(allowed.status == 204);
  CHECK(allowed.header("Access-Control-Allow-Headers") == "content-type, authorization");
  CHECK(allowed.header("Access-Control-Allow-Methods").find("POST") != std::string::npos);
  CHECK(preflight("http://evil.example").header("Access-Control-Allow-Origin").empty());
}

TEST_CASE("requests have names") {
  const Fixture at;
  CHECK(at.ask(get("/livez", "X-Request-Id: abc-1\r\n")).header("X-Request-Id") == "abc-1");
  const std::string made = at.ask(get("/livez", "X-Request-Id: a b\r\n")).header("X-Request-Id");
  CHECK_FALSE(made.empty());
  CHECK(made != "a b");
  CHECK_FALSE(at.ask(get("/no")).header("X-Request-Id").empty());
}

TEST_CASE("a line is kept of each request, without what was said") {
  Options options = quick();
  std::mutex mutex;
  std::vector<base::Json> lines;
  options.on_request = [&](const base::Json& line) {
    const std::lock_guard lock(mutex);
    lines.push_back(line);
  };
  {
    const Fixture at(options);
    at.ask(post("/write", R"({"n_tokens":4,"prompt":7})"));
    at.ask(get("/no?secret=1"));
  }
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].find("path")->string() == "/write");
  CHECK(lines[0].find("model")->string() == "fake");
  CHECK(lines[0].find("prompt_tokens")->integer() == 7);
  CHECK(lines[0].find("generated_tokens")->integer() == 4);
  CHECK(lines[1].find("path")->string() == "/no");
  CHECK(lines[1].find("status")->integer() == 404);
}

TEST_CASE("before its models are there, a server says so") {
  const auto server = *Server::listen(quick(), test::kTestRoutes);
  const uint16_t port = server->addresses().at(0).port;
  CHECK(Client(port).ask(get("/health")).status == 503);
  CHECK(Client(port).ask(get("/livez")).status == 200);
  CHECK(Client(port).ask(post("/v1/echo", "{}")).status == 503);
  Options options = quick();
  options.listen[0].port = port;
  const auto taken = Server::listen(options);
  REQUIRE_FALSE(taken);
  CHECK(taken.error().message.find(std::to_string(port)) != std::string::npos);
}

TEST_CASE("a Unix socket is listened on, beside a port") {
  const std::string path = fmt::format("/tmp/puna-server-test-{}.sock", ::getpid());
  Options options = quick();
  options.listen.push_back({path, 0});
  {
    const Fixture at(options);
    CHECK(Client(path).ask(get("/livez")).status == 200);
    CHECK(at.ask(get("/livez")).status == 200);
    Options other = quick();
    other.listen = {{path, 0}};
    CHECK_FALSE(Server::listen(other));
  }
  CHECK(::access(path.c_str(), F_OK) != 0);
}

// Of this process, which has both ends.
size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  size_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

TEST_CASE("a connection on which nothing happens takes little memory, whatever was asked before") {
  const Fixture at;
  std::vector<Client> clients;
  const size_t before = resident_bytes();
  constexpr size_t kClients = 300;
  const std::string body = "\"" + std::string(100'000, 'x') + "\"";
  for (size_t i = 0; i < kClients; ++i) {
    clients.push_back(at.client());
    CHECK(clients.back().ask(post("/refuse", body)).status == 400);
  }
  const size_t after = resident_bytes();
  const size_t each = after < before ? 0 : (after - before) / kClients;
  CHECK((base::kSanitized || each <= 32 << 10));  // sanitizers keep what was freed
}

TEST_CASE("without descriptors for more, connections wait") {
  const Fixture at;
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit few{std::min<rlim_t>(before.rlim_cur, 256), before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  std::vector<int> others;
  for (int other = ::dup(fd); other >= 0; other = ::dup(fd)) others.push_back(other);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(at.port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  std::this_thread::sleep_for(milliseconds(20));  // in which it may try
  for (const int other : others) ::close(other);
  const std::string request = get("/livez", "Connection: close\r\n");
  CHECK(::send(fd, request.data(), request.size(), MSG_NOSIGNAL) > 0);
  char byte = 0;
  CHECK(::recv(fd, &byte, 1, 0) == 1);
  ::close(fd);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
}

}  // namespace
}  // namespace puna::server
