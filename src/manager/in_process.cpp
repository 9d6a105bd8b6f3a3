#include "manager/in_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.h"
#include "manager/remembered.h"
#include "service/host_thread.h"
#include "service/model_card.h"

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

// `encoder`: beside the model.
Footprint footprint_of(const engine::Placement& placement, const std::string& gpu,
                       const service::MmprojOptions& encoder) {
  Footprint out;
  if (const uint64_t bytes = placement.memory_on(/*gpu=*/false).total(); bytes > 0)
    out[std::string(kHost)] = bytes;
  for (const engine::Stage& stage : placement.stages) {
    if (stage.on_gpu) out[stage.device == 0 ? gpu : stage.device_name] += stage.memory.total();
  }
  if (encoder.bytes > 0)
    out[gpu.empty() || encoder.on_cpu ? std::string(kHost) : gpu] += encoder.bytes;
  return out;
}

class HostedInstance final : public Instance {
 public:
  HostedInstance(const Entry& entry, const Recipe& recipe, service::LoadedModel model)
      : name_(fmt::format("{} {}", entry.path, entry.digest)),
        most_remembered_(model.engine->options().host_cache_bytes),
        host_(std::move(model)) {
    const engine::Engine& engine = *host_.model().engine;
    held_ = footprint_of(engine.placement(), engine.device() ? engine.device()->info().name : "",
                         recipe.options.mmproj);
    served_ = entry.served();
    for (const auto& source : engine.file().sources) served_.file_bytes += source->size();
    served_.n_texts = recipe.n_texts;
    served_.slot_folder = recipe.slot_folder;
    served_.hosts = std::make_shared<service::Hosts>(host_);
    served_.make_shared_parts();
  }

  const api::ServedModel& served() const override { return served_; }
  Footprint held() const override { return held_; }
  std::unique_ptr<Memories> remember() override {
    return manager::remember(host_, name_, most_remembered_);
  }
  void recall(const Memories& memories) { manager::recall(host_, name_, memories); }
  void stop() override { host_.stop(); }

 private:
  const std::string name_;  // whose weights have computed what it remembers
  const uint64_t most_remembered_;
  service::HostThread host_;
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
       if (options.gpu_layers) return false;
       options.gpu_layers = 0;
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
  device.is_gpu = use.device != nullptr;
  if (use.device) device.info = use.device->info();
  return &devices_.emplace(std::move(asked), std::move(device)).first->second;
}

Result<Loader::Measured> InProcess::measure(const Entry& entry, const std::atomic<bool>&) {
  PUNA_TRY(Reading reading, read(entry));
  const service::OpenOptions& options = reading.recipe.options;
  PUNA_TRY(const Device* device, device_of(options));
  PUNA_TRY_CONTEXT(const engine::Placement placement,
                   engine::Engine::forecast(reading.file, options.engine,
                                            device->is_gpu ? &device->info : nullptr),
                   fmt::format("While planning {}", entry.id));
  return Measured{.need = footprint_of(placement, device->info.name, options.mmproj),
                  .opened = std::make_unique<Reading>(std::move(reading))};
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
    auto model = service::open(std::move(reading.file), options);
    if (!model && model.error().code == ErrorCode::kOutOfMemory) {
      if (!refused) refused = std::move(model.error());
      continue;
    }
    if (!model) return std::unexpected(std::move(model.error()));
    model->name = entry.id;
    if (recipe.finish) PUNA_TRY(recipe.finish(*model));
    auto instance = std::make_unique<HostedInstance>(entry, recipe, *std::move(model));
    if (order.memories) instance->recall(*order.memories);
    return instance;
  }
  return std::unexpected(*std::move(refused));
}

}  // namespace puna::manager
