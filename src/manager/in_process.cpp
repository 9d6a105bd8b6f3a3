#include "manager/in_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "manager/remembered.h"
#include "service/model_card.h"
#include "service/replicas.h"

namespace puna::manager {

using base::ErrorCode;
using base::Result;

namespace {

// Short, and long enough for a few turns of a chat.
constexpr uint32_t kShortContext = 2048;

// What the store keeps beside a file is found by its name there.
const std::string& name_of(const Entry& entry) {
  return entry.stored_as.empty() ? entry.path : entry.stored_as;
}

// What a copy takes. `gpus`: as service::DeviceUse has them; `encoder`: beside the model.
void add(const engine::Placement& placement, const std::vector<std::string>& gpus,
         const service::MmprojOptions& encoder, Footprint& to) {
  const auto take = [&](std::string_view device, uint64_t bytes) {
    if (bytes > 0) to[std::string(device)] += bytes;
  };
  take(kHost, placement.memory_on(/*gpu=*/false).total());
  for (const engine::Stage& stage : placement.stages) {
    if (stage.on_gpu) take(gpus[stage.device], stage.memory.total());
  }
  take(gpus.empty() || encoder.on_cpu ? kHost : std::string_view(gpus.front()), encoder.bytes);
}

class HostedInstance final : public Instance {
 public:
  // At least one model.
  HostedInstance(const Entry& entry, const Recipe& recipe, std::vector<service::LoadedModel> models)
      : name_(fmt::format("{} {}", entry.path, entry.digest)),
        most_remembered_(models.front().engine->options().host_cache_bytes),
        replicas_(std::move(models)) {
    const auto& hosts = replicas_.hosts();
    for (const service::Host* const host : hosts->all()) {
      const service::LoadedModel& model = host->model();
      add(model.engine->placement(), model.gpus, recipe.options.mmproj, held_);
    }
    served_ = entry.served();
    for (const auto& source : hosts->model().engine->file().sources)
      served_.file_bytes += source->size();
    served_.n_texts = recipe.n_texts * static_cast<uint32_t>(hosts->all().size());
    served_.slot_folder = recipe.slot_folder;
    served_.hosts = hosts;
    served_.make_shared_parts();
  }

  const api::ServedModel& served() const override { return served_; }
  Footprint held() const override { return held_; }
  std::unique_ptr<Memories> remember() override {
    return manager::remember(*replicas_.hosts(), name_, most_remembered_);
  }
  void recall(const Memories& memories) { manager::recall(*replicas_.hosts(), name_, memories); }
  void stop() override { replicas_.stop(); }

