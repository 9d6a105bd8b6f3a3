// The places where models may lie already: Puna's own store, and those of other programs, which are
// read where they lie and never written. places.cpp is the table; each is a file of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/digest.h"
#include "store/layout.h"
#include "store/name.h"

namespace puna::store {

enum class Origin : uint8_t { kPuna, kOllama, kHuggingFace, kLlamaCpp, kFolder };
std::string_view origin_name(Origin origin);  // "puna", "ollama", "huggingface", ...

struct Place {
  Origin origin = Origin::kFolder;
  std::string path{};
};

struct StoredModel {
  ModelName name{};
  Origin origin = Origin::kPuna;
  std::string path{};       // GGUF (the first of a split one) or folder of weights
  std::string projector{};  // beside the model; empty for none
  std::string store{};      // the folder of ollama's layout that it is kept in; empty: in none
  std::optional<Digest> digest{};  // of the manifest, where there is one
  uint64_t bytes = 0;
  int64_t modified_s = 0;  // Unix time
  // As the manifest's config tells; empty where nothing does.
  std::string family{}, parameters{}, file_type{};
};

// By name. What is damaged or not whole is left out.
std::vector<StoredModel> models_in(const Place& place);

// Where other programs keep models on this machine: OLLAMA_MODELS, else ~/.ollama/models and that
// of its service; HF_HUB_CACHE, else HF_HOME or XDG_CACHE_HOME, else ~/.cache/huggingface/hub;
// LLAMA_CACHE, else ~/.cache/llama.cpp. Those that are not there are left out.
std::vector<Place> places_of_environment();

// The value of a variable; empty when it is not set.
std::string variable(const char* name);

// What a manifest of ollama's layout stands for. Errors: kNotFound when manifest or a blob of the
// model is missing; kCorrupt.
base::Result<StoredModel> stored_model(const Layout& layout, const ManifestFile& file,
                                       Origin origin);

std::vector<StoredModel> ollama_models(const Place& place);
std::vector<StoredModel> hugging_face_models(const Place& place);
std::vector<StoredModel> llama_cpp_models(const Place& place);
std::vector<StoredModel> folder_models(const Place& place);

// The GGUF files below `folder`, at most two folders deep; paths relative to it.
std::vector<std::string> gguf_paths(const std::string& folder);
// Whether it holds weights of Hugging Face or MLC.
bool is_weights_folder(const std::string& folder);
// Sizes and time of what lies at `model.path` and the parts beside it.
void measure(StoredModel& model);

}  // namespace puna::store
