#include "store/places/places.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "formats/gguf_split.h"
#include "store/files.h"

namespace puna::store {
namespace {

namespace fs = std::filesystem;

struct Row {
  std::string_view name;
  std::vector<StoredModel> (*models)(const Place&);
};
// In the order of Origin. A store of Puna's has ollama's layout.
constexpr Row kRows[] = {{"puna", ollama_models},
                         {"ollama", ollama_models},
                         {"huggingface", hugging_face_models},
                         {"llama.cpp", llama_cpp_models},
                         {"folder", folder_models}};

constexpr int kMaxDepth = 2;
// Where ollama's own installer on Linux has the service keep them.
constexpr const char* kOllamaService = "/usr/share/ollama/.ollama/models";

}  // namespace

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string_view origin_name(Origin origin) { return kRows[static_cast<size_t>(origin)].name; }

std::vector<StoredModel> models_in(const Place& place) {
  std::vector<StoredModel> models = kRows[static_cast<size_t>(place.origin)].models(place);
  std::ranges::stable_sort(models, {}, [](const StoredModel& model) { return model.name.text(); });
  return models;
}

std::vector<Place> places_of_environment() {
  std::vector<Place> places;
  const auto add = [&](Origin origin, const std::string& path) {
    std::error_code error;
    if (!path.empty() && fs::is_directory(path, error)) places.push_back({origin, path});
  };
  const std::string home = variable("HOME");
  const auto in_home = [&](const std::string& path) { return home.empty() ? "" : home + path; };
  const std::string xdg = variable("XDG_CACHE_HOME");
  const std::string caches = xdg.empty() ? in_home("/.cache") : xdg;

  if (const std::string set = variable("OLLAMA_MODELS"); !set.empty()) {
    add(Origin::kOllama, set);
  } else {
    add(Origin::kOllama, in_home("/.ollama/models"));
    add(Origin::kOllama, kOllamaService);
  }
  if (const std::string hub = variable("HF_HUB_CACHE"); !hub.empty()) {
    add(Origin::kHuggingFace, hub);
  } else if (const std::string hf = variable("HF_HOME"); !hf.empty()) {
    add(Origin::kHuggingFace, hf + "/hub");
  } else if (!caches.empty()) {
    add(Origin::kHuggingFace, caches + "/huggingface/hub");
  }
  if (const std::string llama = variable("LLAMA_CACHE"); !llama.empty()) {
    add(Origin::kLlamaCpp, llama);
  } else if (!caches.empty()) {
    add(Origin::kLlamaCpp, caches + "/llama.cpp");
  }
  return places;
}

std::vector<std::string> gguf_paths(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(folder, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (it.depth() >= kMaxDepth) it.disable_recursion_pending();
    std::error_code vanished;
    if (it->path().extension() == ".gguf" && it->is_regular_file(vanished))
      paths.push_back(fs::path(it->path()).lexically_relative(folder).string());
  }
  return paths;
}

bool is_weights_folder(const std::string& folder) {
  if (file_bytes(folder + "/mlc-chat-config.json") >= 0) return true;
  if (file_bytes(folder + "/config.json") < 0) return false;
  return std::ranges::any_of(
      names_in(folder), [](const std::string& name) { return name.ends_with(".safetensors"); });
}

void measure(StoredModel& model) {
  std::vector<std::string> files;
  if (const auto split = formats::parse_split_name(model.path)) {
    for (uint32_t number = 1; number <= split->count; ++number)
      files.push_back(formats::split_path(split->prefix, number, split->count));
  } else if (file_bytes(model.path) >= 0) {
    files.push_back(model.path);
  } else {
    for (const std::string& name : names_in(model.path)) files.push_back(model.path + "/" + name);
  }
  if (!model.projector.empty()) files.push_back(model.projector);
  model.bytes = 0;
  for (const std::string& file : files) {
    model.bytes += static_cast<uint64_t>(std::max<int64_t>(0, file_bytes(file)));
    model.modified_s = std::max(model.modified_s, file_modified_s(file));
  }
}

}  // namespace puna::store
