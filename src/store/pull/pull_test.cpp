// Pulling models of the catalogue and of addresses: what is fetched, what is kept, what is said.
#include <doctest/doctest.h>

#include <thread>

#include "base/log.h"
#include "io/http/test_server.h"
#include "store/locks.h"
#include "store/pull/fetch.h"
#include "store/pull/part_file.h"
#include "store/test_store.h"

namespace puna::store {
namespace {

struct Fixture {
  std::string body = some_bytes(300'000);
  io::TestServer server{io::TestServer::Behaviour{.body = body}};
  TestEntry known{body, server.url()};
  TestFolder folder;
  Store store{folder.path(), {&known.entry, 1}};
  const Layout& layout = store.layout();
  PullOptions options = quick();
  static constexpr size_t kFiles = 5;  // model, licence, config, manifest, version
};

TEST_CASE_FIXTURE(Fixture,
                  "a pulled model is in the store with its licence, and is not fetched twice") {
  std::vector<std::string> phases;
  uint64_t last = 0;
  options.progress = [&](const Progress& p) {
    if (p.digest != known.digest) return;
    if (phases.empty() || phases.back() != p.phase) phases.emplace_back(p.phase);
    last = p.done_bytes;
    CHECK(p.total_bytes == body.size());
  };
  const auto path = store.pull("tiny", options);
  REQUIRE_MESSAGE(path.has_value(), path.error().text());
  CHECK(*path == layout.blob(known.digest));
  CHECK(*read_text(*path, 1 << 20) == body);
  CHECK(phases == std::vector<std::string>{"downloading"});
  CHECK(last == body.size());
  CHECK(store.resolve("tiny")->path == *path);
  CHECK(folder.files().size() == kFiles);

  const auto manifest =
      load_manifest(folder.path() + "/models/manifests/puna.local/catalogue/tiny/latest");
  REQUIRE(manifest.has_value());
  CHECK(*read_text(layout.blob(manifest->find(kLicenseType)->digest), 4096) == "Free for tests.\n");
  CHECK(store.list()->at(0).family == "llama");

  const size_t asked = server.requests().size();
  CHECK(store.pull("TINY:latest", options).has_value());
  CHECK(server.requests().size() == asked);
}

TEST_CASE_FIXTURE(Fixture, "a cancelled pull keeps its bytes and the next one goes on") {
  server.set({.body = body, .pause_after = 120'000});
  std::atomic<bool> cancel = true;
  options.cancel = &cancel;
  CHECK(store.pull("tiny", options).error().code == base::ErrorCode::kCancelled);
  CHECK(server.requests().empty());

  cancel = false;
  options.progress = [&](const Progress& p) { cancel = cancel || p.done_bytes >= 120'000; };
  CHECK(store.pull("tiny", options).error().code == base::ErrorCode::kCancelled);
  CHECK(PartFile::done_bytes(layout.path(Layout::Kind::kPart, known.digest), body.size()) ==
        120'000);
  CHECK(store.resolve("tiny")->needs_pull());

  server.set({.body = body});
  cancel = false;
  options.progress = {};
  CHECK(store.pull("tiny", options).has_value());
  CHECK(server.requests().back().find("Range: bytes=120000-299999\r\n") != std::string::npos);
  CHECK(folder.files().size() == kFiles);
}

TEST_CASE_FIXTURE(Fixture, "plain http is refused unless it is allowed") {
  const auto failed = store.pull("tiny", {});
  REQUIRE(!failed.has_value());
  CHECK(failed.error().message.find("--insecure") != std::string::npos);
  CHECK(server.requests().empty());
}

TEST_CASE_FIXTURE(Fixture, "a server that gives nothing fails with its name and status") {
  server.set({.status = 503});
  const auto failed = store.pull("tiny", options);
  REQUIRE(!failed.has_value());
  CHECK(failed.error().code == base::ErrorCode::kNetwork);
  CHECK(failed.error().message.find("503") != std::string::npos);
  CHECK(failed.error().message.find(server.url()) != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "two pulls at once read the model once, and the second watches") {
  std::atomic<bool> go = false;
  server.set([&](const io::TestRequest& request) {
    while (!go) std::this_thread::yield();
    return io::TestServer::serve_file({.body = body}, request);
  });
  base::Result<std::string> first, second;
  std::thread one([&] { first = store.pull("tiny", options); });
  while (server.requests().empty()) std::this_thread::yield();
  PullOptions watching = options;
  watching.progress = [&](const Progress& p) {
    if (p.source == "another pull") go = true;
  };
  std::thread two([&] { second = Store(folder.path(), {&known.entry, 1}).pull("tiny", watching); });
  one.join();
  two.join();
  REQUIRE(first.has_value());
  REQUIRE(second.has_value());
  CHECK(go);
  CHECK(server.requests().size() == 1);
  CHECK(folder.files().size() == kFiles);
}

TEST_CASE_FIXTURE(Fixture, "a pull that only watches can be cancelled") {
  REQUIRE(layout.prepare().has_value());
  const auto lock = FileLock::try_take(layout.path(Layout::Kind::kLock, known.digest));
  REQUIRE(lock->has_value());
  std::atomic<bool> cancel = false;
  options.cancel = &cancel;
  options.progress = [&](const Progress& p) { cancel = p.source == "another pull"; };
  CHECK(store.pull("tiny", options).error().code == base::ErrorCode::kCancelled);
  CHECK(server.requests().empty());
}

TEST_CASE_FIXTURE(Fixture, "a model larger than the disk is refused before anything is fetched") {
  known.entry.bytes = uint64_t{1} << 47;
  const auto failed = store.pull("tiny", options);
  REQUIRE(!failed.has_value());
  CHECK(failed.error().code == base::ErrorCode::kIo);
  CHECK(failed.error().message.find("MB free") != std::string::npos);
  CHECK(server.requests().empty());
}

TEST_CASE_FIXTURE(Fixture, "a store that cannot be written is named") {
  REQUIRE(write_text(folder.path() + "/models", "a file").has_value());
  const auto failed = store.pull("tiny", options);
  REQUIRE(!failed.has_value());
  CHECK(failed.error().text().find("PUNA_HOME") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a blob left without its manifest is checked and used") {
  REQUIRE(write_text(layout.blob(known.digest), body));
  CHECK(store.pull("tiny", options).has_value());
  CHECK(server.requests().empty());
}

TEST_CASE_FIXTURE(Fixture, "a model that is damaged at its right size is said to be, and mended") {
  REQUIRE(store.pull("tiny", options).has_value());
  const std::string blob = layout.blob(known.digest);
  std::string damaged = body;
  damaged[body.size() / 2] ^= 1;
  REQUIRE(write_text(blob, damaged));
  std::string said;
  base::set_log_sink([&](base::LogLevel, std::string_view text) { said += text; },
                     base::LogLevel::kWarning);
  SUBCASE("by a pull") {
    const auto path = store.pull("tiny", options);
    REQUIRE_MESSAGE(path.has_value(), path.error().text());
  }
  SUBCASE("by a repair") {
    CHECK(!store.verify({})->fine());
    const auto verified = store.verify({.repair = true, .pull = options});
    REQUIRE(verified.has_value());
    CHECK(verified->fine());
    CHECK(verified->findings.at(0).repaired == "It is fetched again.");
  }
  base::set_log_sink(base::log_to_stderr, base::LogLevel::kWarning);
  CHECK(*read_text(blob, 1 << 20) == body);
  CHECK(server.requests().size() == 2);
  CHECK(said.find(blob) != std::string::npos);
  CHECK(said.find("damaged") != std::string::npos);
  CHECK(folder.files().size() == kFiles);
}

TEST_CASE_FIXTURE(Fixture, "an address of a GGUF file is pulled under its file name or another") {
  body = "GGUF" + body;
  server.set({.body = body});
  const std::string url = server.url("/some/Model-Q4_0.gguf?download=true");
  const auto path = store.pull(url, options);
  REQUIRE_MESSAGE(path.has_value(), path.error().text());
  CHECK(*path == layout.blob(sha256_of(body)));
  CHECK(*read_text(*path, 1 << 20) == body);
  CHECK(store.resolve(server.host() + "/files/model-q4_0")->path == *path);
  options.as = "mine:v1";
  REQUIRE(store.pull(url, options).has_value());
  CHECK(store.resolve("mine:v1")->path == *path);
  CHECK(folder.files().size() == 5);  // model, config, two manifests, version

  options.as = "../x";
  CHECK(store.pull(url, options).error().code == base::ErrorCode::kInvalidArgument);
  options.as.clear();
  server.set({.body = "<html>No such page</html>"});
  const auto failed = store.pull(server.url("/page.gguf"), options);
  REQUIRE(!failed.has_value());
  CHECK(failed.error().message.find("no GGUF file") != std::string::npos);
  CHECK(folder.files().size() == 5);
}

TEST_CASE_FIXTURE(Fixture, "what an address gave is kept when something fails behind it") {
  body = "GGUF" + body;
  server.set({.body = body});
  const std::string url = server.url("/m.gguf");
  const std::string path = store.pull(url, options).value();
  const std::string config = layout.blob(
      load_manifest(layout.manifest(*parse_name(server.host() + "/files/m")))->config.digest);
  REQUIRE(store.remove(server.host() + "/files/m").has_value());
  // A folder is where the config belongs.
  REQUIRE(make_folders(config + "/x").has_value());
  CHECK(store.pull(url, options).error().code == base::ErrorCode::kIo);
  CHECK(store.list()->empty());
  std::filesystem::remove_all(config);
  const uint64_t before = server.sent_bytes();
  const auto again = store.pull(url, options);
  REQUIRE_MESSAGE(again.has_value(), again.error().text());
  CHECK(*again == path);
  CHECK(*read_text(path, 1 << 20) == body);
  CHECK(server.sent_bytes() - before <= 1);  // of the probe
  CHECK(store.verify({})->findings.empty());
}

TEST_CASE_FIXTURE(Fixture, "no room is asked for what is there already and only gets its place") {
  REQUIRE(layout.prepare().has_value());
  const uint64_t bytes = std::filesystem::space(folder.path()).available + (uint64_t{1} << 30);
  const std::string part = folder.path() + "/part";
  auto file = PartFile::open(part, bytes, 1);  // a hole
  REQUIRE_MESSAGE(file.has_value(), file.error().text());
  REQUIRE(file->set_entry(0, {.bytes = bytes, .checksum = {}}).has_value());
  int n_placed = 0;
  std::vector<WantedBlob> layers;
  layers.push_back({.layer = {std::string(kModelType), sha256_of("x"), bytes},
                    .part = part,
                    .fetch = [&](const Layout&, const Layer&, Reporter&) -> base::Result<void> {
                      ++n_placed;
                      return base::fail(base::ErrorCode::kCancelled, "Enough.");
                    }});
  Reporter reporter(options, "test");
  PullPlan plan = plan_of(*parse_name("a"), {}, std::move(layers));
  CHECK(carry_out(layout, plan, reporter).error().message == "Enough.");
  CHECK(n_placed == 1);
  plan.blobs[0].part.clear();
  CHECK(carry_out(layout, plan, reporter).error().message.contains("MB free"));
}

}  // namespace
}  // namespace puna::store
