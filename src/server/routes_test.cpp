#include "server/routes.h"

#include <doctest/doctest.h>

#include "server/target.h"

using namespace puna::server;

namespace {

constexpr Route kRoutes[] = {
    {"GET", "/a", puna::api::Dialect::kOpenAi, Own::kLive},
    {"POST", "/a", puna::api::Dialect::kOpenAi, Own::kLive},
    {"GET", "/a/{id}", puna::api::Dialect::kOpenAi, Own::kLive},
    {"DELETE", "/files/{path...}", puna::api::Dialect::kOpenAi, Own::kLive},
};

Match look(std::string_view method, std::string_view path) {
  const auto target = parse_target(path);
  REQUIRE(target.has_value());
  return find_route(kRoutes, method, target->segments);
}

}  // namespace

TEST_CASE("a route is found by its method and path, HEAD as GET") {
  CHECK(look("GET", "/a").route == &kRoutes[0]);
  CHECK(look("HEAD", "/a").route == &kRoutes[0]);
  CHECK(look("POST", "/a?b=c").route == &kRoutes[1]);
  const Match one = look("GET", "/a/x%2Fy%20z");
  CHECK(one.route == &kRoutes[2]);
  CHECK(one.path_values == std::vector<std::string>{"x/y z"});
  const Match all = look("DELETE", "/files/b/c/d");
  CHECK(all.route == &kRoutes[3]);
  CHECK(all.path_values == std::vector<std::string>{"b/c/d"});
}

TEST_CASE("a wrong method tells which are right, and a wrong path that there is none") {
  const Match wrong = look("DELETE", "/a");
  CHECK(wrong.route == nullptr);
  CHECK(wrong.allow == "GET, HEAD, POST, OPTIONS");
  for (const char* path : {"/", "/b", "/a/b/c", "/files", "/a/"}) {
    const Match none = look("GET", path);
    CHECK_MESSAGE(none.route == nullptr, path);
    CHECK_MESSAGE(none.allow.find("GET") == std::string::npos, path);
  }
}

TEST_CASE("every route begins with a slash and is there once") {
  for (const Route& route : routes()) {
    CAPTURE(route.path);
    CHECK(route.path.starts_with('/'));
    int n = 0;
    for (const Route& other : routes())
      n += other.method == route.method && other.path == route.path;
    CHECK(n == 1);
  }
}

TEST_CASE("targets are decoded, and broken ones refused") {
  const auto target = parse_target("/a%20b?x=1&y=a+b%26&z");
  REQUIRE(target.has_value());
  CHECK(target->path == "/a b");
  CHECK(target->query ==
        std::vector<std::pair<std::string, std::string>>{{"x", "1"}, {"y", "a b&"}, {"z", ""}});
  CHECK(parse_target("http://host:1/a")->path == "/a");
  for (const char* broken : {"/%", "/%2", "/%zz", "/a?b=%f"}) CHECK_FALSE(parse_target(broken));
  CHECK(host_of("LOCALHOST:8080") == "localhost");
  CHECK(host_of("[::1]:8080") == "::1");
}
