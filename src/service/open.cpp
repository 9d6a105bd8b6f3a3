#include "service/open.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/log.h"
#include "formats/open.h"
#include "gpu/devices.h"
#include "gpu/native/native.h"
#include "service/find_encoder.h"
#include "service/model_card.h"
#include "service/modelfile.h"
#include "service/profiles.h"
#include "store/parts.h"
#include "store/store.h"

namespace puna::service {

using base::ErrorCode;
using base::Result;
using base::Task;
using formats::ModelFile;

namespace {

struct Picked {
  gpu::Choice choice;
  std::optional<gpu::native::Adapter> adapter;  // none = the CPU
};

// Opens GPUs of the list.
Result<engine::MoreGpus::Devices> open_gpus(const std::vector<size_t>& indices,
                                            const gpu::native::OpenOptions& options) {
  engine::MoreGpus::Devices out;
  for (const size_t index : indices) {
    PUNA_TRY(std::shared_ptr<gpu::Device> device, gpu::native::open(index, options));
    out.push_back(std::move(device));
  }
  return out;
}

Result<Picked> pick(const OpenOptions& options) {
  Picked picked;
  // Asking for the CPU must not start a GPU driver.
  std::vector<gpu::native::Adapter> adapters;
  if (options.device != "cpu") {
    auto found = gpu::native::adapters();
    if (found) {
      adapters = *std::move(found);
    } else if (options.device == "auto" && found.error().code != ErrorCode::kInvalidArgument) {
      base::log_warning("No GPU is used: {}", found.error().text());
    } else {
      return std::unexpected(std::move(found.error()));
    }
  }
  PUNA_TRY(picked.choice, gpu::choose_device(options.device, adapters));
  if (!picked.choice.warning.empty()) base::log_warning("{}", picked.choice.warning);
  if (picked.choice.adapter) picked.adapter = std::move(adapters[*picked.choice.adapter]);
  return picked;
}

// What --device calls them, in their order.
std::vector<std::string> names_of(const gpu::Choice& choice) {
  std::vector<std::string> out;
  if (!choice.adapter) return out;
  out.push_back(fmt::format("gpu:{}", *choice.adapter));
  for (const size_t index : choice.more) out.push_back(fmt::format("gpu:{}", index));
  return out;
}

// What the store keeps beside a model that is opened by its name; none where the file is another.
std::optional<store::Modelfile> modelfile_of(const std::string& name, const ModelFile& file) {
  const Result<store::Resolved> found = store::resolve(name);
  if (!found || !found->stored || std::ranges::find(file.paths, found->path) == file.paths.end())
    return std::nullopt;
  const Result<store::ModelParts> parts = store::parts_of(*found->stored);
  Result<store::Modelfile> modelfile =
      parts ? store::modelfile_of(*parts) : std::unexpected(parts.error());
  if (modelfile) return *std::move(modelfile);
  base::log_warning("What is stored beside the weights of {} is not used: {}", name,
                    modelfile.error().text());
  return std::nullopt;
}

template <class T>
T drive(base::Task<T> task) {
  // Files are read at once: nothing waits.
  return base::run_until(std::move(task), [] {});
}

// Its files are opened in place, or fetched, as models are.
Task<Result<std::unique_ptr<Senses>>> load_senses(const OpenOptions& options, DeviceUse use,
                                                  const engine::EngineOptions& engine) {
  OpenOptions of_mmproj = options;
  of_mmproj.model = options.mmproj.path;
  PUNA_CO_TRY(of_mmproj.model, find_model(of_mmproj));
  // It is opened again for larger pictures, when who watches this load may be gone.
  of_mmproj.pull = false;
  of_mmproj.pull_options = {};
  of_mmproj.engine.hooks = {};
  if (options.mmproj.on_cpu) use = {};
  SensesOptions how{.picture_tokens = options.mmproj.picture_tokens,
                    .numerics = engine.numerics,
                    .profile = use.device ? engine.profile : nullptr,
                    .threads = engine.threads,
                    .n_threads = engine.n_threads,
                    .hooks = engine.hooks};
  const auto open = [of_mmproj]() -> Task<Result<ModelFile>> {
    co_return open_encoder_file(of_mmproj);
  };
  co_return co_await Senses::load(open, std::move(use), std::move(how));
}

}  // namespace

Result<std::string> find_model(const OpenOptions& options) {
  PUNA_TRY(const store::Resolved found, store::resolve(options.model));
  if (!found.needs_pull()) return found.path;
  if (!options.pull) {
    return base::fail(ErrorCode::kNotFound,
                      fmt::format("The model {} is not in the store; `puna pull {}` fetches it.",
                                  found.name, options.model));
  }
  if (found.entry)
    base::log_info("Pulling {}; licence: {}", found.entry->title, found.entry->license);
  PUNA_TRY(const store::Store store, store::Store::of_environment());
  return store.pull(options.model, options.pull_options);
}

Result<ModelFile> open_file(const OpenOptions& options) {
  PUNA_TRY(const std::string path, find_model(options));
  PUNA_TRY_CONTEXT(ModelFile file, drive(formats::open_model(path, {.map = options.map})),
                   fmt::format("While opening {}", path));
  return file;
}

void apply_modelfile(const ModelFile& file, OpenOptions& options) {
  if (const auto modelfile = modelfile_of(options.model, file))
    apply(*modelfile, number_of(file, "context_length"), options.engine);
}

Result<std::vector<std::string>> gpus_of(const OpenOptions& options) {
  PUNA_TRY(const Picked picked, pick(options));
  return names_of(picked.choice);
}

Result<DeviceUse> open_device(const OpenOptions& options) {
  DeviceUse use;
  if (options.engine.gpu_layers == 0u) {
    use.name = fmt::format("CPU ({})", kernels::cpu_variant());
    use.why = "--gpu-layers 0";
    return use;
  }
  PUNA_TRY(const Picked picked, pick(options));
  use.why = picked.choice.why;
  if (!picked.adapter) {
    use.name = fmt::format("CPU ({})", kernels::cpu_variant());
    return use;
  }
  use.name = picked.adapter->info.name;
  gpu::native::OpenOptions open;
  open.baseline = options.gpu_baseline;
  open.memory_bytes = options.gpu_memory_bytes;
  if (const auto root = store::default_root()) open.cache_dir = *root + "/pipelines";
  PUNA_TRY(use.device, gpu::native::open(*picked.choice.adapter, open));
  use.gpus = names_of(picked.choice);
  if (options.one_gpu) use.gpus.resize(1);
  if (use.gpus.size() > 1)
    use.open_more = [more = picked.choice.more, open] { return open_gpus(more, open); };
  return use;
}

Result<gpu::DeviceInfo> describe_device(const OpenOptions& options) {
  PUNA_TRY(const DeviceUse use, open_device(options));
  if (use.device) return use.device->info();
  // The plan of a GPU with nothing but what WebGPU guarantees.
  gpu::DeviceInfo baseline;
  baseline.name = "a baseline GPU";
  return baseline;
}

Result<std::unique_ptr<Senses>> open_senses(const OpenOptions& options) {
  DeviceUse use;
  if (!options.mmproj.on_cpu) {
    PUNA_TRY(use, open_device(options));
  }
  const std::shared_ptr<gpu::Device> device = use.device;
  engine::EngineOptions engine = options.engine;
  if (device) engine.profile = profile_for(*device, engine.numerics);
  return base::run_until(load_senses(options, std::move(use), engine), [device] {
    if (device) device->poll();
  });
}

Result<LoadedModel> open(const OpenOptions& options) {
  PUNA_TRY(ModelFile file, open_file(options));
  return open(std::move(file), options);
}

Result<LoadedModel> open(ModelFile file, const OpenOptions& asked) {
  const std::optional<store::Modelfile> modelfile = modelfile_of(asked.model, file);
  OpenOptions options = asked;
  if (modelfile) apply(*modelfile, number_of(file, "context_length"), options.engine);
  PUNA_TRY(DeviceUse use, open_device(options));
  gpu::Device* driver = use.device.get();
  if (!driver && options.engine.gpu_layers.value_or(0) > 0) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("--gpu-layers {} asks for a GPU, but the device is the {} ({}).",
                                  *options.engine.gpu_layers, use.name, use.why));
  }
  engine::EngineOptions engine = options.engine;
  if (driver) engine.profile = profile_for(*driver, engine.numerics);
  engine.more_gpus.open = use.open_more;
  engine.more_gpus.opened = std::make_shared<engine::MoreGpus::Devices>();
  const auto poll = [driver, more = engine.more_gpus] {
    if (driver) driver->poll();
    more.poll();
  };
  // First, so that what fits beside it is known.
  std::shared_ptr<Senses> senses;
  if (!options.mmproj.path.empty()) {
    engine.media = true;
    if (!driver && !engine.threads)
      engine.threads = std::make_shared<base::ThreadPool>(engine.n_threads);
    PUNA_TRY(senses, base::run_until(load_senses(options, use, engine), poll));
    PUNA_TRY(
        senses->check_fits(static_cast<uint32_t>(number_of(file, "embedding_length")), file.name));
    engine.media_rows = senses->most_rows_both_ways();
  }
  PUNA_TRY(LoadedModel model, base::run_until(load(options.model, std::move(file), std::move(use),
                                                   std::move(engine), options.defaults),
                                              poll));
  model.senses = std::move(senses);
  if (modelfile) apply(*modelfile, model);
  return model;
}

}  // namespace puna::service
