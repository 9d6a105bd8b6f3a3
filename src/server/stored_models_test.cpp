#include "server/stored_models.h"

#include <doctest/doctest.h>

#include "base/log.h"
#include "formats/gguf_test_util.h"
#include "store/test_store.h"

namespace puna::server {
namespace {

using base::ErrorCode;
using base::Json;

const std::string kDigits(64, 'a');

struct Models {
  store::TestFolder folder;
  store::Store store{folder.path()};
  StoredModels models{store};
  std::string bytes = formats::tiny_gguf().build();
  std::string digest = store::sha256_of(bytes).text();
  std::vector<std::string> said;
  std::atomic<bool> cancelled = false;

  api::Watch watch() {
    return {.tell = [this](const service::WorkProgress& p) { said.push_back(p.status); },
            .cancelled = cancelled};
  }
  base::Result<void> send(std::string_view to, std::string_view text) {
    PUNA_TRY(auto sink, models.receive_blob(to, text.size()));
    PUNA_TRY(sink->write(std::as_bytes(std::span(text))));
    return sink->finish();
  }
  base::Result<void> create(api::NewModel model) {
    if (model.files.empty()) model.files = {{"model.gguf", digest}};
    return models.create(model, watch());
  }
};

TEST_CASE("a blob is taken when its bytes are those of its digest") {
  Models all;
  CHECK(*all.models.has_blob(all.digest) == false);
  CHECK(all.send("sha256:" + kDigits, all.bytes).error().message ==
        "digest mismatch, expected sha256:" + kDigits + ", got " + all.digest);
  CHECK(store::names_in(all.store.layout().blobs()).empty());
  REQUIRE(all.send(all.digest, all.bytes).has_value());
  CHECK(*all.models.has_blob(all.digest) == true);
  for (const std::string& bad : {std::string("sha256:../../x"), kDigits, "sha256-" + kDigits}) {
    CHECK(all.models.has_blob(bad).error().code == ErrorCode::kInvalidArgument);
    CHECK(all.models.receive_blob(bad, {}).error().code == ErrorCode::kInvalidArgument);
  }
  CHECK(all.models.receive_blob("sha256:" + kDigits, uint64_t{1} << 60).error().code ==
        ErrorCode::kIo);
}

TEST_CASE("a model is made of what a request says, listed, shown and deleted") {
  Models all;
  REQUIRE(all.send(all.digest, all.bytes).has_value());
  const auto made =
      all.create({.name = "me/new",
                  .chat_template = "{{ .Prompt }}",
                  .system = "Be brief.",
                  .licenses = {"Free."},
                  .parameters = *Json::parse(R"({"top_k": 3, "stop": "a", "temperature": "0.5"})"),
                  .messages = *Json::parse(R"([{"role":"user","content":"Hi"}])"),
                  .parser = "qwen3"});
  REQUIRE_MESSAGE(made.has_value(), made.error().text());
  CHECK(all.said.back() == "success");
  const auto shown = all.models.show("ME/new");
  REQUIRE(shown.has_value());
  CHECK(shown->texts.license == "Free.");
  CHECK(shown->texts.modelfile.contains("FROM me/new:latest\n"));
  CHECK(!shown->texts.modelfile.contains(all.folder.path()));
  CHECK(shown->texts.parameters.contains("temperature                    0.5"));
  CHECK(shown->texts.parser == "qwen3");
  CHECK(shown->texts.messages.dump() == R"([{"role":"user","content":"Hi"}])");
  CHECK(shown->model.card.family == "llama");
  REQUIRE(all.models.copy("me/new", "second").has_value());
  const auto listed = all.models.list();
  REQUIRE(listed.has_value());
  REQUIRE(listed->size() == 2);
  CHECK(listed->at(0).digest == listed->at(1).digest);
  CHECK(listed->at(0).card.format == "gguf");
  REQUIRE(all.models.remove("me/new").has_value());
  CHECK(all.models.show("me/new").error().code == ErrorCode::kNotFound);
  CHECK(all.models.remove("me/new").error().code == ErrorCode::kNotFound);
  CHECK(all.models.list()->size() == 1);
}

TEST_CASE("what a request cannot have is refused") {
  Models all;
  REQUIRE(all.send(all.digest, all.bytes).has_value());
  const auto refusal = [&](api::NewModel model) {
    const auto made = all.create(std::move(model));
    REQUIRE_FALSE(made.has_value());
    return made.error().text();
  };
  CHECK(refusal({.name = "a", .parameters = *Json::parse(R"({"top_q": 1})")})
            .contains("unknown parameter 'top_q'"));
  CHECK(refusal({.name = "a", .parameters = *Json::parse(R"({"top_k": [1]})")}).contains("top_k"));
  CHECK(refusal({.name = "a", .parameters = *Json::parse(R"({"top_k": "x"})")})
            .contains("invalid int value"));
  CHECK(refusal({.name = "a", .parser = "none"}).contains("parser"));
  CHECK(refusal({.name = "a", .files = {{"x", "sha256:1"}}}).contains("sha256:1"));
  // A path of this machine is no model, whatever lies there.
  REQUIRE(store::write_text(all.folder.path() + "/x.gguf", all.bytes).has_value());
  all.cancelled = false;
  const auto from =
      all.models.create({.name = "a", .from = all.folder.path() + "/x.gguf"}, all.watch());
  CHECK(!from.has_value());
  CHECK(!all.models.show(all.folder.path() + "/x.gguf").has_value());
  CHECK(all.store.list()->empty());
}

TEST_CASE("plain http is for registries of this machine") {
  Models all;
  for (const char* name : {"example.com/a/b", "a", "192.168.1.1:5000/a/b"}) {
    const auto pulled = all.models.pull(name, /*insecure=*/true, all.watch());
    REQUIRE_FALSE(pulled.has_value());
    CHECK(pulled.error().message.contains("of this machine"));
    CHECK(!all.models.push(name, /*insecure=*/true, all.watch()).has_value());
  }
  CHECK(all.models.pull("../x", false, all.watch()).error().code == ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace puna::server