 private:
  const std::string name_;  // whose weights have computed what it remembers
  const uint64_t most_remembered_;
  service::Replicas replicas_;
  Footprint held_;
  api::ServedModel served_;
};

// What is tried one after the other where memory is refused, with what is said of it.
struct Step {
  const char* said;
  // False: it was asked for otherwise, or is so already. `trained`: tokens; 0: not known.
  bool (*change)(Recipe& recipe, uint64_t trained);
};
constexpr Step kSteps[] = {
    {"", [](Recipe&, uint64_t) { return true; }},
    {"a shorter context",
     [](Recipe& recipe, uint64_t trained) {
       engine::EngineOptions& options = recipe.options.engine;
       const uint64_t before = options.context.value_or(0) > 0 ? *options.context : trained;
       if (recipe.asks_for_room || (before > 0 && before <= kShortContext)) return false;
       options.context = kShortContext;
       if (options.cache_tokens) options.cache_tokens = kShortContext;
       return true;
     }},
    {"no layers on the GPU",
     [](Recipe& recipe, uint64_t) {
       engine::EngineOptions& options = recipe.options.engine;
       if (options.gpu_layers || recipe.n_replicas.value_or(1) > 1) return false;
       options.gpu_layers = 0;
       recipe.n_replicas = 1;
       return true;
     }},
};

}  // namespace

struct InProcess::Reading final : Opened {
  Recipe recipe{};
  formats::ModelFile file{};
};

Result<InProcess::Reading> InProcess::read(const Entry& entry) const {
  Reading out;
  PUNA_TRY(out.recipe, recipe_of_(entry));
  service::OpenOptions& options = out.recipe.options;
  options.model = entry.path;
  PUNA_TRY(out.file, service::open_file(options));
  options.model = name_of(entry);
  if (out.recipe.fit) PUNA_TRY(out.recipe.fit(options.model, out.file, options));
  service::apply_modelfile(out.file, options);
  return out;
}

Result<const InProcess::Device*> InProcess::device_of(const service::OpenOptions& options) {
  std::string asked = options.device + (options.gpu_baseline ? " baseline" : "");
  if (options.engine.gpu_layers == 0u) asked = "cpu";
  const auto known = devices_.find(asked);
  if (known != devices_.end()) return &known->second;
  PUNA_TRY(const service::DeviceUse use, service::open_device(options));
  Device device;
  device.gpus = use.gpus;
  if (use.device) device.info = use.device->info();
  return &devices_.emplace(std::move(asked), std::move(device)).first->second;
}

Result<Loader::Measured> InProcess::measure(const Entry& entry, const std::atomic<bool>&) {
  PUNA_TRY(Reading reading, read(entry));
  const Recipe& recipe = reading.recipe;
  PUNA_TRY(const auto copies, service::replicas_of(recipe.options, recipe.n_replicas));
  Measured out;
  for (const service::OpenOptions& options :
       std::span(copies).first(recipe.n_replicas.value_or(1))) {
    PUNA_TRY(const Device* device, device_of(options));
    PUNA_TRY_CONTEXT(const engine::Placement placement,
                     engine::Engine::forecast(reading.file, options.engine,
                                              device->gpus.empty() ? nullptr : &device->info),
                     fmt::format("While planning {}", entry.id));
    add(placement, device->gpus, options.mmproj, out.need);
  }
  out.opened = std::make_unique<Reading>(std::move(reading));
  return out;
}

Result<std::unique_ptr<Instance>> InProcess::load(const Entry& entry, Order order) {
  std::optional<base::Error> refused;
  for (const Step& step : kSteps) {
    if (refused && !order.step_down) break;
    // What was read to measure it is good for one attempt.
    Reading reading;
    const auto opened = std::exchange(order.opened, nullptr);
    if (auto* const left = dynamic_cast<Reading*>(opened.get())) {
      reading = std::move(*left);
    } else {
      PUNA_TRY(reading, read(entry));
    }
    Recipe& recipe = reading.recipe;
    service::OpenOptions& options = recipe.options;
    options.engine.hooks.cancel = order.cancel;
    // Others may go before layers do.
    if (!order.step_down) options.engine.fit.layers = false;
    if (!step.change(recipe, service::number_of(reading.file, "context_length"))) continue;
    if (refused)
      base::log_warning("{}: {} It is tried with {}.", entry.id, refused->text(), step.said);
    std::optional<formats::ModelFile> file = std::move(reading.file);
    const auto open = [&](service::OpenOptions own) -> Result<service::LoadedModel> {
      if (!file) {
        const std::string name = std::exchange(own.model, entry.path);
        PUNA_TRY(file, service::open_file(own));
        own.model = name;
      }
      PUNA_TRY(service::LoadedModel model, service::open(*std::exchange(file, std::nullopt), own));
      model.name = entry.id;
      if (recipe.finish) PUNA_TRY(recipe.finish(model));
      return model;
    };
    auto models = service::open_replicas(options, recipe.n_replicas, open);
    if (!models && models.error().code == ErrorCode::kOutOfMemory) {
      if (!refused) refused = std::move(models.error());
      continue;
    }
    if (!models) return std::unexpected(std::move(models.error()));
    auto instance = std::make_unique<HostedInstance>(entry, recipe, *std::move(models));
    if (order.memories) instance->recall(*order.memories);
    return instance;
  }
  return std::unexpected(*std::move(refused));
}

}  // namespace puna::manager
