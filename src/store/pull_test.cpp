#include <doctest/doctest.h>
#include <sys/resource.h>

#include <csignal>
#include <thread>

#include "base/log.h"
#include "io/http/test_server.h"
#include "store/files.h"
#include "store/manifest.h"
#include "store/store.h"
#include "store/test_store.h"

namespace puna::store {
namespace {

std::string some_bytes(size_t n) {
  std::string bytes(n, '\0');
  for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<char>(i * 2654435761u >> 24);
  return bytes;
}

struct Fixture {
  std::string body = some_bytes(300'000);
  io::TestServer server{{.body = body}};
  TestEntry known{body, server.url()};
  TestFolder folder;
  Store store{folder.path(), {&known.entry, 1}};
  std::string partial = store.blob_path(known.sha256) + "-partial";
};

TEST_CASE_FIXTURE(Fixture,
                  "a pulled model is in the store with its licence, and is not fetched twice") {
  std::vector<std::string> phases;
  uint64_t last = 0;
  const PullOptions options{.progress = [&](const Progress& p) {
    if (phases.empty() || phases.back() != p.phase) phases.emplace_back(p.phase);
    last = p.done_bytes;
    CHECK(p.total_bytes == body.size());
  }};
  const auto path = store.pull("tiny", options);
  REQUIRE_MESSAGE(path.has_value(), path.error().text());
  CHECK(*path == store.blob_path(known.sha256));
  CHECK(*read_text(*path, 1 << 20) == body);
  CHECK(phases == std::vector<std::string>{"downloading", "verifying"});
  CHECK(last == body.size());
  CHECK(store.resolve("tiny")->path == *path);
  CHECK(folder.files().size() == 4);  // model, licence, config, manifest

  const auto manifest = read_manifest(
      *read_text(folder.path() + "/models/manifests/puna.local/catalogue/tiny/latest", 4096));
  REQUIRE(manifest.has_value());
  CHECK(*read_text(store.blob_path(manifest->find(kLicenseType)->sha256), 4096) ==
        "Free for tests.\n");
  CHECK(store.list()->at(0).family == "llama");

  const size_t asked = server.requests().size();
  CHECK(store.pull("tiny:latest", {}).has_value());
  CHECK(server.requests().size() == asked);
}

TEST_CASE_FIXTURE(Fixture, "a transfer that breaks off is taken up where it stopped") {
  server.set({.body = body, .cut_after = 100'000});
  const auto path = store.pull("tiny", {});
  REQUIRE_MESSAGE(path.has_value(), path.error().text());
  CHECK(*read_text(*path, 1 << 20) == body);
  const auto requests = server.requests();
  REQUIRE(requests.size() == 3);
  CHECK(requests[0].find("Range:") == std::string::npos);
  CHECK(requests[1].find("Range: bytes=100000-\r\n") != std::string::npos);
  CHECK(requests[1].find("If-Range: \"v1\"\r\n") != std::string::npos);
  CHECK(requests[2].find("Range: bytes=200000-\r\n") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a cancelled pull keeps its bytes and the next one goes on") {
  server.set({.body = body, .pause_after = 120'000});
  std::atomic<bool> cancel = false;
  const std::atomic<bool> cancelled_before = true;
  CHECK(store.pull("tiny", {.cancel = &cancelled_before}).error().code ==
        base::ErrorCode::kCancelled);
  CHECK(server.requests().empty());

  std::thread user([&] {
    while (file_bytes(partial) <= 0) std::this_thread::yield();
    cancel = true;
  });
  const auto stopped = store.pull("tiny", {.cancel = &cancel});
  user.join();
  REQUIRE(!stopped.has_value());
  CHECK(stopped.error().code == base::ErrorCode::kCancelled);
  const int64_t kept = file_bytes(partial);
  CHECK(kept > 0);
  CHECK(store.resolve("tiny")->needs_pull());

  server.set({.body = body});
  CHECK(store.pull("tiny", {}).has_value());
  CHECK(server.requests().back().find("Range: bytes=" + std::to_string(kept) + "-") !=
        std::string::npos);
  CHECK(folder.files().size() == 4);
}

TEST_CASE_FIXTURE(Fixture, "a file that changed on the server is taken from its beginning") {
  REQUIRE(write_text(partial, "stale bytes"));
  REQUIRE(write_text(partial + "-etag", server.url() + "\n\"v0\""));
  CHECK(store.pull("tiny", {}).has_value());
  CHECK(server.requests().size() == 1);
}

TEST_CASE_FIXTURE(Fixture,
                  "a partial file whose bytes are wrong costs one more download, not the pull") {
  REQUIRE(write_text(partial, "wrong bytes"));
  REQUIRE(write_text(partial + "-etag", server.url() + "\n\"v1\""));
  CHECK(store.pull("tiny", {}).has_value());
  CHECK(server.requests().size() == 2);
}

TEST_CASE_FIXTURE(Fixture, "a file with the wrong hash is refused and not kept") {
  server.set({.body = std::string(body.size(), 'x')});
  const auto failed = store.pull("tiny", {});
  REQUIRE(!failed.has_value());
  CHECK(failed.error().message.find(known.sha256) != std::string::npos);
  CHECK(folder.files().empty());
}

TEST_CASE_FIXTURE(Fixture, "a file of another length is refused before it is read") {
  server.set({.body = body + "more"});
  const auto failed = store.pull("tiny", {});
  REQUIRE(!failed.has_value());
  CHECK(failed.error().message.find("300004 bytes, but 300000 are expected") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a server that gives nothing fails with its name and status") {
  server.set({.status = 503});
  const auto failed = store.pull("tiny", {});
  REQUIRE(!failed.has_value());
  CHECK(failed.error().code == base::ErrorCode::kNetwork);
  CHECK(failed.error().message.find("503") != std::string::npos);
  CHECK(failed.error().message.find(server.url()) != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "two pulls at once: the second says who is at it") {
  const auto lock = FileLock::take([&] {
    REQUIRE(make_folders(folder.path() + "/models/blobs").has_value());
    return store.blob_path(known.sha256) + "-lock";
  }());
  REQUIRE(lock.has_value());
  const auto failed = store.pull("tiny", {});
  REQUIRE(!failed.has_value());
  CHECK(failed.error().message.find("is pulling this model now") != std::string::npos);
  CHECK(server.requests().empty());
}

TEST_CASE_FIXTURE(Fixture, "a disk that fills up while pulling is named, and what fits is kept") {
  // A limit on the file size makes write() fail as a full disk does.
  struct rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  auto* old_handler = ::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit small{.rlim_cur = 50'000, .rlim_max = before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const auto failed = store.pull("tiny", {});
  setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, old_handler);
  REQUIRE(!failed.has_value());
  CHECK(failed.error().code == base::ErrorCode::kIo);
  CHECK(failed.error().message.find("free some space") != std::string::npos);
  CHECK(store.resolve("tiny")->needs_pull());
  CHECK(store.pull("tiny", {}).has_value());
}

TEST_CASE_FIXTURE(Fixture, "a model larger than the disk is refused before anything is fetched") {
  known.entry.bytes = uint64_t{1} << 60;
  const auto failed = store.pull("tiny", {});
  REQUIRE(!failed.has_value());
  CHECK(failed.error().code == base::ErrorCode::kIo);
  CHECK(failed.error().message.find("MB free") != std::string::npos);
  CHECK(server.requests().empty());
}

TEST_CASE_FIXTURE(Fixture, "a blob left without its manifest is checked and used") {
  REQUIRE(write_text(store.blob_path(known.sha256), body));
  CHECK(store.pull("tiny", {}).has_value());
  CHECK(server.requests().empty());

  REQUIRE(store.remove("tiny").has_value());
  REQUIRE(write_text(store.blob_path(known.sha256), std::string(body.size(), 'x')));
  CHECK(store.pull("tiny", {}).has_value());
  CHECK(server.requests().size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "a model that is damaged at its right size is said to be, and mended") {
  REQUIRE(store.pull("tiny", {}).has_value());
  const std::string blob = store.blob_path(known.sha256);
  std::string damaged = body;
  damaged[body.size() / 2] ^= 1;
  REQUIRE(write_text(blob, damaged));
  std::string said;
  base::set_log_sink([&](base::LogLevel, std::string_view text) { said += text; },
                     base::LogLevel::kWarning);
  const auto path = store.pull("tiny", {});
  base::set_log_sink(base::log_to_stderr, base::LogLevel::kWarning);
  REQUIRE_MESSAGE(path.has_value(), path.error().text());
  CHECK(*read_text(blob, 1 << 20) == body);
  CHECK(server.requests().size() == 2);
  CHECK(said.find(blob) != std::string::npos);
  CHECK(said.find("damaged") != std::string::npos);
  CHECK(folder.files().size() == 4);
}

TEST_CASE_FIXTURE(Fixture, "only catalogue models can be pulled") {
  const auto failed = store.pull("other", {});
  REQUIRE(!failed.has_value());
  CHECK(failed.error().code == base::ErrorCode::kNotFound);
  CHECK(failed.error().message.find("It has: tiny.") != std::string::npos);
}

}  // namespace
}  // namespace puna::store
