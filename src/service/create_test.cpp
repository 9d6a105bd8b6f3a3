#include "service/create.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "formats/gguf_test_util.h"
#include "service/shown.h"
#include "store/parts.h"
#include "store/test_store.h"

namespace puna::service {
namespace {

using base::ErrorCode;
using base::Json;
using base::Result;
using store::TestFolder;

// A store, and a folder beside it with "tiny.gguf".
struct Place {
  TestFolder folder;
  store::Store store{folder.path() + "/home"};
  std::string bytes =
      formats::tiny_gguf().text("tokenizer.chat_template", "{{ messages }}").build();
  std::vector<std::string> said;

  Place() { write("tiny.gguf", bytes); }

  void write(const std::string& name, const std::string& text) const {
    const std::string path = folder.path() + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  Result<void> make(CreateRequest request) {
    said.clear();
    request.paths = request.files.empty();
    request.folder = folder.path();
    return create(store, request, {.progress = [&](const WorkProgress& progress) {
                    if (progress.total_bytes == 0) said.push_back(progress.status);
                  }});
  }
  Result<void> make(const std::string& name, const std::string& modelfile,
                    const std::string& quantize = "") {
    auto parsed = store::parse_modelfile(modelfile);
    REQUIRE_MESSAGE(parsed.has_value(), parsed.error().text());
    return make({.name = name, .modelfile = std::move(parsed->modelfile), .quantize = quantize});
  }
  ShownModel shown(const std::string& name) const {
    const auto model = store.find(name);
    REQUIRE_MESSAGE(model.has_value(), model.error().text());
    auto out = show_stored(*model);
    REQUIRE_MESSAGE(out.has_value(), out.error().text());
    return *std::move(out);
  }
  store::Digest put_blob(const std::string& text) const {
    REQUIRE(store.layout().prepare().has_value());
    const store::Digest digest = store::sha256_of(text);
    REQUIRE(store::write_text(store.layout().blob(digest), text).has_value());
    return digest;
  }
  bool is_fine() const {
    const auto verified = store.verify({});
    return verified && verified->findings.empty();
  }
};

TEST_CASE("a file and a Modelfile are a model") {
  Place place;
  const auto made = place.make("me/new",
                               "FROM ./tiny.gguf\nTEMPLATE {{ .Prompt }}\nSYSTEM Be brief.\n"
                               "PARAMETER top_k 3\nPARAMETER stop a\nPARAMETER stop b\n"
                               "MESSAGE user Hi\nMESSAGE assistant Hello\nLICENSE Free.\n");
  REQUIRE_MESSAGE(made.has_value(), made.error().text());
  CHECK(place.said.front() == "parsing GGUF");
  CHECK(place.said.back() == "success");
  const ShownModel model = place.shown("me/new");
  CHECK(model.parts.chat_template == "{{ .Prompt }}");
  CHECK(model.chat_template == "{{ .Prompt }}");
  CHECK(model.modelfile.system == "Be brief.");
  CHECK(model.modelfile.parameters.dump() == R"({"top_k":3,"stop":["a","b"]})");
  CHECK(model.modelfile.messages.size() == 2);
  CHECK(model.parts.licenses == std::vector<std::string>{"Free."});
  CHECK(model.stored->family == "llama");
  CHECK(model.stored->path == place.store.layout().blob(store::sha256_of(place.bytes)));
  CHECK(parameters_text(model.modelfile.parameters).ends_with("\"b\""));
  CHECK(place.is_fine());
}

TEST_CASE("a model is made from another, whose parts it has where it says nothing") {
  Place place;
  REQUIRE(place.make("base", "FROM tiny.gguf\nSYSTEM One.\nPARAMETER top_k 3\nLICENSE A\n"));
  REQUIRE(place.make("next", "FROM base\nPARAMETER top_p 0.5\nLICENSE B\n"));
  const ShownModel next = place.shown("next");
  CHECK(next.modelfile.system == "One.");
  CHECK(next.modelfile.parameters.dump() == R"({"top_k":3,"top_p":0.5})");
  CHECK(next.parts.licenses == std::vector<std::string>{"A", "B"});
  CHECK(std::ranges::find(place.said,
                          "using existing layer " + store::sha256_of(place.bytes).text()) !=
        place.said.end());
  // Over itself, too.
  REQUIRE(place.make("next", "FROM next\nSYSTEM Two.\n"));
  CHECK(place.shown("next").modelfile.system == "Two.");
  CHECK(place.shown("base").modelfile.system == "One.");
  CHECK(place.is_fine());
}

TEST_CASE("a model of another program's store is copied, and has to be whole") {
  Place place;
  const store::Store other(place.folder.path() + "/other");
  CreateRequest request{.name = "theirs", .paths = true, .folder = place.folder.path()};
  request.modelfile.from = {"tiny.gguf"};
  request.modelfile.system = "Hi.";
  REQUIRE(create(other, request, {}).has_value());
  place.store = store::Store(place.folder.path() + "/home", {},
                             {{store::Origin::kOllama, other.layout().models()}});
  REQUIRE(place.make("mine", "FROM theirs\n"));
  CHECK(place.shown("mine").modelfile.system == "Hi.");
  CHECK(place.store.find("mine")->origin == store::Origin::kPuna);
  CHECK(place.store.copy("theirs", "second").error().message.contains("only reads"));
  std::string damaged = place.bytes;
  damaged.back() = 'x';
  REQUIRE(store::write_text(other.layout().blob(store::sha256_of(place.bytes)), damaged));
  CHECK(place.make("worse", "FROM theirs\n").error().code == ErrorCode::kCorrupt);
  CHECK(!place.store.find("worse").has_value());
  CHECK(place.is_fine());
}

TEST_CASE("weights are written with other types where that is asked for") {
  Place place;
  REQUIRE(place.make("small", "FROM tiny.gguf\n", "Q8_0"));
  const ShownModel model = place.shown("small");
  CHECK(model.card.file_type == "Q8_0");
  CHECK(model.stored->file_type == "Q8_0");
  CHECK(place.make("none", "FROM tiny.gguf\n", "q9").error().code == ErrorCode::kUsage);
  CHECK(place.is_fine());
}

TEST_CASE("a model is made of blobs, by the names of their files") {
  Place place;
  const store::Digest digest = place.put_blob(place.bytes);
  CreateRequest request{.name = "sent", .files = {{"any-name", digest}}};
  REQUIRE(place.make(request));
  CHECK(place.shown("sent").stored->path == place.store.layout().blob(digest));
  for (const std::string& name : {std::string("../a.gguf"), std::string("/a"), std::string(".a"),
                                  std::string("a/b"), std::string(), std::string(300, 'a')}) {
    CAPTURE(name);
    request.files = {{name, digest}};
    CHECK(place.make(request).error().code == ErrorCode::kInvalidArgument);
  }
  request.files = {{"a.gguf", store::sha256_of("not sent")}};
  CHECK(place.make(request).error().message.contains("was not sent"));
  request.files = {{"a.gguf", place.put_blob("GGUFnot really")}};
  CHECK(!place.make(request).has_value());
  request.files = {{"config.json", place.put_blob("{}")}};
  CHECK(!place.make(request).has_value());
  request.files = {{"a.gguf", digest}};
  request.modelfile.from = {"sent"};
  CHECK(place.make(request).error().message == "both 'from' and 'files' were specified");
  // What was given up left nothing but the blobs that were sent.
  for (const std::string& name : store::names_in(place.store.layout().blobs()))
    CHECK(!name.starts_with(store::kAsidePrefix));
}

TEST_CASE("what cannot be made is said before anything is written") {
  Place place;
  const auto refusal = [&](const std::string& name, const std::string& modelfile) {
    const auto made = place.make(name, modelfile);
    REQUIRE_FALSE(made.has_value());
    return made.error();
  };
  CHECK(refusal("../x", "FROM tiny.gguf\n").code == ErrorCode::kInvalidArgument);
  CHECK(refusal("smollm2", "FROM tiny.gguf\n").message.contains("catalogue"));
  CHECK(refusal("a", "FROM tiny.gguf\nTEMPLATE {{ if }}\n").text().contains("template"));
  CHECK(refusal("a", "FROM nothing\n").code == ErrorCode::kNotFound);
  CHECK(refusal("a", "FROM tiny.gguf\nFROM tiny.gguf\n").message.contains("no projector"));
  place.write("bad.gguf", "GGUF");
  CHECK(refusal("a", "FROM bad.gguf\n").code == ErrorCode::kCorrupt);
  CHECK(place.store.list()->empty());
  const std::atomic<bool> cancel = true;
  CreateRequest request{.name = "a", .paths = true, .folder = place.folder.path()};
  request.modelfile.from = {"tiny.gguf"};
  CHECK(create(place.store, request, {.cancel = &cancel}).error().code == ErrorCode::kCancelled);
  CHECK(place.is_fine());
}

}  // namespace
}  // namespace puna::service
