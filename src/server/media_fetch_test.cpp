// Files by their addresses, from a server on loopback, which is allowed here and nowhere else.
#include "server/media_fetch.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/http/test_server.h"

using namespace puna;
using server::FetchLimits;

namespace {

const std::atomic<bool> kNever = false;

service::Request asking(const std::vector<std::string>& urls) {
  service::Request out;
  for (const std::string& url : urls) {
    out.media.push_back({.file = std::make_shared<const service::MediaFile>(
                             service::MediaFile{.name = "the picture", .bytes = {}, .url = url})});
  }
  return out;
}

std::string refused(const std::vector<std::string>& urls, const FetchLimits& limits) {
  service::Request request = asking(urls);
  const auto done = server::fetch_media(std::span(&request, 1), limits, kNever);
  REQUIRE(!done.has_value());
  CHECK(done.error().code == base::ErrorCode::kInvalidArgument);
  return done.error().text();
}

}  // namespace

TEST_CASE("a file is fetched once, and what is behind an address of ours is not") {
  io::TestServer server(io::TestServer::Behaviour{.body = std::string(3000, 'x')});
  const FetchLimits here{.reach = io::Reach::kMachine};
  service::Request request = asking({server.url(), server.url()});
  CHECK(server::wants_fetching(std::span(&request, 1)));
  const auto done = server::fetch_media(std::span(&request, 1), here, kNever);
  REQUIRE_MESSAGE(done.has_value(), done.error().text());
  CHECK(request.media[0].file->bytes.size() == 3000);
  CHECK(request.media[0].file == request.media[1].file);
  CHECK(!server::wants_fetching(std::span(&request, 1)));
  // What nobody else can reach is not asked, by whatever name.
  const FetchLimits usual;
  CHECK(refused({server.url()}, usual).find(server.url()) != std::string::npos);
  refused({"http://localhost:1/"}, usual);
  refused({"http://[::ffff:127.0.0.1]:1/"}, usual);
  refused({"http://169.254.169.254/latest"}, usual);
  refused({"http://[64:ff9b::7f00:1]:1/"}, usual);
}

TEST_CASE("limits of files that are fetched are met with both numbers") {
  io::TestServer server(io::TestServer::Behaviour{.body = std::string(3000, 'x')});
  const FetchLimits few{.most_bytes = 2999, .reach = io::Reach::kMachine};
  CHECK(refused({server.url()}, few).starts_with("The file has 3000 bytes or more, but 2999 may"));
  const FetchLimits together{.most_bytes_together = 4000, .reach = io::Reach::kMachine};
  CHECK(refused({server.url("/1"), server.url("/2")}, together)
            .starts_with("The file has 3000 bytes or more, but 1000 may"));
  const FetchLimits one{.most_files = 1, .reach = io::Reach::kMachine};
  CHECK(refused({server.url("/1"), server.url("/2")}, one) ==
        "The request names more than 1 addresses of files.");
}
