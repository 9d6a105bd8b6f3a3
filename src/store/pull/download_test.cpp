// Downloads from a server that does not always behave.
#include "store/pull/download.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "io/http/test_server.h"
#include "store/test_store.h"

namespace puna::store {
namespace {

using io::TestAnswer;
using io::TestRequest;
using io::TestServer;

constexpr uint64_t kPiece = 1 << 14;
constexpr uint64_t kChunk = 4 * kPiece;

struct Fixture {
  std::string body = some_bytes(21 * kPiece + 123);  // six chunks, the last one short
  TestServer server{TestServer::Behaviour{.body = body}};
  TestFolder folder;
  std::string part = folder.path() + "/x.part";
  PullOptions options = quick();

  // Chunks are as small as what is fetched here.
  BlobSource source() {
    BlobSource from{.url = server.url(), .digest = sha256_of(body), .bytes = body.size()};
    for (uint64_t first = 0; first < body.size(); first += kChunk)
      from.chunks.push_back({.first = first, .bytes = std::min(kChunk, body.size() - first)});
    return from;
  }
  // What has come takes its place under the same name.
  base::Result<Digest> get(BlobSource from) {
    Reporter reporter(options, "test");
    const uint64_t bytes = from.bytes;
    PUNA_TRY(const Digest digest, download(std::move(from), part, reporter));
    PUNA_TRY(PartFile::place(part, bytes, part));
    return digest;
  }
  base::Result<Digest> get() { return get(source()); }
  bool is_there() { return read_text(part, 1 << 30).value_or("") == body; }
  void set(TestServer::Handler handler) { server.set(std::move(handler)); }
  TestAnswer file(const TestRequest& request) const {
    return TestServer::serve_file({.body = body}, request);
  }
  // Which request this is, from 1.
  int next() { return ++n_requests; }
  std::atomic<int> n_requests = 0;
};

TEST_CASE_FIXTURE(Fixture, "a file comes in parts, each byte once") {
  uint64_t last = 0;
  options.progress = [&](const Progress& p) {
    CHECK(p.done_bytes >= last);
    last = p.done_bytes;
    CHECK(p.total_bytes == body.size());
  };
  const auto digest = get();
  REQUIRE_MESSAGE(digest.has_value(), digest.error().text());
  CHECK(*digest == sha256_of(body));
  CHECK(is_there());
  CHECK(last == body.size());
  CHECK(server.sent_bytes() == body.size());
  CHECK(server.requests().size() == 6);
}

TEST_CASE_FIXTURE(Fixture, "a slow server is asked for several parts at once") {
  std::atomic<int> n_now = 0, n_most = 0;
  set([&](const TestRequest& request) {
    const int n = ++n_now;
    for (int most = n_most; n > most && !n_most.compare_exchange_weak(most, n);) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    --n_now;
    return file(request);
  });
  const auto digest = get();
  REQUIRE_MESSAGE(digest.has_value(), digest.error().text());
  CHECK(is_there());
  CHECK(n_most > 1);
}

TEST_CASE_FIXTURE(Fixture, "a server that cuts is asked for the rest, and nothing twice") {
  server.set({.body = body, .cut_after = kPiece + 17});
  const auto digest = get();
  REQUIRE_MESSAGE(digest.has_value(), digest.error().text());
  CHECK(is_there());
  CHECK(server.sent_bytes() == body.size());
}

TEST_CASE_FIXTURE(Fixture, "a server without ranges gives all in one answer") {
  server.set({.body = body, .ranges = false});
  REQUIRE(get().has_value());
  CHECK(is_there());
  CHECK(server.requests().size() == 1);
  // Cut once, it has to begin anew.
  remove_file(part);
  set([&](const TestRequest& request) {
    return TestServer::serve_file(
        {.body = body, .ranges = false, .cut_after = next() == 1 ? 5 * kPiece : 0}, request);
  });
  REQUIRE(get().has_value());
  CHECK(is_there());
}

TEST_CASE_FIXTURE(Fixture, "what is no answer to the range asked for does not count") {
  struct Case {
    const char* what;
    TestAnswer (*answer)(const std::string& body, const TestRequest& request);
  };
  const Case cases[] = {{"200 for a range",
                         [](const std::string& bytes, const TestRequest&) {
                           return TestAnswer{.headers = {"ETag: \"v1\""}, .body = bytes};
                         }},
                        {"another range",
                         [](const std::string& bytes, const TestRequest& request) {
                           return TestServer::serve_file({.body = bytes, .shift_range = true},
                                                         request);
                         }},
                        {"no range",
                         [](const std::string& bytes, const TestRequest&) {
                           return TestAnswer{.status = 206, .body = bytes.substr(0, 4 * kPiece)};
                         }},
                        {"a longer body",
                         [](const std::string& bytes, const TestRequest& request) {
                           TestAnswer answer = TestServer::serve_file({.body = bytes}, request);
                           answer.body += "more";
                           answer.length = answer.body.size();
                           return answer;
                         }},
                        {"a shorter range",
                         [](const std::string& bytes, const TestRequest& request) {
                           TestAnswer answer = TestServer::serve_file({.body = bytes}, request);
                           answer.body.resize(1000);
                           answer.length = answer.body.size();
                           return answer;
                         }},
                        {"a server error", [](const std::string&, const TestRequest&) {
                           return TestAnswer{.status = 503, .headers = {"Retry-After: 0"}};
                         }}};
  for (const Case& each : cases) {
    CAPTURE(each.what);
    n_requests = 0;
    remove_file(part);
    set([&](const TestRequest& request) {
      return next() == 3 ? each.answer(body, request) : file(request);
    });
    const auto digest = get();
    REQUIRE_MESSAGE(digest.has_value(), digest.error().text());
    CHECK(is_there());
  }
}

TEST_CASE_FIXTURE(Fixture, "a server that never gives what was asked for is given up") {
  server.set({.body = body, .shift_range = true});
  auto failed = get();
  REQUIRE(!failed.has_value());
  CHECK(failed.error().code == base::ErrorCode::kNetwork);
  CHECK(server.requests().size() == kMaxTries);
  server.set({.status = 503});
  CHECK(get().error().message.find("503") != std::string::npos);
  server.set({.status = 404});
  CHECK(get().error().code == base::ErrorCode::kNotFound);
  CHECK(server.requests().size() == 2 * kMaxTries + 1);
  server.set({.body = body + "more"});
  failed = get();
  CHECK(failed.error().code == base::ErrorCode::kCorrupt);
  CHECK(failed.error().message.find(fmt::format("{} bytes, but {} are expected", body.size() + 4,
                                                body.size())) != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "Retry-After is obeyed, unless it is longer than anybody would wait") {
  options.backoff_ms = 60'000;
  set([&](const TestRequest& request) {
    if (next() > 1) return file(request);
    return TestAnswer{.status = 429, .headers = {"Retry-After: 1"}};
  });
  const auto start = std::chrono::steady_clock::now();
  REQUIRE(get().has_value());
  const auto took = std::chrono::steady_clock::now() - start;
  CHECK(took >= std::chrono::milliseconds(1000));
  set([](const TestRequest&) {
    return TestAnswer{.status = 503, .headers = {"Retry-After: 86400"}};
  });
  remove_file(part);
  CHECK(get().error().message.find("86400 s") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "wrong bytes that come once cost another look, not the file") {
  set([&](const TestRequest& request) {
    TestAnswer answer = file(request);
    if (next() == 4) answer.body[1000] ^= 1;
    return answer;
  });
  const auto digest = get();
  REQUIRE_MESSAGE(digest.has_value(), digest.error().text());
  CHECK(*digest == sha256_of(body));
  CHECK(is_there());
  CHECK(server.sent_bytes() <= 2 * body.size());
}

TEST_CASE_FIXTURE(Fixture,
                  "where the digests of chunks are known only the wrong one is asked again") {
  BlobSource from = source();
  from.chunks.clear();
  for (uint64_t first = 0; first < body.size(); first += 3 * kPiece) {
    const std::string_view chunk = std::string_view(body).substr(first, 3 * kPiece);
    from.chunks.push_back({.first = first, .bytes = chunk.size(), .known = sha256_of(chunk)});
  }
  set([&](const TestRequest& request) {
    TestAnswer answer = file(request);
    if (next() == 4) answer.body[1000] ^= 1;
    return answer;
  });
  REQUIRE(get(from).has_value());
  CHECK(is_there());
  CHECK(server.sent_bytes() == body.size() + 3 * kPiece);
  // A server that keeps giving them is given up.
  remove_file(part);
  set([&](const TestRequest& request) {
    std::string wrong = body;
    wrong[7 * kPiece] ^= 1;
    return TestServer::serve_file({.body = wrong}, request);
  });
  const uint64_t before = server.sent_bytes();
  const auto failed = get(from);
  REQUIRE(!failed.has_value());
  CHECK(failed.error().code == base::ErrorCode::kCorrupt);
  CHECK(server.sent_bytes() == before + body.size() + kMaxTries * 3 * kPiece);
  CHECK(folder.files().empty());
  // Where the whole is right, what was said of its chunks is not asked.
  server.set({.body = body});
  from.chunks[2].known = sha256_of("other");
  REQUIRE(get(from).has_value());
  CHECK(is_there());
  // Where it is wrong, and no chunk is, the chunks are compared as if nothing was said of them.
  remove_file(part);
  from.chunks[2].known = sha256_of(std::string_view(body).substr(6 * kPiece, 3 * kPiece));
  from.digest = sha256_of("another");
  CHECK(get(from).error().code == base::ErrorCode::kCorrupt);
  CHECK(folder.files().empty());
}

TEST_CASE_FIXTURE(Fixture, "a file with the wrong digest is refused and not kept") {
  server.set({.body = std::string(body.size(), 'x')});
  const auto failed = get();
  REQUIRE(!failed.has_value());
  CHECK(failed.error().code == base::ErrorCode::kCorrupt);
  CHECK(failed.error().message.find(sha256_of(body).hex()) != std::string::npos);
  CHECK(folder.files().empty());
  // Nor one that is another with each request.
  set([&](const TestRequest& request) {
    TestAnswer answer = file(request);
    for (size_t i = 0; i < answer.body.size(); i += 100)
      answer.body[i] ^= static_cast<char>(next());
    return answer;
  });
  CHECK(get().error().code == base::ErrorCode::kCorrupt);
  CHECK(folder.files().empty());
}

TEST_CASE_FIXTURE(Fixture, "a file that changes under way is begun anew, and not for ever") {
  set([&](const TestRequest& request) {
    const bool old = next() <= 3;
    return TestServer::serve_file(
        {.body = old ? std::string(body.size(), 'o') : body, .etag = old ? "\"old\"" : "\"new\""},
        request);
  });
  const auto digest = get();
  REQUIRE_MESSAGE(digest.has_value(), digest.error().text());
  CHECK(is_there());
  set([&](const TestRequest& request) {
    return TestServer::serve_file({.body = body, .etag = fmt::format("\"{}\"", next())}, request);
  });
  remove_file(part);
  CHECK(get().error().code == base::ErrorCode::kCorrupt);
}

TEST_CASE_FIXTURE(Fixture, "what was brought before is kept, checked, and gone on with") {
  std::atomic<bool> cancel = false;
  options.cancel = &cancel;
  set([&](const TestRequest& request) {
    return TestServer::serve_file({.body = body, .pause_after = next() == 4 ? kPiece + 5 : 0},
                                  request);
  });
  options.progress = [&](const Progress& p) {
    if (p.done_bytes >= body.size() - 4 * kPiece) cancel = true;
  };
  CHECK(get().error().code == base::ErrorCode::kCancelled);
  const uint64_t kept = PartFile::done_bytes(part, body.size());
  CHECK(kept > 8 * kPiece);
  cancel = false;
  options.progress = {};
  server.set({.body = body});
  const uint64_t before = server.sent_bytes();
  SUBCASE("the rest is asked for") {
    REQUIRE(get().has_value());
    CHECK(server.sent_bytes() - before <= body.size() - kept);
  }
  SUBCASE("a chunk that is another now is asked for again") {
    auto file = PartFile::open(part, body.size(), 6);
    REQUIRE(file->write(100, std::as_bytes(std::span("other", 5))).has_value());
    REQUIRE(get().has_value());
    CHECK(server.sent_bytes() - before <= body.size() - kept + 4 * kPiece);
  }
  SUBCASE("a chunk whose entry is torn is asked for again") {
    auto file = PartFile::open(part, body.size(), 6);
    REQUIRE(file->set_entry(1, {.bytes = 4 * kPiece, .checksum = {.low = 1, .high = 2}}));
    REQUIRE(get().has_value());
    CHECK(server.sent_bytes() - before <= body.size() - kept + 4 * kPiece);
  }
  SUBCASE("a server that knows ranges no more gives all, also where the beginning is missing") {
    auto file = PartFile::open(part, body.size(), 6);
    REQUIRE(file->set_entry(0, {}));
    server.set({.body = body, .ranges = false});
    REQUIRE(get().has_value());
  }
  SUBCASE("a part file of another format is dropped") {
    auto file = PartFile::open(part, body.size(), 6);
    REQUIRE(file->write(body.size() + 7, std::as_bytes(std::span("1", 1))));
    REQUIRE(get().has_value());
    CHECK(server.sent_bytes() - before == body.size());
  }
  SUBCASE("of another file all is asked for") {
    server.set({.body = body, .etag = "\"v2\""});
    REQUIRE(get().has_value());
  }
  SUBCASE("a server that knows ranges no more gives all") {
    server.set({.body = body, .ranges = false});
    REQUIRE(get().has_value());
  }
  SUBCASE("what is no part file of it is dropped") {
    REQUIRE(write_text(part, some_bytes(3 * kPiece)).has_value());
    REQUIRE(get().has_value());
    CHECK(server.sent_bytes() - before == body.size());
  }
  CHECK(is_there());
}

TEST_CASE_FIXTURE(Fixture, "what is complete needs no server, until it has its place") {
  Reporter reporter(options, "test");
  REQUIRE(download(source(), part, reporter).has_value());
  CHECK(PartFile::done_bytes(part, body.size()) == body.size());
  server.set({.status = 503});
  const size_t n_before = server.requests().size();
  const auto again = get();
  REQUIRE_MESSAGE(again.has_value(), again.error().text());
  CHECK(*again == sha256_of(body));
  CHECK(server.requests().size() == n_before);
  CHECK(is_there());
}

TEST_CASE_FIXTURE(Fixture, "without a digest only what has the same entity tag is gone on with") {
  const std::string old(body.size(), 'o');
  std::string old_tag = "\"v1\"", tag = "\"v1\"";
  bool is_same = false;
  SUBCASE("none") { old_tag = tag = ""; }
  SUBCASE("none any more") { tag = ""; }
  SUBCASE("none before") { old_tag = ""; }
  SUBCASE("another") { tag = "\"v2\""; }
  SUBCASE("a weak one") { old_tag = tag = "W/\"v1\""; }
  SUBCASE("the same") { is_same = true; }
  const auto strong = [](const std::string& each) { return each.starts_with('W') ? "" : each; };
  std::atomic<bool> cancel = false;
  options.cancel = &cancel;
  options.progress = [&](const Progress& p) { cancel = cancel || p.done_bytes >= kPiece; };
  server.set({.body = is_same ? body : old, .etag = old_tag, .pause_after = 2 * kPiece});
  BlobSource from = source();
  from.digest.reset();
  from.etag = strong(old_tag);
  CHECK(get(from).error().code == base::ErrorCode::kCancelled);
  CHECK(PartFile::done_bytes(part, body.size()) > 0);

  cancel = false;
  options.progress = {};
  server.set({.body = body, .etag = tag});
  from.etag = strong(tag);
  const uint64_t before = server.sent_bytes();
  const auto digest = get(from);
  REQUIRE_MESSAGE(digest.has_value(), digest.error().text());
  CHECK(*digest == sha256_of(body));
  CHECK(is_there());
  CHECK((server.sent_bytes() - before < body.size()) == is_same);
}

TEST_CASE_FIXTURE(Fixture, "a disk that fills up is named, and what fits is kept") {
  // A limit on the file size makes write() fail as a full disk does.
  struct rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  auto* old_handler = ::signal(SIGXFSZ, SIG_IGN);
  auto file = PartFile::open(part, body.size(), 6);
  const struct rlimit small{.rlim_cur = 6 * kPiece, .rlim_max = before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const auto failed = get();
  setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, old_handler);
  REQUIRE(!failed.has_value());
  CHECK(failed.error().code == base::ErrorCode::kIo);
  CHECK(failed.error().message.find("free some space") != std::string::npos);
  REQUIRE(get().has_value());
  CHECK(is_there());
}

TEST_CASE_FIXTURE(Fixture, "a refusal is answered with a new authorization, twice at most") {
  set([&](const TestRequest& request) {
    if (request.header("Authorization") == "Bearer 2") return file(request);
    return TestAnswer{.status = 401, .headers = {"WWW-Authenticate: Bearer"}};
  });
  BlobSource from = source();
  int n_asked = 0;
  from.authorization = "Bearer 1";
  from.authorize = [&](const io::HttpHead&) -> base::Result<std::string> {
    return fmt::format("Bearer {}", ++n_asked + 1);
  };
  REQUIRE(get(from).has_value());
  CHECK(n_asked == 1);
  remove_file(part);
  from.authorize = [&](const io::HttpHead&) -> base::Result<std::string> {
    ++n_asked;
    return "Bearer x";
  };
  CHECK(get(from).error().message.find("401") != std::string::npos);
  CHECK(n_asked == 3);
}

TEST_CASE_FIXTURE(Fixture, "an empty file is a file, and a probe tells the size of others") {
  body.clear();
  server.set({.body = ""});
  REQUIRE(get().has_value());
  CHECK(file_bytes(part) == 0);
  Reporter reporter(options, "test");
  CHECK(probe(server.url(), "", reporter).error().code != base::ErrorCode::kCancelled);
  for (const bool ranges : {true, false}) {
    server.set({.body = "12345", .ranges = ranges});
    const auto head = probe(server.url(), "", reporter);
    REQUIRE(head.has_value());
    CHECK(head->total_bytes == 5);
    CHECK(head->etag == "\"v1\"");
  }
  server.set({.status = 404});
  CHECK(probe(server.url(), "", reporter).error().code == base::ErrorCode::kNotFound);
}

TEST_CASE("waits grow, stay apart, and end") {
  for (int n_failed = 1; n_failed < 12; ++n_failed) {
    const auto delay = delay_before(n_failed, 1000, std::nullopt);
    REQUIRE(delay.has_value());
    CHECK(*delay <= std::chrono::seconds(30));
    if (n_failed < 5) {
      CHECK(*delay >= std::chrono::milliseconds(500 << (n_failed - 1)));
      CHECK(*delay <= std::chrono::milliseconds(1500 << (n_failed - 1)));
    }
  }
  CHECK(*delay_before(1, 1000, 7) == std::chrono::seconds(7));
}

}  // namespace
}  // namespace puna::store
