// Registries and Hugging Face's hub, played by a server of the test.
#include "store/pull/registry.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <mutex>

#include "formats/gguf_split.h"
#include "io/http/test_server.h"
#include "store/test_store.h"

namespace puna::store {
namespace {

using io::TestAnswer;
using io::TestRequest;
using io::TestServer;

// A registry that keeps what is pushed, and wants a token where `token` is set.
class TestRegistry {
 public:
  TestServer server{[this](const TestRequest& request) { return answer(request); }};
  std::map<std::string, std::string> manifests, blobs;  // by path and by digest
  std::string token;
  std::string realm;             // other than its own
  int n_cut_pieces = 0;          // so many pieces of uploads get half taken
  std::string redirect_blobs{};  // to another server
  int n_tokens = 0;

 private:
  TestAnswer answer(const TestRequest& request) {
    const std::lock_guard lock(mutex_);
    const std::string path = request.path.substr(0, request.path.find('?'));
    if (path == "/token") {
      ++n_tokens;
      return {.body = fmt::format(R"({{"token":"{}"}})", token)};
    }
    if (!token.empty() && request.header("Authorization") != "Bearer " + token) {
      return {.status = 401,
              .headers = {fmt::format(
                  R"(WWW-Authenticate: Bearer realm="{}",service="test",scope="repository:x:pull")",
                  realm.empty() ? server.url("/token") : realm)}};
    }
    if (const size_t at = path.find("/manifests/"); at != std::string::npos) {
      if (request.method == "PUT") {
        manifests[path] = request.body;
        return {.status = 201};
      }
      if (!manifests.contains(path)) return {.status = 404, .body = R"({"errors":[]})"};
      return {.body = manifests[path]};
    }
    if (path.ends_with("/blobs/uploads/")) return {.status = 202, .headers = {"Location: /upload"}};
    if (path == "/upload") return upload(request);
    const std::string name = path.substr(path.rfind('/') + 1);
    if (!blobs.contains(name)) return {.status = 404};
    if (!redirect_blobs.empty()) return {.status = 307, .headers = {"Location: " + redirect_blobs}};
    return TestServer::serve_file({.body = blobs[name], .etag = "\"" + name + "\""}, request);
  }

  TestAnswer upload(const TestRequest& request) {
    const std::vector<std::string> headers = {
        "Location: /upload", fmt::format("Range: 0-{}", upload_.empty() ? 0 : upload_.size() - 1)};
    if (request.method == "GET") return {.status = 204, .headers = headers};
    if (request.method == "PATCH") {
      if (request.header("Content-Range") !=
          fmt::format("{}-{}", upload_.size(), upload_.size() + request.body.size() - 1))
        return {.status = 416};
      if (n_cut_pieces-- > 0) {
        upload_ += request.body.substr(0, request.body.size() / 2);
        return {.status = 503};
      }
      upload_ += request.body;
      return {.status = 202, .headers = headers};
    }
    const std::string digest = "sha256:" + request.path.substr(request.path.rfind("%3A") + 3);
    if (sha256_of(upload_).text() != digest) return {.status = 400, .body = "digest invalid"};
    blobs[digest] = std::exchange(upload_, "");
    return {.status = 201};
  }

