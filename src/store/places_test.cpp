#include "store/places/places.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>

#include "store/changes.h"
#include "store/gguf_files.h"
#include "store/manifest.h"
#include "store/projector.h"
#include "store/sha256.h"
#include "store/test_store.h"

namespace puna::store {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> shown(const std::vector<StoredModel>& models) {
  std::vector<std::string> names;
  for (const StoredModel& model : models) names.push_back(model.name.text());
  return names;
}

void put(const std::string& path, const std::string& text = "GGUF") {
  REQUIRE(write_text(path, text).has_value());
}

TEST_CASE("file names tell quantization, parts and projectors") {
  std::vector<GgufFile> files;
  for (const char* path :
       {"Model-Q4_K_M.gguf", "model.Q8_0.gguf", "Model-UD-IQ2_XXS.gguf", "Model-BF16.gguf",
        "big/Model-F16-00001-of-00002.gguf", "big/Model-F16-00002-of-00002.gguf",
        "cut/Model-Q2_K-00001-of-00002.gguf", "mmproj-model-f32.gguf", "mmproj-Model-f16.gguf",
        "Model.imatrix.gguf", "README.md", "plain.gguf"})
    files.push_back({.path = path, .bytes = 1});
  const GgufModels found = group(files);
  std::vector<std::string> quants;
  for (const GgufModel& model : found.models) quants.push_back(model.quant);
  std::ranges::sort(quants);
  CHECK(quants == std::vector<std::string>{"BF16", "F16", "Q4_K_M", "Q8_0", "UD-IQ2_XXS", "plain"});
  REQUIRE(found.projectors.size() == 2);
  CHECK(found.projectors[0].path == "mmproj-Model-f16.gguf");
  REQUIRE(pick(found, "f16") != nullptr);
  CHECK(pick(found, "f16")->parts.size() == 2);
  CHECK(pick(found, "latest")->quant == "Q4_K_M");
  CHECK(pick(found, "model.q8_0.gguf")->quant == "Q8_0");
  CHECK(pick(found, "Q4_K") == nullptr);
  CHECK(pick(found, "Q2_K") == nullptr);
  CHECK(pick(group({}), "latest") == nullptr);
}

TEST_CASE("of several projectors names tell which is a model's") {
  const auto taken = [](std::string_view stem, const std::vector<const char*>& paths) {
    std::vector<GgufFile> files;
    for (const char* path : paths) files.push_back({.path = path, .bytes = 1});
    const GgufModels found = group(std::move(files));
    const ProjectorPick pick = pick_projector(found, stem);
    std::string out = pick.taken ? pick.taken->path : "";
    for (const GgufFile* each : pick.several) out += "|" + each->path;
    return out;
  };
  CHECK(taken("m-Q4_0", {"m-Q4_0.gguf"}) == "");
  CHECK(taken("m-Q4_0", {"m-Q4_0.gguf", "mmproj-x-f16.gguf"}) == "mmproj-x-f16.gguf");
  CHECK(taken("m-Q4_0", {"mmproj-F32.gguf", "mmproj-BF16.gguf", "mmproj_f16.gguf"}) ==
        "mmproj_f16.gguf");
  CHECK(taken("gemma-3-4b-it-Q4_K_M",
              {"mmproj-gemma-3-12b-it-f16.gguf", "mmproj-gemma-3-4b-it-Q8_0.gguf"}) ==
        "mmproj-gemma-3-4b-it-Q8_0.gguf");
  CHECK(taken("user_repo_Qwen2.5-VL-7B-tuned-Q4_0",
              {"mmproj-a.gguf", "Qwen2.5-VL-7B.mmproj.gguf"}) == "Qwen2.5-VL-7B.mmproj.gguf");
  CHECK(taken("m", {"mmproj-a-f16.gguf", "mmproj-b-f16.gguf"}) ==
        "|mmproj-a-f16.gguf|mmproj-b-f16.gguf");
  // One that is called as another model is that one's.
  CHECK(taken("text-Q4_0", {"seeing-Q4_0.gguf", "text-Q4_0.gguf", "mmproj-seeing-f16.gguf"}) == "");
  CHECK(taken("seeing-Q4_0", {"seeing-Q4_0.gguf", "text-Q4_0.gguf", "mmproj-seeing-f16.gguf"}) ==
        "mmproj-seeing-f16.gguf");
}

TEST_CASE("the projector of a path lies beside it") {
  TestFolder folder;
  put(folder.path() + "/big-00001-of-00002.gguf");
  put(folder.path() + "/big-00002-of-00002.gguf");
  const Resolved model{.path = folder.path() + "/big-00001-of-00002.gguf"};
  CHECK(projector_of(model).value() == "");
  put(folder.path() + "/mmproj-big-f16.gguf");
  CHECK(projector_of(model).value() == folder.path() + "/mmproj-big-f16.gguf");
  put(folder.path() + "/mmproj-one.gguf");
  put(folder.path() + "/mmproj-two.gguf");
  CHECK(projector_of(model).value() == folder.path() + "/mmproj-big-f16.gguf");
  const auto several = projector_of({.path = folder.path() + "/other.gguf"});
  REQUIRE(!several.has_value());
  CHECK(several.error().message.contains("mmproj-one.gguf, mmproj-two.gguf"));
}

TEST_CASE("a stored model whose projector is missing is there without it") {
  TestFolder home;
  const Store store(home.path(), {});
  put_model(store.layout(), "plain", "weights");
  Manifest manifest = load_manifest(store.layout().manifest(store.named("plain").value())).value();
  manifest.layers.push_back(
      {.media_type = std::string(kProjectorType), .digest = sha256_of("gone"), .bytes = 4});
  REQUIRE(put_manifest(store.layout(), store.named("seeing").value(), write_manifest(manifest))
              .has_value());
  const auto found = store.resolve("seeing");
  REQUIRE(found.has_value());
  CHECK(found->path == store.layout().blob(sha256_of("weights")));
  CHECK(projector_of(*found).value() == store.layout().blob(sha256_of("gone")));
  CHECK(store.list()->size() == 2);
  CHECK(!store.verify({})->fine());
}

TEST_CASE("ollama's store is read in place, and models without their blobs are left out") {
  TestFolder ollama, home;
  const Layout layout(ollama.path());
  put_model(layout, "llama3.2", "weights");
  put_model(layout, "hf.co/user/repo:Q4_0", "more");
  put_model(layout, "gone", "lost");
  remove_file(layout.blob(sha256_of("lost")));
  const auto before = ollama.files();
  const Store store(home.path(), {}, {{Origin::kOllama, ollama.path()}});
  const auto models = store.list();
  REQUIRE(models.has_value());
  CHECK(shown(*models) == std::vector<std::string>{"hf.co/user/repo:Q4_0", "llama3.2:latest"});
  CHECK(models->at(0).origin == Origin::kOllama);
  CHECK(store.resolve("LLAMA3.2")->path == layout.blob(sha256_of("weights")));
  const auto removed = store.remove("llama3.2");
  REQUIRE(!removed.has_value());
  CHECK(removed.error().code == base::ErrorCode::kUnsupported);
  CHECK(removed.error().message.find(ollama.path()) != std::string::npos);
  CHECK(ollama.files() == before);
  CHECK(home.files().empty());
  // Puna's own comes first.
  put_model(store.layout(), "llama3.2", "own");
  CHECK(store.resolve("llama3.2")->path == store.layout().blob(sha256_of("own")));
}

TEST_CASE("the cache of Hugging Face is read by its main revision, weights and GGUF alike") {
  TestFolder cache;
  const std::string gguf = cache.path() + "/models--user--Repo-GGUF";
  put(gguf + "/blobs/abc", "four");
  put(gguf + "/refs/main", "rev2\n");
  put(gguf + "/snapshots/rev1/Old-Q4_0.gguf");
  fs::create_directories(gguf + "/snapshots/rev2/sub");
  fs::create_symlink("../../blobs/abc", gguf + "/snapshots/rev2/Repo-Q4_0.gguf");
  put(gguf + "/snapshots/rev2/sub/Repo-Q8_0-00001-of-00002.gguf");
  put(gguf + "/snapshots/rev2/sub/Repo-Q8_0-00002-of-00002.gguf");
  put(gguf + "/snapshots/rev2/mmproj-f16.gguf");
  const std::string weights = cache.path() + "/models--user--weights/snapshots/r";
  put(weights + "/config.json", "{}");
  put(weights + "/model.safetensors", "1234567");
  put(cache.path() + "/models--user--no.thing/snapshots/r/README.md");
  put(cache.path() + "/datasets--user--x/snapshots/r/x.gguf");
  put(cache.path() + "/models--../snapshots/r/x.gguf");
  const auto models = models_in({Origin::kHuggingFace, cache.path()});
  CHECK(shown(models) == std::vector<std::string>{"hf.co/user/Repo-GGUF:Q4_0",
                                                  "hf.co/user/Repo-GGUF:Q8_0",
                                                  "hf.co/user/weights:latest"});
  CHECK(models[0].bytes == 8);
  CHECK(models[0].projector.ends_with("mmproj-f16.gguf"));
  CHECK(models[1].path.ends_with("sub/Repo-Q8_0-00001-of-00002.gguf"));
  CHECK(models[1].bytes == 12);
  CHECK(models[2].path == weights);
}

TEST_CASE("llama.cpp's cache names what its manifests name, and the rest by file") {
  TestFolder cache;
  put(cache.path() + "/user_repo_sub_Model-Q4_K_M.gguf");
  put(cache.path() + "/manifest=user=repo=Q4_K_M.json",
      R"({"ggufFile":{"rfilename":"sub/Model-Q4_K_M.gguf"},"mmprojFile":{"rfilename":"mmproj-eye.gguf"}})");
  put(cache.path() + "/user_repo_mmproj-eye.gguf");
  put(cache.path() + "/manifest=user=broken=latest.json", "{");
  put(cache.path() + "/manifest=..=..=...json", R"({"ggufFile":{"rfilename":"x"}})");
  put(cache.path() + "/other.gguf");
  put(cache.path() + "/half.gguf.downloadInProgress");
  const auto models = models_in({Origin::kLlamaCpp, cache.path()});
  CHECK(shown(models) == std::vector<std::string>{"hf.co/user/repo:Q4_K_M", "other:latest"});
  CHECK(models[0].projector == cache.path() + "/user_repo_mmproj-eye.gguf");
  CHECK(models[1].projector.empty());
}

TEST_CASE("a folder of models has files, split models, projectors and weights") {
  TestFolder folder;
  const std::string& root = folder.path();
  put(root + "/one model (1).gguf");
  put(root + "/split/big-00001-of-00002.gguf");
  put(root + "/split/big-00002-of-00002.gguf");
  put(root + "/seeing/m.gguf");
  put(root + "/seeing/mmproj-m.gguf");
  put(root + "/weights/config.json", "{}");
  put(root + "/weights/a.safetensors");
  put(root + "/empty/readme.txt");
  const auto models = models_in({Origin::kFolder, root});
  CHECK(shown(models) == std::vector<std::string>{"one-model--1-:latest", "seeing:latest",
                                                  "split:latest", "weights:latest"});
  CHECK(models[1].projector == root + "/seeing/mmproj-m.gguf");
  CHECK(models[2].path == root + "/split/big-00001-of-00002.gguf");
  TestFolder home;
  const Store store(home.path(), {}, {{Origin::kFolder, root}});
  CHECK(store.resolve("seeing")->projector == models[1].projector);
  CHECK(store.resolve("puna.local/files/split")->path == models[2].path);
}

TEST_CASE("the environment says where other programs keep their models") {
  TestFolder home;
  for (const char* folder : {"/.ollama/models", "/.cache/huggingface/hub", "/elsewhere"})
    fs::create_directories(home.path() + folder);
  const TestVariable at_home("HOME", home.path());
  const TestVariable no_ollama("OLLAMA_MODELS", ""), no_xdg("XDG_CACHE_HOME", "");
  const TestVariable no_hub("HF_HUB_CACHE", ""), no_hf("HF_HOME", "");
  const TestVariable no_llama("LLAMA_CACHE", "");
  const auto paths = [] {
    std::vector<std::string> found;
    for (const Place& place : places_of_environment()) {
      if (!place.path.starts_with("/usr/share"))  // of a service that this machine may have
        found.push_back(fmt::format("{} {}", origin_name(place.origin), place.path));
    }
    return found;
  };
  CHECK(paths() ==
        std::vector<std::string>{"ollama " + home.path() + "/.ollama/models",
                                 "huggingface " + home.path() + "/.cache/huggingface/hub"});
  const TestVariable ollama("OLLAMA_MODELS", home.path() + "/elsewhere");
  const TestVariable llama("LLAMA_CACHE", home.path() + "/elsewhere");
  const TestVariable hub("HF_HUB_CACHE", home.path() + "/missing");
  CHECK(paths() == std::vector<std::string>{"ollama " + home.path() + "/elsewhere",
                                            "llama.cpp " + home.path() + "/elsewhere"});
}

}  // namespace
}  // namespace puna::store
