#include "io/http/http_client.h"

#include <doctest/doctest.h>

#include "io/http/test_server.h"

namespace puna::io {
namespace {

struct Fetched {
  base::Result<HttpHead> result;
  std::string body;
};

Fetched fetch(HttpRequest request) {
  request.plain_http = true;
  std::string body;
  auto result = http_request(
      std::move(request), {.body = [&](std::span<const std::byte> bytes) -> base::Result<void> {
        body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        return {};
      }});
  return {std::move(result), std::move(body)};
}

TEST_CASE("a GET gives the whole body, its length and its entity tag") {
  TestServer server({.body = "hello world"});
  const Fetched got = fetch({.url = server.url()});
  REQUIRE(got.result.has_value());
  CHECK(got.body == "hello world");
  CHECK(got.result->status == 200);
  CHECK(!got.result->range);
  CHECK(got.result->total_bytes == 11);
  CHECK(got.result->etag == "\"v1\"");
  CHECK(got.result->url == server.url());
}

TEST_CASE("an empty body still reaches the sink's head, and a refusal does not") {
  TestServer server({.body = ""});
  int told = 0;
  const HttpSink sink{.head = [&](const HttpHead& head) -> base::Result<void> {
    told = head.status;
    return {};
  }};
  REQUIRE(http_request({.url = server.url(), .plain_http = true}, sink).has_value());
  CHECK(told == 200);
  server.set({.status = 503});
  told = 0;
  const auto refused = http_request({.url = server.url(), .plain_http = true}, sink);
  REQUIRE(refused.has_value());
  CHECK(refused->status == 503);
  CHECK(told == 0);
}

TEST_CASE("a range is asked for, and a changed entity tag gives all") {
  TestServer server({.body = "hello world"});
  const Fetched rest = fetch({.url = server.url(), .range = HttpRange{6, 3}, .if_range = "\"v1\""});
  REQUIRE(rest.result.has_value());
  CHECK(rest.result->status == 206);
  REQUIRE(rest.result->range);
  CHECK(rest.result->range->first == 6);
  CHECK(rest.result->range->bytes == 3);
  CHECK(rest.result->total_bytes == 11);
  CHECK(rest.body == "wor");
  const Fetched whole =
      fetch({.url = server.url(), .range = HttpRange{6, 3}, .if_range = "\"v0\""});
  REQUIRE(whole.result.has_value());
  CHECK(whole.result->status == 200);
  CHECK(!whole.result->range);
  CHECK(whole.body == "hello world");
}

TEST_CASE("a redirect is followed, and credentials stay with their host") {
  TestServer target({.body = "moved here", .etag = "\"target\""});
  TestServer server({.redirect_to = target.url()});
  const Fetched got = fetch(
      {.url = server.url("/moved"), .headers = {"X-Any: yes"}, .authorization = "Bearer secret"});
  REQUIRE(got.result.has_value());
  CHECK(got.body == "moved here");
  CHECK(got.result->etag == "\"target\"");
  CHECK(got.result->url == target.url());
  CHECK(server.requests().at(0).find("Authorization: Bearer secret") != std::string::npos);
  CHECK(target.requests().at(0).find("secret") == std::string::npos);
  CHECK(target.requests().at(0).find("X-Any: yes") != std::string::npos);

  TestServer home([](const TestRequest& request) {
    if (request.path == "/a") return TestAnswer{.status = 307, .headers = {"Location: /b"}};
    return TestAnswer{.body = request.header("Authorization")};
  });
  CHECK(fetch({.url = home.url("/a"), .authorization = "Bearer secret"}).body == "Bearer secret");
}

TEST_CASE("redirects that lead nowhere good are not followed") {
  TestServer server(TestServer::Behaviour{});
  const auto code_to = [&](const std::string& location) {
    server.set({.redirect_to = location});
    const auto got = fetch({.url = server.url("/moved")});
    REQUIRE(!got.result.has_value());
    CHECK(got.result.error().message.find(server.url("/moved")) != std::string::npos);
    return got.result.error().code;
  };
  for (const char* location : {"file:///etc/passwd", "ftp://127.0.0.1/x", "http://169.254.169.254/",
                               "http://[fe80::1]/", "http://0.0.0.0/", "/moved", "//"}) {
    CAPTURE(location);
    CHECK(code_to(location) == base::ErrorCode::kCorrupt);
  }
  CHECK(server.requests().size() == 6 + 11);
}

TEST_CASE("plain http is asked only where that is allowed") {
  const TestServer server({.body = "x"});
  const auto refused = http_request({.url = server.url()}, {});
  REQUIRE(!refused.has_value());
  CHECK(refused.error().code == base::ErrorCode::kInvalidArgument);
  CHECK(refused.error().message.find("--insecure") != std::string::npos);
  CHECK(server.requests().empty());
}

TEST_CASE("a body is sent, and what the server says of a failure is kept") {
  TestServer server([](const TestRequest& request) {
    if (request.method == "POST")
      return TestAnswer{.status = 429, .headers = {"Retry-After: 7"}, .body = "slow\ndown"};
    return TestAnswer{.status = 201, .body = request.method + " " + request.body};
  });
  const std::string body(200'000, 'b');
  const auto read = [&](uint64_t offset, std::span<std::byte> out) -> base::Result<void> {
    std::copy_n(body.data() + offset, out.size(), reinterpret_cast<char*>(out.data()));
    return {};
  };
  const Fetched put =
      fetch({.method = "PUT", .url = server.url(), .body_bytes = body.size(), .body = read});
  REQUIRE(put.result.has_value());
  CHECK(put.result->status == 201);
  CHECK(put.body == "PUT " + body);
  const Fetched post = fetch({.method = "POST", .url = server.url()});
  REQUIRE(post.result.has_value());
  CHECK(post.result->retry_after_s == 7);
  CHECK(status_error(*post.result).message.find("(status 429): slow down.") != std::string::npos);
}

TEST_CASE("several requests run at once, and those left are ended without a word") {
  TestServer server({.body = "abc"});
  HttpPool pool;
  int n_done = 0;
  for (int i = 0; i < 8; ++i) {
    pool.start({.url = server.url(), .plain_http = true}, {},
               [&](const base::Result<HttpHead>& end) { n_done += end && end->ok() ? 1 : 0; });
  }
  CHECK(pool.running() == 8);
  while (pool.running() > 0) pool.wait(100);
  CHECK(n_done == 8);
  server.set({.body = std::string(100, 'x'), .pause_after = 10});
  pool.start({.url = server.url(), .plain_http = true}, {},
             [&](const base::Result<HttpHead>&) { ++n_done; });
  pool.wait(50);
  pool.clear();
  CHECK(pool.running() == 0);
  CHECK(n_done == 8);
}

TEST_CASE("a weak entity tag is not offered for resuming") {
  TestServer server({.body = "x", .etag = "W/\"v1\""});
  CHECK(fetch({.url = server.url()}).result->etag.empty());
}

TEST_CASE("what is cut, refused, or asked of no server fails with its URL and code") {
  TestServer server({.body = "hello world", .cut_after = 4});
  const Fetched cut = fetch({.url = server.url()});
  REQUIRE(!cut.result.has_value());
  CHECK(cut.result.error().code == base::ErrorCode::kNetwork);
  CHECK(cut.result.error().message.find(server.url()) != std::string::npos);

  std::string closed;
  {
    const TestServer gone(TestServer::Behaviour{});
    closed = gone.url();
  }
  CHECK(fetch({.url = closed}).result.error().code == base::ErrorCode::kNetwork);
  for (const char* url : {"file:///etc/hostname", "", "no url", "ftp://x/y"}) {
    CAPTURE(url);
    CHECK(fetch({.url = url}).result.error().code == base::ErrorCode::kInvalidArgument);
  }

  const auto result =
      http_request({.url = server.url(), .plain_http = true},
                   {.head = {}, .body = [](std::span<const std::byte>) {
                      return base::Result<void>(base::fail(base::ErrorCode::kIo, "full"));
                    }});
  REQUIRE(!result.has_value());
  CHECK(result.error().message == "full");
}

TEST_CASE("a cancelled request ends while the server keeps silent") {
  TestServer server({.body = std::string(1000, 'x'), .pause_after = 10});
  std::atomic<bool> cancel = false;
  const auto result =
      http_request({.url = server.url(), .plain_http = true, .cancel = &cancel},
                   {.head = {}, .body = [&](std::span<const std::byte>) -> base::Result<void> {
                      cancel = true;
                      return {};
                    }});
  REQUIRE(!result.has_value());
  CHECK(result.error().code == base::ErrorCode::kCancelled);
}

}  // namespace
}  // namespace puna::io