  std::mutex mutex_;
  std::string upload_;
};

struct Fixture {
  TestRegistry registry;
  TestFolder folder;
  Store store{folder.path(), {}};
  const Layout& layout = store.layout();
  PullOptions options = quick();
  std::string name = registry.server.host() + "/me/model:v1";
  std::string path = "/v2/me/model/manifests/v1";
  std::string body = some_bytes(500'000);

  // A model that the registry has, and the store has not.
  void offer() {
    const TestFolder other;
    const Manifest manifest = put_model(Layout(other.path()), "x", body);
    registry.manifests[path] = write_manifest(manifest) + "\n ";
    registry.blobs[manifest.layers[0].digest.text()] = body;
    registry.blobs[manifest.config.digest.text()] =
        *read_text(Layout(other.path()).blob(manifest.config.digest), 4096);
  }
  base::Error refused() {
    const auto pulled = store.pull(name, options);
    REQUIRE(!pulled.has_value());
    CHECK(store.list()->empty());
    return pulled.error();
  }
};

TEST_CASE("a challenge is read, however it is spelt") {
  const Challenge bearer = read_challenge(
      R"(Bearer realm="https://a/b?c=d,e", service=registry,scope="repository:x/y:pull,push")");
  CHECK(bearer.scheme == "bearer");
  CHECK(bearer.realm == "https://a/b?c=d,e");
  CHECK(bearer.service == "registry");
  CHECK(bearer.scope == "repository:x/y:pull,push");
  CHECK(read_challenge("BASIC realm=\"x\"").scheme == "basic");
  for (const char* odd : {"", "Bearer", "Bearer realm=\"", "Bearer =,=,", "Bearer x"})
    CHECK(read_challenge(odd).realm.empty());
}

TEST_CASE_FIXTURE(Fixture,
                  "a model is pulled from its registry, with a token where one is wanted") {
  offer();
  for (const char* token : {"", "secret"}) {
    registry.token = token;
    const auto pulled = store.pull(name, options);
    REQUIRE_MESSAGE(pulled.has_value(), pulled.error().text());
    CHECK(*pulled == layout.blob(sha256_of(body)));
    CHECK(*read_text(layout.manifest(*parse_name(name)), 4096) == registry.manifests[path]);
    CHECK(store.resolve(name)->path == *pulled);
    REQUIRE(store.remove(name).has_value());
  }
  CHECK(registry.n_tokens == 1);
}

TEST_CASE_FIXTURE(Fixture, "blobs of another host get no token") {
  offer();
  TestServer other(TestServer::Behaviour{.body = body});
  registry.token = "secret";
  registry.redirect_blobs = other.url();
  const auto failed = store.pull(name, options);  // the config is not what the other server gives
  CHECK(!failed.has_value());
  REQUIRE(!other.requests().empty());
  for (const std::string& head : other.requests()) CHECK(head.find("secret") == std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a registry that lies is refused, and nothing of it stays a model") {
  offer();
  const auto& server = registry.server;
  SUBCASE("no such model") {
    registry.manifests.clear();
    CHECK(refused().code == base::ErrorCode::kNotFound);
  }
  SUBCASE("no manifest") {
    registry.manifests[path] = "<html>";
    CHECK(refused().code == base::ErrorCode::kCorrupt);
  }
  SUBCASE("a manifest without end") {
    registry.manifests[path] = std::string(10 << 20, ' ');
    CHECK(refused().message.find("longer than") != std::string::npos);
  }
  SUBCASE("a path for a digest") {
    registry.manifests[path] =
        R"({"config":{"mediaType":"x","digest":"sha256:../../../x","size":1},"layers":[]})";
    CHECK(refused().code == base::ErrorCode::kCorrupt);
  }
  SUBCASE("a manifest of something else") {
    registry.manifests[path] =
        fmt::format(R"({{"config":{{"mediaType":"x","digest":"{}","size":1}},"layers":[]}})",
                    sha256_of("x").text());
    CHECK(refused().code == base::ErrorCode::kUnsupported);
  }
  SUBCASE("a blob that is not what its digest says") {
    registry.blobs[sha256_of(body).text()][7] ^= 1;
    CHECK(refused().code == base::ErrorCode::kCorrupt);
  }
  SUBCASE("a blob of another length") {
    registry.blobs[sha256_of(body).text()] += "x";
    CHECK(refused().code == base::ErrorCode::kCorrupt);
  }
  SUBCASE("a blob that is missing") {
    registry.blobs.erase(sha256_of(body).text());
    CHECK(refused().code == base::ErrorCode::kNotFound);
  }
  SUBCASE("a token of another host") {
    registry.token = "secret";
    registry.realm = "http://169.254.169.254/token";
    CHECK(refused().message.find("another host") != std::string::npos);
  }
  SUBCASE("a token that is not taken") {
    registry.token = "secret\\n";
    CHECK(refused().code != base::ErrorCode::kNotFound);
    CHECK(registry.n_tokens == 1);
  }
  SUBCASE("blobs inside this machine") {
    registry.redirect_blobs = "file:///etc/passwd";
    CHECK(refused().message.find("not followed") != std::string::npos);
  }
  CHECK(server.requests().size() < 20);
  for (const std::string& file : folder.files()) CHECK(!file.contains("manifests/127"));
}

TEST_CASE_FIXTURE(Fixture, "what is pushed is pulled as it was, also after a piece was cut") {
  put_model(layout, name, body);
  registry.token = "secret";
  registry.n_cut_pieces = 2;
  const auto pushed = store.push(name, options);
  REQUIRE_MESSAGE(pushed.has_value(), pushed.error().text());
  CHECK(registry.blobs[sha256_of(body).text()] == body);
  const size_t n_requests = registry.server.requests().size();
  REQUIRE(store.push(name, options).has_value());
  for (size_t i = n_requests; i < registry.server.requests().size(); ++i)
    CHECK(!registry.server.requests()[i].starts_with("PATCH"));  // it has all of them

  const std::string manifest = *read_text(layout.manifest(*parse_name(name)), 4096);
  REQUIRE(store.remove(name).has_value());
  REQUIRE(store.pull(name, options).has_value());
  CHECK(*read_text(layout.manifest(*parse_name(name)), 4096) == manifest);
  CHECK(*read_text(store.resolve(name)->path, 1 << 20) == body);
}

TEST_CASE_FIXTURE(Fixture, "a pull makes links again, and no other pull takes them") {
  const auto offer_parts = [&](const std::string& tag, const std::vector<std::string>& parts) {
    Manifest manifest{.config = {std::string(kConfigType), sha256_of("{}"), 2}, .layers = {}};
    registry.blobs[sha256_of("{}").text()] = "{}";
    for (const std::string& part : parts) {
      manifest.layers.push_back({std::string(kModelType), sha256_of(part), part.size()});
      registry.blobs[sha256_of(part).text()] = part;
    }
    registry.manifests["/v2/me/model/manifests/" + tag] = write_manifest(manifest);
  };
  const auto second_part = [&](const std::string& tag) {
    const auto path = store.pull(registry.server.host() + "/me/model:" + tag, options);
    REQUIRE_MESSAGE(path.has_value(), path.error().text());
    const auto first = formats::parse_split_name(*path);
    REQUIRE(first);
    return read_text(formats::split_path(first->prefix, 2, 2), 100).value_or("");
  };
  offer_parts("a", {"one", "two"});
  offer_parts("b", {"one", "other two"});
  CHECK(second_part("a") == "two");
  CHECK(second_part("b") == "other two");
  CHECK(second_part("a") == "two");
  std::filesystem::remove_all(layout.splits());
  CHECK(store.list()->empty());
  CHECK(second_part("a") == "two");
  REQUIRE(store.remove(registry.server.host() + "/me/model:b").has_value());
  CHECK(second_part("a") == "two");
  CHECK(store.verify({})->findings.empty());
}

TEST_CASE_FIXTURE(Fixture, "a repair takes only the bytes that are missing, and no other model") {
  const Manifest own = put_model(layout, name, "made here");
  const std::string manifest = layout.manifest(*parse_name(name));
  const std::string text = *read_text(manifest, 4096);
  const std::string blob = layout.blob(own.layers[0].digest);
  REQUIRE(write_text(blob, "made hero").has_value());
  const auto repaired = [&] {
    auto verified = store.verify({.repair = true, .pull = options});
    REQUIRE(verified.has_value());
    CHECK(read_text(manifest, 4096).value_or("") == text);
    return *std::move(verified);
  };
  SUBCASE("another model is there by its name") {
    offer();
    const Verified verified = repaired();
    CHECK(!verified.fine());
    REQUIRE(verified.findings.size() == 1);
    CHECK(verified.findings[0].what.contains("no such file"));
    CHECK(verified.findings[0].what.contains("`puna rm " + name + "`"));
    CHECK(!registry.blobs.empty());
    CHECK(file_bytes(layout.blob(sha256_of(body))) < 0);
    CHECK(read_text(blob, 100).value_or("") == "made hero");
  }
  SUBCASE("none is") {
    const Verified verified = repaired();
    CHECK(!verified.fine());
    CHECK(verified.findings.at(0).what.contains("has no model"));
    CHECK(read_text(blob, 100).value_or("") == "made hero");
  }
  SUBCASE("another is that has the same weights") {
    body = "made here";
    offer();
    put_model(layout, "copy", body + ", changed");
    // A model that comes from nowhere needs them, too.
    REQUIRE(store.copy(name, "a").has_value());
    REQUIRE(write_text(blob, "made hero").has_value());
    const Verified verified = repaired();
    CHECK(verified.fine());
    CHECK(verified.findings.size() == 2);
    CHECK(read_text(blob, 100).value_or("") == "made here");
    CHECK(store.verify({})->findings.empty());
  }
}

TEST_CASE_FIXTURE(Fixture, "what has no registry is not pushed") {
  put_model(layout, "puna.local/catalogue/x", "12345");
  CHECK(store.push("x", options).error().code == base::ErrorCode::kInvalidArgument);
  CHECK(store.push("y", options).error().code == base::ErrorCode::kNotFound);
}

// A hub with one repository of files.
struct Hub {
  std::map<std::string, std::string> files;
  std::string more{};  // of the list of files
  TestServer server{[this](const TestRequest& request) { return answer(request); }};

  TestAnswer answer(const TestRequest& request) const {
    if (request.path == "/api/models/user/Repo?blobs=true") {
      std::string siblings = R"({"rfilename":"README.md","size":3})";
      for (const auto& [path, body] : files) {
        siblings += fmt::format(R"(,{{"rfilename":"{}","lfs":{{"sha256":"{}","size":{}}}}})", path,
                                sha256_of(body).hex(), body.size());
      }
      siblings += more;
      return {
          .body = fmt::format(
              R"({{"sha":"abc123","siblings":[{}],"cardData":{{"license":"mit"}}}})", siblings)};
    }
    const std::string prefix = "/user/Repo/resolve/abc123/";
    if (!request.path.starts_with(prefix) || !files.contains(request.path.substr(prefix.size())))
      return {.status = 404};
    return TestServer::serve_file({.body = files.at(request.path.substr(prefix.size()))}, request);
  }
};

TEST_CASE_FIXTURE(Fixture,
                  "a quantization of a repository comes with its parts and its projector") {
  Hub hub;
  hub.files = {{"Repo-Q4_K_M.gguf", "GGUF four"},
               {"q8/Repo-Q8_0-00001-of-00002.gguf", "GGUF eight, one"},
               {"q8/Repo-Q8_0-00002-of-00002.gguf", "GGUF eight, two"},
               {"mmproj-f16.gguf", "GGUF eyes"}};
  const TestVariable endpoint("HF_ENDPOINT", hub.server.url("/"));
  const TestVariable token("HF_TOKEN", "hf_secret");
  const auto four = store.pull("hf.co/user/Repo", options);
  REQUIRE_MESSAGE(four.has_value(), four.error().text());
  CHECK(*read_text(*four, 100) == "GGUF four");
  const auto found = store.resolve("hf.co/USER/repo");
  REQUIRE(found.has_value());
  CHECK(*read_text(found->projector, 100) == "GGUF eyes");
  CHECK(store.list()->at(0).file_type == "Q4_K_M");
  CHECK(hub.server.requests().at(0).find("Bearer hf_secret") != std::string::npos);

  const auto eight = store.pull("huggingface.co/user/Repo:q8_0", options);
  REQUIRE_MESSAGE(eight.has_value(), eight.error().text());
  const auto first = formats::parse_split_name(*eight);
  REQUIRE(first);
  CHECK(first->count == 2);
  CHECK(*read_text(*eight, 100) == "GGUF eight, one");
  CHECK(*read_text(formats::split_path(first->prefix, 2, 2), 100) == "GGUF eight, two");
  CHECK(store.resolve("hf.co/user/Repo:Q8_0")->path == *eight);

  const auto none = store.pull("hf.co/user/Repo:Q5_0", options);
  REQUIRE(!none.has_value());
  CHECK(none.error().code == base::ErrorCode::kNotFound);
  CHECK(none.error().message.find("Q4_K_M, Q8_0") != std::string::npos);
  CHECK(store.pull("hf.co/user/other", options).error().code == base::ErrorCode::kNotFound);
  REQUIRE(store.remove("hf.co/user/Repo:Q8_0").has_value());
  CHECK(!std::filesystem::exists(std::filesystem::path(*eight).parent_path()));
  CHECK(store.verify({})->findings.empty());
}

TEST_CASE_FIXTURE(Fixture, "a hub whose sizes cannot be is refused before anything is reckoned") {
  Hub hub;
  const TestVariable endpoint("HF_ENDPOINT", hub.server.url("/"));
  const auto part = [](int number, int count, const std::string& bytes, uint64_t size) {
    return fmt::format(
        R"(,{{"rfilename":"R-Q4_0-0000{}-of-0000{}.gguf","lfs":{{"sha256":"{}","size":{}}}}})",
        number, count, sha256_of(bytes).hex(), size);
  };
  constexpr uint64_t kHuge = INT64_MAX;
  SUBCASE("a sum that wraps") {
    hub.more = part(1, 3, "a", kHuge) + part(2, 3, "b", kHuge) + part(3, 3, "c", 2);
  }
  SUBCASE("a sum that is too large") {
    hub.more = part(1, 2, "a", kMaxModelBytes) + part(2, 2, "b", 2);
  }
  SUBCASE("one file of two sizes") { hub.more = part(1, 2, "a", 1) + part(2, 2, "a", 2); }
  const auto failed = store.pull("hf.co/user/Repo", options);
  REQUIRE(!failed.has_value());
  CHECK(failed.error().code == base::ErrorCode::kCorrupt);
  CHECK(hub.server.requests().size() == 1);
  CHECK(folder.files().empty());
}

}  // namespace
}  // namespace puna::store
