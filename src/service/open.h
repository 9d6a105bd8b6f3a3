// Opens a model for use: finds it by name, picks the device and loads it (model.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "service/model.h"
#include "service/senses.h"
#include "store/store.h"

namespace puna::service {

// The encoder of pictures and sounds beside a model.
struct MmprojOptions {
  std::string path;     // an mmproj file; empty: none
  bool on_cpu = false;  // whatever device the model is on
  uint64_t bytes = 0;   // of its weights, where somebody has looked
  PictureTokens picture_tokens{};
};

struct OpenOptions {
  std::string model;                              // a name in the store or catalogue, or a path
  std::string device = "auto";                    // auto | gpu | gpu:N | gpu:N,gpu:M | cpu
  bool one_gpu = false;                           // of those that `device` means
  bool gpu_baseline = false;                      // hide optional GPU features
  std::optional<uint64_t> gpu_memory_bytes = {};  // the GPU is used as if it had no more
  bool map = true;   // weights that need no repacking are used where the file lies
  bool pull = true;  // fetch a catalogue model that is not in the store yet
  MmprojOptions mmproj;
  engine::EngineOptions engine;  // its `media` is set where there is an mmproj file
  store::PullOptions pull_options;
  // What requests mean where neither they nor the model, its file or its Modelfile, say it.
  Defaults defaults;
};

// A path for a model name, pulled when needed. Errors: those of store::Store.
base::Result<std::string> find_model(const OpenOptions& options);

// The file alone, for commands that need no device.
base::Result<formats::ModelFile> open_file(const OpenOptions& options);

// What the Modelfile of a stored model, which `file` is of, says of how it is loaded, as far as
// `options` do not: what open() does itself, for whoever asks before what it will take.
void apply_modelfile(const formats::ModelFile& file, OpenOptions& options);

// What the GPU that would be chosen offers; the WebGPU baseline when it is the CPU.
base::Result<gpu::DeviceInfo> describe_device(const OpenOptions& options);

// The GPUs that --device means, each by a name of its own (gpu:N), in their order; none: the CPU.
base::Result<std::vector<std::string>> gpus_of(const OpenOptions& options);

// The device that --device means, opened.
base::Result<DeviceUse> open_device(const OpenOptions& options);

// The encoder alone, without a model beside. Errors: as open().
base::Result<std::unique_ptr<Senses>> open_senses(const OpenOptions& options);

// Where it is a stored model, with what its Modelfile says (modelfile.h). Errors: those of finding,
// parsing, choosing a device and loading, with context.
base::Result<LoadedModel> open(const OpenOptions& options);
// The same for a model file made elsewhere (synthetic weights); it may lack a vocabulary.
base::Result<LoadedModel> open(formats::ModelFile file, const OpenOptions& options);

}  // namespace puna::service
