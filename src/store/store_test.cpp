#include "store/store.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <utime.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "base/log.h"
#include "store/changes.h"
#include "store/files.h"
#include "store/locks.h"
#include "store/manifest.h"
#include "store/test_store.h"

namespace puna::store {
namespace {

void make_old(const std::string& path, int64_t seconds) {
  const utimbuf times{.actime = std::time(nullptr) - seconds,
                      .modtime = std::time(nullptr) - seconds};
  REQUIRE(::utime(path.c_str(), &times) == 0);
}

// No warnings on the terminal while it lives; what they said.
struct Quiet {
  std::string said;
  Quiet() {
    base::set_log_sink([this](base::LogLevel, std::string_view text) { said += text; },
                       base::LogLevel::kWarning);
  }
  ~Quiet() { base::set_log_sink(base::log_to_stderr, base::LogLevel::kWarning); }
};

TEST_CASE("a digest is 64 lower-case hex digits behind its algorithm, and nothing else") {
  const std::string hex(64, 'a');
  CHECK(Digest::parse("sha256:" + hex)->hex() == hex);
  CHECK(Digest::parse("sha256:" + hex)->text() == "sha256:" + hex);
  const std::string nul = "sha256:" + hex.substr(1) + '\0';
  for (const std::string& bad :
       {std::string(), hex, "sha256-" + hex, "sha256:" + hex + "a", "sha256:" + hex.substr(1),
        "sha256:" + std::string(64, 'A'), std::string("sha256:../../../../etc/passwd"),
        "sha256:../../x" + hex.substr(7), "sha512:" + hex, nul}) {
    CAPTURE(bad);
    CHECK(!Digest::parse(bad).has_value());
  }
}

TEST_CASE("SHA-256 is what FIPS 180-4 says, however the bytes come") {
  CHECK(sha256_of("abc").hex() ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_of("").hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  const std::string text(1000, 'q');
  Sha256 hash;
  for (size_t at = 0; at < text.size(); at += 7)
    hash.add(std::as_bytes(std::span(text)).subspan(at, std::min<size_t>(7, text.size() - at)));
  CHECK(hash.finish() == sha256_of(text));
}

TEST_CASE("names have four parts, and what is left out is that of ollama's registry") {
  struct Case {
    const char *text, *full, *shown;
  };
  for (const Case& each : std::initializer_list<Case>{
           {"smollm2", "registry.ollama.ai/library/smollm2:latest", "smollm2:latest"},
           {"gemma3:270m-base", "registry.ollama.ai/library/gemma3:270m-base", "gemma3:270m-base"},
           {"Qwen2.5_x-1:q4", "registry.ollama.ai/library/Qwen2.5_x-1:q4", "Qwen2.5_x-1:q4"},
           {"me/mine", "registry.ollama.ai/me/mine:latest", "me/mine:latest"},
           {"hf.co/User/Repo-GGUF:Q4_K_M", "hf.co/User/Repo-GGUF:Q4_K_M",
            "hf.co/User/Repo-GGUF:Q4_K_M"},
           {"localhost:5000/a/b", "localhost:5000/a/b:latest", "localhost:5000/a/b:latest"},
           {"puna.local/files/x", "puna.local/files/x:latest", "x:latest"}}) {
    CAPTURE(each.text);
    const auto name = parse_name(each.text);
    REQUIRE_MESSAGE(name.has_value(), name.error().text());
    CHECK(name->full() == each.full);
    CHECK(name->text() == each.shown);
    CHECK(*parse_name(name->full()) == *name);
  }
  CHECK(*parse_name("HF.co/User/Repo:q4_k_m") == *parse_name("hf.co/user/repo:Q4_K_M"));
}

TEST_CASE("what is no name is refused, whatever part of it is wrong") {
  const std::string nul("a\0b", 3);
  for (const std::string& bad : {std::string(),
                                 std::string(":"),
                                 std::string("a:"),
                                 std::string(":b"),
                                 std::string("a:b:c"),
                                 std::string("../x"),
                                 std::string("x/.."),
                                 std::string("../../x"),
                                 std::string(".a"),
                                 std::string("-a"),
                                 std::string("a b"),
                                 std::string("a:.."),
                                 std::string("a/b/c/d"),
                                 std::string("/a/b/c"),
                                 std::string("a//b"),
                                 std::string("a.b/c"),
                                 std::string("h/n/m:t/x"),
                                 std::string("a@sha256:") + std::string(64, 'a'),
                                 std::string("sha256:../../x"),
                                 nul,
                                 std::string(81, 'a'),
                                 std::string(300, 'a'),
                                 "h/" + std::string(81, 'n') + "/m",
                                 std::string(351, 'h') + "/n/m",
                                 std::string("m\xc3\xa4"),
                                 std::string("a\nb")}) {
    CAPTURE(bad);
    const auto name = parse_name(bad);
    REQUIRE(!name.has_value());
    CHECK(name.error().code == base::ErrorCode::kInvalidArgument);
  }
  CHECK(parse_name(std::string(80, 'a')).has_value());
}

TEST_CASE("every catalogue entry is complete and its wheels add up to it") {
  std::set<std::string> names;
  for (const CatalogueEntry& entry : catalogue()) {
    CAPTURE(entry.model);
    CHECK(parse_name(entry.name().full()).has_value());
    CHECK(names.insert(entry.name().folded()).second);
    CHECK(!entry.license.empty());
    CHECK(entry.url.starts_with("https://"));
    uint64_t bytes = 0;
    for (const WheelPart& part : entry.wheels) {
      CHECK(part.requirement.find("==") != std::string_view::npos);
      bytes += part.bytes;
    }
    CHECK(bytes == entry.bytes);
  }
  const Store store("/nowhere");
  CHECK(find(catalogue(), *store.named("smollm2")) != nullptr);
  CHECK(find(catalogue(), *store.named("Gemma3:270M-base")) != nullptr);
  CHECK(find(catalogue(), *store.named("gemma3")) == nullptr);
  CHECK(find(catalogue(), *store.named("library/smollm2")) == nullptr);  // ollama's own
  for (const char* const each :
       {"smollm2:latest", "library/smollm2:latest", "library/Gemma3:270m-base", "gemma3:latest",
        "me/smollm2:latest", "hf.co/me/smollm2:q4", "puna.local/files/smollm2:latest"}) {
    CHECK(store.shown_name(*store.named(each)) == each);
  }
}

TEST_CASE("a manifest is read back as written, and a damaged one is refused") {
  const std::string hex(64, 'a');
  Manifest manifest{.config = {std::string(kConfigType), *Digest::from_hex(hex), 5}, .layers = {}};
  manifest.layers.push_back(
      {std::string(kModelType), *Digest::from_hex(std::string(64, 'b')), 1234567890123});
  const std::string text = write_manifest(manifest);
  CHECK(text.starts_with(
      R"({"schemaVersion":2,"mediaType":"application/vnd.docker.distribution.manifest.v2+json",)"));
  const auto read = read_manifest(text);
  REQUIRE(read.has_value());
  CHECK(read->config.digest.hex() == hex);
  REQUIRE(read->find(kModelType) != nullptr);
  CHECK(read->find(kModelType)->bytes == 1234567890123);
  CHECK(read->find(kLicenseType) == nullptr);
  CHECK(read->blobs().size() == 2);
  for (size_t cut = 0; cut < text.size(); ++cut)
    CHECK(!read_manifest(text.substr(0, cut)).has_value());
  for (const auto& [digest, size] : {std::pair<std::string, std::string>("sha256:../../etc", "1"),
                                     {"sha256:" + hex, "-1"},
                                     {"sha256:" + hex, "9000000000000000000"}}) {
    CHECK(
        !read_manifest(
             fmt::format(R"({{"config":{{"mediaType":"x","digest":"{}","size":{}}},"layers":[]}})",
                         digest, size))
             .has_value());
  }
  // Sizes that only beside others are none: a blob has one, and their sum is no number that wraps.
  const auto of_sizes = [](std::initializer_list<std::pair<const char*, uint64_t>> layers) {
    Manifest made{.config = {std::string(kConfigType), sha256_of("config"), 2}, .layers = {}};
    for (const auto& [bytes, size] : layers)
      made.layers.push_back({std::string(kModelType), sha256_of(bytes), size});
    return read_manifest(write_manifest(made));
  };
  CHECK(of_sizes({{"a", 5}, {"b", 6}, {"a", 5}}).has_value());
  CHECK(of_sizes({{"a", 5}, {"a", 6}}).error().message.contains("two sizes, 5 and 6"));
  CHECK(of_sizes({{"config", 3}}).error().code == base::ErrorCode::kCorrupt);
  CHECK(of_sizes({{"a", kMaxModelBytes - 2}}).has_value());
  CHECK(of_sizes({{"a", kMaxModelBytes - 1}}).error().message.contains("256 TB"));
  CHECK(of_sizes({{"a", kMaxModelBytes}, {"b", kMaxModelBytes}}).error().code ==
        base::ErrorCode::kCorrupt);
}

struct Fixture {
  TestFolder folder;
  TestEntry known{"body", ""};
  Store store{folder.path(), {&known.entry, 1}};
  const Layout& layout = store.layout();
};

TEST_CASE_FIXTURE(Fixture, "names are looked up as path, then catalogue, then store") {
  const auto path = store.resolve(folder.path());
  REQUIRE(path.has_value());
  CHECK(path->path == folder.path());
  CHECK(path->name.empty());

  const auto unpulled = store.resolve("tiny");
  REQUIRE(unpulled.has_value());
  CHECK(unpulled->needs_pull());
  CHECK(unpulled->name == "tiny:latest");
  CHECK(unpulled->entry == &known.entry);
  CHECK(store.resolve("hf.co/user/repo:Q4_K_M")->needs_pull());

  put_model(layout, "puna.local/catalogue/tiny", "body");
  CHECK(store.resolve("tiny:latest")->path == layout.blob(known.digest));

  put_model(layout, "Mine:v1", "other");
  const auto mine = store.resolve("mine:V1");
  REQUIRE(mine.has_value());
  CHECK(mine->path == layout.blob(sha256_of("other")));
  CHECK(mine->entry == nullptr);

  for (const char* missing : {"nothing", "nothing.gguf", "no/such/file.gguf", "a/b/c", "a b"}) {
    const auto failed = store.resolve(missing);
    REQUIRE(!failed.has_value());
    CHECK(failed.error().code == base::ErrorCode::kNotFound);
    CHECK(failed.error().message.find(missing) != std::string::npos);
    CHECK(failed.error().message.find("tiny") != std::string::npos);
  }
  CHECK(store.resolve("tinny").error().message.find("did you mean \"tiny\"?") != std::string::npos);
  CHECK(store.resolve("mine:v2").error().message.find("\"Mine:v1\"?") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a folder hides no model of its name unless it has weights") {
  namespace fs = std::filesystem;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  fs::create_directories("brief");
  // The error of what opens it is the better one.
  CHECK(store.resolve("brief")->path == "brief");
  put_model(layout, "brief", "body");
  CHECK(store.resolve("brief")->path == layout.blob(sha256_of("body")));
  CHECK(store.resolve("./brief")->path == "./brief");
  std::ofstream("brief/config.json") << "{}";
  CHECK(store.resolve("brief")->path == "brief");
  fs::current_path(before);
}

TEST_CASE_FIXTURE(
    Fixture,
    "a stored model whose blob was cut is corrupt, and one of the catalogue is pulled again") {
  put_model(layout, "puna.local/catalogue/tiny", "body");
  put_model(layout, "mine", "other");
  REQUIRE(write_text(layout.blob(known.digest), "bo"));
  REQUIRE(write_text(layout.blob(sha256_of("other")), "oth"));
  CHECK(store.resolve("tiny")->needs_pull());
  const auto mine = store.resolve("mine");
  REQUIRE(!mine.has_value());
  CHECK(mine.error().code == base::ErrorCode::kCorrupt);
}

TEST_CASE_FIXTURE(Fixture, "the list tells name, size and kind, and leaves damaged manifests out") {
  const Quiet quiet;
  CHECK(store.list()->empty());
  put_model(layout, "zeta", "12345");
  put_model(layout, "hf.co/user/alpha:q4", "123");
  REQUIRE(write_text(layout.manifest(*parse_name("broken")), "{"));
  const auto models = store.list();
  REQUIRE(models.has_value());
  REQUIRE(models->size() == 2);
  CHECK(models->at(0).name.text() == "hf.co/user/alpha:q4");
  CHECK(models->at(0).origin == Origin::kPuna);
  CHECK(models->at(0).bytes == 3);
  CHECK(models->at(0).parameters == "1B");
  CHECK(models->at(0).file_type == "Q4_0");
  CHECK(models->at(0).digest.has_value());
  CHECK(models->at(0).modified_s > 0);
  CHECK(models->at(1).name.text() == "zeta:latest");
}

TEST_CASE_FIXTURE(Fixture, "removing a model deletes the blobs that no other model uses") {
  const Quiet quiet;
  put_model(layout, "one:a", "12345");
  put_model(layout, "one:b", "12345");
  const Manifest two = put_model(layout, "two", "123");
  const std::string shared = layout.blob(sha256_of("12345"));
  REQUIRE(store.remove("one:A").has_value());
  CHECK(file_bytes(shared) == 5);
  {
    const auto held = FileLock::try_take(layout.path(Layout::Kind::kLock, sha256_of("12345")));
    REQUIRE(held->has_value());
    REQUIRE(store.remove("one:b").has_value());
    CHECK(file_bytes(shared) == 5);  // a pull has it
  }
  put_model(layout, "one:b", "12345");
  REQUIRE(store.remove("one:b").has_value());
  CHECK(file_bytes(shared) == -1);
  CHECK(file_bytes(layout.blob(two.config.digest)) > 0);  // the config is still that of two
  const auto again = store.remove("one:b");
  REQUIRE(!again.has_value());
  CHECK(again.error().code == base::ErrorCode::kNotFound);

  REQUIRE(write_text(layout.manifest(*parse_name("broken")), "{"));
  REQUIRE(store.remove("two").has_value());
  CHECK(file_bytes(layout.blob(sha256_of("123"))) == 3);  // the damaged manifest may name it
  REQUIRE(store.remove("broken").has_value());
  for (const std::string& file : folder.files()) CHECK(!file.starts_with("models/manifests/"));
}

TEST_CASE_FIXTURE(Fixture, "a copy has the same blobs, and outlives what it was made of") {
  put_model(layout, "one", "12345");
  REQUIRE(store.copy("one", "localhost:5000/me/other:v2").has_value());
  REQUIRE(store.remove("one").has_value());
  CHECK(store.resolve("localhost:5000/me/other:v2")->path == layout.blob(sha256_of("12345")));
  CHECK(store.copy("one", "x").error().code == base::ErrorCode::kNotFound);
  CHECK(store.copy("localhost:5000/me/other:v2", "../x").error().code ==
        base::ErrorCode::kInvalidArgument);
  CHECK(store.copy("localhost:5000/me/other:v2", "tiny").error().code ==
        base::ErrorCode::kInvalidArgument);
}

TEST_CASE_FIXTURE(Fixture, "what is removed while it is copied is not found, and no copy is left") {
  const Manifest one = put_model(layout, "one", "12345");
  REQUIRE(layout.prepare().has_value());
  base::Result<void> copied;
  std::thread copying;
  {
    const auto lock = lock_manifests(layout);
    REQUIRE(lock.has_value());
    copying = std::thread([&] { copied = store.copy("one", "two"); });
    // Long enough to look for it and to wait for the lock, behind which another removes it.
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    remove_file(layout.manifest(*parse_name("one")));
    for (const Layer& layer : one.blobs()) remove_file(layout.blob(layer.digest));
  }
  copying.join();
  REQUIRE(!copied.has_value());
  CHECK(copied.error().code == base::ErrorCode::kNotFound);
  CHECK(layout.manifests().empty());
  CHECK(store.verify({})->findings.empty());
}

TEST_CASE("what is in the making never takes what is there, whoever made it") {
  const TestFolder folder;
  const auto first = OutputFile::create_aside(folder.path());
  REQUIRE(first.has_value());
  // The next names, as a process of the same number in another container may have taken them.
  const size_t dash = first->path().rfind('-') + 1;
  const unsigned long n = std::stoul(first->path().substr(dash));
  std::vector<std::string> taken;
  for (unsigned long i = n + 1; i < n + 6; ++i) {
    taken.push_back(fmt::format("{}{}", first->path().substr(0, dash), i));
    std::ofstream(taken.back()) << "theirs";
  }
  REQUIRE(write_text(folder.path() + "/text", "ours").has_value());
  const auto made = make_aside_folder(folder.path());
  REQUIRE(made.has_value());
  CHECK(std::filesystem::path(*made).filename().string().starts_with(kAsidePrefix));
  CHECK(std::filesystem::is_directory(*made));
  for (const std::string& path : taken) CHECK(read_text(path, 100).value_or("") == "theirs");
  CHECK(read_text(folder.path() + "/text", 100).value_or("") == "ours");
  CHECK(OutputFile::create_aside(folder.path() + "/none").error().code ==
        base::ErrorCode::kNotFound);
}

TEST_CASE_FIXTURE(Fixture,
                  "a manifest that takes another's place frees what only that one needed") {
  const Manifest before = put_model(layout, "one", "12345");
  const Manifest after = put_model(layout, "other", "678");
  REQUIRE(put_manifest(layout, *parse_name("ONE"), write_manifest(after)).has_value());
  CHECK(file_bytes(layout.blob(before.layers[0].digest)) == -1);
  CHECK(store.resolve("one")->path == layout.blob(after.layers[0].digest));
  CHECK(layout.manifests().size() == 2);  // the name is the same in any case
}

TEST_CASE_FIXTURE(Fixture,
                  "what nobody needs is collected once it is old, and what is held stays") {
  put_model(layout, "one", "12345");
  const size_t whole = folder.files().size();
  const auto leave = [&](const std::string& path, int64_t age_s) {
    REQUIRE(write_text(path, "left"));
    make_old(path, age_s);
  };
  const Digest a = sha256_of("a"), b = sha256_of("b"), c = sha256_of("c"), d = sha256_of("d");
  leave(layout.blob(a), 7200);
  leave(layout.blob(b), 60);                         // young
  leave(layout.blob(c), -7200);                      // of a clock that was set back
  leave(layout.path(Layout::Kind::kPart, a), 7200);  // a download that may go on
  leave(layout.path(Layout::Kind::kPart, b), 10 * 86400);
  leave(layout.path(Layout::Kind::kLock, a), 7200);  // of a process that was killed
  leave(layout.manifests_root() + "/registry.ollama.ai/library/one/.aside-1-1", 7200);
  leave(layout.blobs() + "/notes.txt", 7200);  // not ours
  leave(layout.blob(d), 7200);
  const auto held = FileLock::try_take(layout.path(Layout::Kind::kLock, d));
  REQUIRE(held->has_value());
  const auto deleted = store.collect({});
  REQUIRE(deleted.has_value());
  CHECK(std::set<std::string>(deleted->begin(), deleted->end()) ==
        std::set<std::string>{
            layout.blob(a), layout.path(Layout::Kind::kPart, b),
            layout.path(Layout::Kind::kLock, a),
            layout.manifests_root() + "/registry.ollama.ai/library/one/.aside-1-1"});
  CHECK(folder.files().size() == whole + 6);

  const Quiet quiet;
  REQUIRE(write_text(layout.manifest(*parse_name("broken")), "{"));
  CHECK(store.collect({.min_age_s = 0, .min_part_age_s = 0})->empty());
  CHECK(quiet.said.find("broken") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "verify names what is damaged and what is left, and nothing else") {
  put_model(layout, "good", "12345");
  REQUIRE(store.verify({}).has_value());
  CHECK(store.verify({})->findings.empty());
  CHECK(store.verify({})->n_blobs == 2);

  put_model(layout, "flipped", "abcde");
  put_model(layout, "cut", "fghij");
  put_model(layout, "gone", "klmno");
  REQUIRE(write_text(layout.blob(sha256_of("abcde")), "abcdf"));
  REQUIRE(write_text(layout.blob(sha256_of("fghij")), "fg"));
  remove_file(layout.blob(sha256_of("klmno")));
  REQUIRE(write_text(layout.blob(sha256_of("x")), "x"));
  const auto verified = store.verify({});
  REQUIRE(verified.has_value());
  CHECK(!verified->fine());
  std::set<std::string> models;
  for (const Finding& finding : verified->findings) models.insert(finding.model);
  CHECK(models == std::set<std::string>{"", "cut:latest", "flipped:latest", "gone:latest"});
  CHECK(verified->findings.size() == 4);
  CHECK(store.verify({.names = {"good"}})->findings.empty());
  CHECK(store.verify({.names = {"nothing"}}).error().code == base::ErrorCode::kNotFound);
  CHECK(file_bytes(layout.blob(sha256_of("abcde"))) == 5);  // nothing was deleted
}

TEST_CASE_FIXTURE(Fixture, "a repair sets damaged manifests aside and collects what is left") {
  put_model(layout, "good", "12345");
  const std::string broken = layout.manifest(*parse_name("broken"));
  REQUIRE(write_text(broken, "{\"config\""));
  REQUIRE(write_text(layout.blob(sha256_of("x")), "x"));
  const auto verified =
      store.verify({.repair = true, .collect = {.min_age_s = 0, .min_part_age_s = 0}});
  REQUIRE(verified.has_value());
  CHECK(verified->fine());
  CHECK(verified->findings.size() == 2);
  CHECK(file_bytes(broken) == -1);
  CHECK(folder.files().size() == 4);  // good has three, and what was set aside
  CHECK(store.verify({})->findings.empty());
}

TEST_CASE_FIXTURE(Fixture, "a store of a later version is neither read nor written") {
  REQUIRE(layout.prepare().has_value());
  put_model(layout, "mine", "12345");
  CHECK(store.resolve("mine").has_value());
  REQUIRE(write_text(folder.path() + "/models/version", "2\n"));
  for (const auto& code : {store.resolve("mine").error().code, store.list().error().code,
                           store.remove("mine").error().code, store.copy("mine", "x").error().code,
                           store.verify({}).error().code, store.collect({}).error().code}) {
    CHECK(code == base::ErrorCode::kUnsupported);
  }
}

TEST_CASE("a lock is held by one at a time and freed by its end") {
  TestFolder folder;
  const std::string path = folder.path() + "/lock";
  {
    const auto first = FileLock::try_take(path);
    REQUIRE(first->has_value());
    CHECK(!FileLock::try_take(path)->has_value());
    int waited = 0;
    const auto third = FileLock::take(path, [&]() -> base::Result<void> {
      if (++waited < 2) return {};
      return base::fail(base::ErrorCode::kCancelled, "enough");
    });
    CHECK(third.error().message == "enough");
    CHECK(waited == 2);
  }
  CHECK(FileLock::try_take(path)->has_value());
  CHECK(folder.files().empty());
}

}  // namespace
}  // namespace puna::store
