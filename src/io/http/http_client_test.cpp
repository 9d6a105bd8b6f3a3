#include "io/http/http_client.h"

#include <doctest/doctest.h>

#include "io/http/test_server.h"

namespace puna::io {
namespace {

struct Fetched {
  base::Result<void> result;
  HttpHead head;
  std::string body;
};

Fetched fetch(const HttpRequest& request) {
  Fetched fetched;
  fetched.result = http_get(
      request, {.head = [&](const HttpHead& head) -> base::Result<void> {
                  fetched.head = head;
                  return {};
                },
                .body = [&](std::span<const std::byte> bytes) -> base::Result<void> {
                  fetched.body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
                  return {};
                }});
  return fetched;
}

TEST_CASE("a GET gives the whole body, its length and its entity tag") {
  TestServer server({.body = "hello world"});
  const Fetched got = fetch({.url = server.url()});
  REQUIRE(got.result.has_value());
  CHECK(got.body == "hello world");
  CHECK(got.head.status == 200);
  CHECK(got.head.offset == 0);
  CHECK(got.head.total_bytes == 11);
  CHECK(got.head.etag == "\"v1\"");
}

TEST_CASE("an empty body still reaches the sink's head") {
  TestServer server({.body = ""});
  const Fetched got = fetch({.url = server.url()});
  REQUIRE(got.result.has_value());
  CHECK(got.head.status == 200);
  CHECK(got.body.empty());
}

TEST_CASE("an offset asks for the rest, and a changed entity tag starts over") {
  TestServer server({.body = "hello world"});
  const Fetched rest = fetch({.url = server.url(), .offset = 6, .if_range = "\"v1\""});
  REQUIRE(rest.result.has_value());
  CHECK(rest.head.status == 206);
  CHECK(rest.head.offset == 6);
  CHECK(rest.head.total_bytes == 11);
  CHECK(rest.body == "world");

  const Fetched whole = fetch({.url = server.url(), .offset = 6, .if_range = "\"v0\""});
  REQUIRE(whole.result.has_value());
  CHECK(whole.head.status == 200);
  CHECK(whole.head.offset == 0);
  CHECK(whole.body == "hello world");
}

TEST_CASE("a redirect is followed and only the last answer's headers count") {
  TestServer target({.body = "moved here", .etag = "\"target\""});
  TestServer server({.redirect_to = target.url()});
  const Fetched got = fetch({.url = server.url("/moved")});
  REQUIRE(got.result.has_value());
  CHECK(got.body == "moved here");
  CHECK(got.head.etag == "\"target\"");
}

TEST_CASE("a weak entity tag is not offered for resuming") {
  TestServer server({.body = "x", .etag = "W/\"v1\""});
  CHECK(fetch({.url = server.url()}).head.etag.empty());
}

TEST_CASE("failures name the URL and carry their code") {
  TestServer server({.body = "hello world"});
  const auto code_with = [&](TestServer::Behaviour how, HttpRequest request) {
    server.set(std::move(how));
    request.url = server.url();
    const Fetched got = fetch(request);
    REQUIRE(!got.result.has_value());
    CHECK(got.result.error().message.find(request.url) != std::string::npos);
    return got.result.error().code;
  };
  CHECK(code_with({.status = 404}, {}) == base::ErrorCode::kNotFound);
  CHECK(code_with({.status = 503}, {}) == base::ErrorCode::kNetwork);
  CHECK(code_with({.body = "hello world", .cut_after = 4}, {}) == base::ErrorCode::kNetwork);
  CHECK(code_with({.body = "hello world", .shift_range = true}, {.offset = 3}) ==
        base::ErrorCode::kNetwork);
  CHECK(code_with({.body = "hello world"}, {.offset = 99}) == base::ErrorCode::kNetwork);
}

TEST_CASE("a refused connection, another scheme and a sink's error are told apart") {
  std::string closed;
  {
    const TestServer server({});
    closed = server.url();
  }
  CHECK(fetch({.url = closed}).result.error().code == base::ErrorCode::kNetwork);
  CHECK(fetch({.url = "file:///etc/hostname"}).result.error().code ==
        base::ErrorCode::kInvalidArgument);

  TestServer server({.body = "hello world"});
  const auto result = http_get(
      {.url = server.url()}, {.head = {}, .body = [](std::span<const std::byte>) {
                                return base::Result<void>(base::fail(base::ErrorCode::kIo, "full"));
                              }});
  REQUIRE(!result.has_value());
  CHECK(result.error().message == "full");
}

TEST_CASE("a cancelled request ends while the server keeps silent") {
  TestServer server({.body = std::string(1000, 'x'), .pause_after = 10});
  std::atomic<bool> cancel = false;
  const auto result =
      http_get({.url = server.url(), .cancel = &cancel},
               {.head = {}, .body = [&](std::span<const std::byte>) -> base::Result<void> {
                  cancel = true;
                  return {};
                }});
  REQUIRE(!result.has_value());
  CHECK(result.error().code == base::ErrorCode::kCancelled);
}

}  // namespace
}  // namespace puna::io
