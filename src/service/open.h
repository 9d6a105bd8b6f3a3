// Opens a model for use: finds it by name, picks the device, loads the engine, and gives it a
// tokenizer and its chat template.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "chat/template.h"
#include "engine/engine.h"
#include "formats/model_file.h"
#include "store/store.h"
#include "tokenizer/tokenizer.h"

namespace puna::service {

struct OpenOptions {
  std::string model;            // a name in the store or catalogue, or a path
  std::string device = "auto";  // auto | gpu | gpu:N | cpu
  bool gpu_baseline = false;    // hide optional GPU features
  bool map = true;              // weights that need no repacking are used where the file lies
  bool pull = true;             // fetch a catalogue model that is not in the store yet
  engine::EngineOptions engine;
  store::PullOptions pull_options;
};

struct LoadedModel {
  std::string name;         // as asked for
  std::string device_name;  // "NVIDIA H200", "CPU (avx512_vnni)"
  std::unique_ptr<engine::Engine> engine;
  // Null when the file has no vocabulary, or one that is not supported; tokenizer_error says which.
  std::unique_ptr<tokenizer::Tokenizer> tokenizer;
  std::optional<base::Error> tokenizer_error;
  std::optional<chat::Template> chat_template;  // none for base models
};

// The model's tokenizer. Errors: kUnsupported saying why there is none.
base::Result<const tokenizer::Tokenizer*> tokenizer_of(const LoadedModel& model);

// A path for a model name, pulled when needed. Errors: those of store::Store.
base::Result<std::string> find_model(const OpenOptions& options);

// The file alone, for commands that need no device.
base::Result<formats::ModelFile> open_file(const OpenOptions& options);
base::Result<std::unique_ptr<tokenizer::Tokenizer>> open_tokenizer(formats::ModelFile& file);

// What the GPU that would be chosen offers; the WebGPU baseline when it is the CPU.
base::Result<gpu::DeviceInfo> describe_device(const OpenOptions& options);

// The device that --device means, opened; a null device is the CPU.
struct DeviceUse {
  std::unique_ptr<gpu::Device> device;
  std::string name;  // "NVIDIA H200", "CPU (avx512_vnni)"
  std::string why;
};
base::Result<DeviceUse> open_device(const OpenOptions& options);

// Errors: those of finding, parsing, choosing a device and loading, with context.
base::Result<LoadedModel> open(const OpenOptions& options);
// The same for a model file made elsewhere (synthetic weights); it may lack a vocabulary.
base::Result<LoadedModel> open(formats::ModelFile file, const OpenOptions& options);

}  // namespace puna::service
