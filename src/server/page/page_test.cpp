// The page over files made here, and over sockets. tests/server/page_test.py asks the program.
#include "server/page/page.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <algorithm>
#include <set>

#include "base/check.h"
#include "server/page/policies.h"
#include "server/routes.h"
#include "server/target.h"

namespace puna::server {

std::span<const PageFile> none_page_files();  // of none/, packed as the page is

namespace {

using api::HttpReply;
using api::HttpRequest;

std::string zipped(std::string_view text) {
  constexpr int kGzipOnly = 16 + MAX_WBITS;
  z_stream stream{};
  PUNA_CHECK(::deflateInit2(&stream, 9, Z_DEFLATED, kGzipOnly, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(::deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  PUNA_CHECK(::deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

const std::string kText(5000, 'x');
const std::string kZipped = zipped(kText);

const PageFile kFiles[] = {
    {"/_app/immutable/a.js",
     "text/javascript",
     "aa",
     "",
     "",
     true,
     kText.size(),
     {},
     kZipped,
     "brotli"},
    {"/empty.txt", "text/plain", "ee", "", "", false, 0, {}, {}, {}},
    {"/font.woff2", "font/woff2", "ff", "", "", false, 4, "font", {}, {}},
    {"/index.html",
     "text/html",
     "11",
     "'sha256-A' 'sha256-B'",
     "",
     false,
     kText.size(),
     {},
     kZipped,
     {}},
    {"/puna/worker.js", "text/javascript", "bb", "", "", false, 1, "w", {}, {}},
    {"/sandbox.html", "text/html", "cc", "'sha256-C'", "", false, 1, "s", {}, {}},
};

std::optional<HttpReply> ask(const Page& page, std::string path,
                             std::vector<std::pair<std::string, std::string>> headers = {},
                             std::string method = "GET") {
  HttpRequest request;
  request.method = std::move(method);
  request.path = std::move(path);
  request.headers = std::move(headers);
  return page.answer(request);
}

std::string header(const HttpReply& reply, std::string_view name) {
  const auto at =
      std::ranges::find(reply.headers, name, [](const auto& pair) { return pair.first; });
  return at == reply.headers.end() ? "" : at->second;
}

}  // namespace

TEST_CASE("a file of the page comes as the client takes it, and is the same") {
  const Page page(kFiles);
  const auto plain = ask(page, "/_app/immutable/a.js");
  REQUIRE(plain.has_value());
  CHECK(plain->status == 200);
  CHECK(plain->body == kText);
  CHECK(header(*plain, "Content-Encoding").empty());
  CHECK(header(*plain, "Cache-Control") == "public, max-age=31536000, immutable");
  CHECK(header(*plain, "Vary") == "Accept-Encoding");
  const auto gzip = ask(page, "/_app/immutable/a.js", {{"accept-encoding", "gzip, deflate"}});
  CHECK(gzip->body == kZipped);
  CHECK(header(*gzip, "Content-Encoding") == "gzip");
  const auto brotli = ask(page, "/_app/immutable/a.js", {{"accept-encoding", "gzip, br"}});
  CHECK(brotli->body == "brotli");
  CHECK(header(*brotli, "Content-Encoding") == "br");
  const std::set<std::string> tags = {header(*plain, "ETag"), header(*gzip, "ETag"),
                                      header(*brotli, "ETag")};
  CHECK(tags.size() == 3);
  // Again, as it was inflated before.
  CHECK(ask(page, "/_app/immutable/a.js")->body == kText);
  CHECK(ask(page, "/font.woff2", {{"accept-encoding", "gzip"}})->body == "font");
  CHECK(ask(page, "/empty.txt")->body.empty());
  const auto refused = ask(page, "/font.woff2", {{"accept-encoding", "gzip, identity;q=0"}});
  CHECK(refused->status == 406);
  CHECK(refused->body.find("identity;q=0") != std::string::npos);
}

TEST_CASE("a client that has the file is told so, by the tag of the form that it gets") {
  const Page page(kFiles);
  const std::string tag = header(*ask(page, "/index.html"), "ETag");
  for (const std::string& known : {tag, "W/" + tag, "\"a\", " + tag, std::string("*")}) {
    const auto reply = ask(page, "/index.html", {{"if-none-match", known}});
    CHECK_MESSAGE(reply->status == 304, known);
    CHECK(reply->body.empty());
    CHECK(header(*reply, "ETag") == tag);
    CHECK(header(*reply, "Cache-Control") == "no-cache");
  }
  CHECK(ask(page, "/index.html", {{"if-none-match", "\"other\""}})->status == 200);
  CHECK(ask(page, "/index.html", {{"if-none-match", tag}, {"accept-encoding", "gzip"}})->status ==
        200);
}

TEST_CASE("only a browser gets the page at /") {
  const Page page(kFiles);
  CHECK_FALSE(ask(page, "/").has_value());
  CHECK_FALSE(ask(page, "/", {{"accept", "*/*"}}).has_value());
  CHECK_FALSE(ask(page, "/", {}, "POST").has_value());
  const auto opened = ask(page, "/", {{"accept", "text/html,application/xhtml+xml,*/*;q=0.8"}});
  REQUIRE(opened.has_value());
  CHECK(opened->body == kText);
  CHECK(header(*opened, "Vary") == "Accept, Accept-Encoding, Sec-Fetch-Site");
  CHECK(ask(page, "/", {{"accept", "*/*"}, {"sec-fetch-site", "same-origin"}})->status == 200);
  CHECK(ask(page, "/", {{"accept", "text/html"}}, "HEAD")->status == 200);
}

TEST_CASE("what is no file of the page is nothing, and files are only read") {
  const Page page(kFiles);
  for (const char* path : {"", "/index", "/index.html/", "//index.html", "/../index.html", "/_app",
                           "/_app/immutable/", "/index.html%00"})
    CHECK_MESSAGE(!ask(page, path).has_value(), path);
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS"}) {
    const auto reply = ask(page, "/index.html", {}, method);
    CHECK(reply->status == 405);
    CHECK(header(*reply, "Allow") == "GET, HEAD, OPTIONS");
  }
  CHECK_FALSE(ask(Page({}), "/index.html").has_value());
}

TEST_CASE("every file has the headers of isolation, and the policy of its path") {
  const Page page(kFiles);
  for (const PageFile& file : kFiles) {
    const auto reply = ask(page, std::string(file.path));
    CHECK(header(*reply, "Content-Security-Policy") == policy_of(file));
    CHECK(header(*reply, "Cross-Origin-Opener-Policy") == "same-origin");
    CHECK(header(*reply, "Cross-Origin-Embedder-Policy") == "require-corp");
    CHECK(header(*reply, "X-Content-Type-Options") == "nosniff");
    CHECK(header(*reply, "Referrer-Policy") == "no-referrer");
  }
  const std::string index = policy_of(kFiles[3]);
  CHECK(
      index.starts_with("default-src 'none'; script-src 'self' 'wasm-unsafe-eval' 'sha256-A' "
                        "'sha256-B'; style-src 'self'; "));
  CHECK(index.ends_with("frame-ancestors 'none'"));
  const std::string sandbox = policy_of(kFiles[5]);
  CHECK(sandbox.starts_with("sandbox allow-scripts; default-src 'none'; "));
  CHECK(sandbox.find("connect-src 'none'") != std::string::npos);
  CHECK(sandbox.find("'self';") == std::string::npos);
  CHECK(policy_of(kFiles[4]).find("connect-src 'self' https:") != std::string::npos);
}

TEST_CASE("a build without the page says how to get it, and its style is in its policy") {
  REQUIRE(none_page_files().size() == 1);
  const PageFile& file = none_page_files().front();
  const auto reply = ask(Page(none_page_files()), "/", {{"accept", "text/html"}});
  REQUIRE(reply.has_value());
  CHECK(reply->content_type == "text/html; charset=utf-8");
  CHECK(reply->body.find("tools/setup --web") != std::string::npos);
  CHECK(reply->body.find("PUNA_WEB_ARCHIVE") != std::string::npos);
  CHECK(file.inline_scripts.empty());
  CHECK(policy_of(file).find(std::string("style-src 'self' ") + std::string(file.inline_styles)) !=
        std::string::npos);
}

TEST_CASE("no file of the page lies where a route is, and rows are in their order") {
  CHECK(std::ranges::is_sorted(page_files(), {}, &PageFile::path));
  REQUIRE(!page_files().empty());
  for (const PageFile& file : page_files()) {
    const auto target = parse_target(file.path);
    REQUIRE(target.has_value());
    const Match match = find_route(routes(), "GET", target->segments);
    CHECK_MESSAGE((!match.route && match.allow.empty()), file.path);
    CHECK_MESSAGE((file.n_bytes == 0 || file.plain.empty() != file.gzip.empty()), file.path);
  }
}

}  // namespace puna::server
