// puna inspect: what a model file holds and what Puna would do with it.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>

#include "base/json.h"
#include "base/printable.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "models/models.h"
#include "models/summary.h"
#include "plan/fuse.h"
#include "plan/gpu_plan.h"
#include "plan/host_experts.h"
#include "plan/split.h"

namespace puna::cli {
namespace {

using base::Json;

constexpr size_t kShownItems = 4;   // of long arrays
constexpr size_t kShownText = 120;  // of long strings, in bytes

struct InspectFlags {
  ModelFlags model;
  bool json = false;
  bool plan = false;
};

Json to_json(const formats::Value& value) {
  return std::visit(
      [](const auto& v) -> Json {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, formats::ListOfLists>) {
          Json out = Json::array();
          for (const formats::Value& list : v.lists) out.push(to_json(list));
          return out;
        } else if constexpr (requires {
                               v.begin();
                               typename T::value_type;
                             } && !std::is_same_v<T, std::string>) {
          Json out = Json::array();
          for (const auto& item : v) out.push(Json(static_cast<typename T::value_type>(item)));
          return out;
        } else {
          return Json(v);
        }
      },
      value);
}

std::string to_text(const formats::Value& value) {
  const Json json = to_json(value);
  if (json.is_string()) {
    const std::string text = json.dump();
    if (text.size() <= kShownText) return base::printable(text);
    const std::string_view head =
        std::string_view(text).substr(0, base::utf8_complete_prefix({text.data(), kShownText}));
    return fmt::format("{}... ({} bytes)", base::printable(head), json.string().size());
  }
  if (!json.is_array() || json.items().size() <= kShownItems) return base::printable(json.dump());
  Json head = Json::array();
  for (size_t i = 0; i < kShownItems; ++i) head.push(json.items()[i]);
  std::string text = base::printable(head.dump());
  text.pop_back();
  return fmt::format("{},...] ({} items)", text, json.items().size());
}

Json describe_json(const formats::ModelFile& file) {
  Json metadata = Json::object();
  for (const auto& [key, value] : file.metadata) metadata.set(key, to_json(value));
  Json tensors = Json::array();
  uint64_t bytes = 0, elements = 0;
  for (const formats::Tensor& t : file.tensors) {
    Json shape = Json::array();
    for (uint64_t d : t.shape) shape.push(Json(d));
    Json row = Json::object();
    row.set("name", t.name).set("type", t.type_name()).set("shape", std::move(shape));
    row.set("source", t.source).set("offset", t.offset).set("bytes", t.bytes);
    tensors.push(std::move(row));
    bytes += t.bytes;
    elements += t.rows() * t.columns();
  }
  Json out = Json::object();
  out.set("name", file.name).set("n_tokens", static_cast<uint64_t>(file.vocabulary.tokens.size()));
  out.set("n_tensors", static_cast<uint64_t>(file.tensors.size()))
      .set("tensor_bytes", bytes)
      .set("parameters", elements);
  out.set("metadata", std::move(metadata)).set("tensors", std::move(tensors));
  return out;
}

void print_text(const formats::ModelFile& file) {
  print_out("{}\n", base::printable(file.name));
  for (const auto& [key, value] : file.metadata)
    print_out("  {} = {}\n", base::printable(key), to_text(value));
  const tokenizer::Vocabulary& v = file.vocabulary;
  if (!v.tokens.empty()) {
    print_out("vocabulary: {} tokens, {} merges, model \"{}\", pre-tokenizer \"{}\"\n",
              v.tokens.size(), v.merges.size(), base::printable(v.model), base::printable(v.pre));
  }
  uint64_t bytes = 0, elements = 0;
  std::map<std::string, std::pair<int, uint64_t>> by_type;
  for (const formats::Tensor& t : file.tensors) {
    print_out("  {:<40} {:<7} [{}] at {} ({})\n", base::printable(t.name), t.type_name(),
              fmt::join(t.shape, ", "), t.offset,
              t.usable() ? human_bytes(t.bytes) : "not supported");
    bytes += t.bytes;
    elements += t.rows() * t.columns();
    auto& [n, sum] = by_type[t.type_name()];
    ++n;
    sum += t.bytes;
  }
  const auto n = static_cast<double>(elements);
  print_out(
      "tensors: {}, {} parameters, {}\n", file.tensors.size(),
      elements < 1'000'000 ? fmt::format("{:.0f} k", n / 1e3) : fmt::format("{:.1f} M", n / 1e6),
      human_bytes(bytes));
  for (const auto& [type, sum] : by_type)
    print_out("  {:<7} {} tensors, {}\n", type, sum.first, human_bytes(sum.second));
}

// What Puna makes of the file: the model's summary, or why it cannot be run.
struct Model {
  std::vector<std::pair<std::string, std::string>> lines;
  std::string missing;  // empty when it can
};

Model read_model(const formats::ModelFile& file) {
  const auto config = models::read_config(file);
  if (!config) return {{}, config.error().text()};
  const auto graph = models::build(file, *config);
  if (!graph) return {{}, graph.error().text()};
  return {models::summary(*config, *graph), {}};
}

void add_model(const Model& model, Json& document) {
  Json json = Json::object();
  json.set("supported", model.missing.empty());
  if (!model.missing.empty()) json.set("missing", model.missing);
  for (const auto& [what, text] : model.lines) json.set(what, text);
  document.set("model", std::move(json));
}

void print_model(const Model& model) {
  if (!model.missing.empty()) print_out("not supported: {}\n", base::printable(model.missing));
  if (!model.lines.empty()) print_out("model:\n");
  for (const auto& [what, text] : model.lines)
    print_out("  {:<13} {}\n", what, base::printable(text));
}

base::Result<int> run_inspect(const InspectFlags& flags) {
  catch_interrupts();
  ProgressBar bar;
  PUNA_TRY(const service::OpenOptions options, open_options(flags.model, {}, bar));
  PUNA_TRY(const formats::ModelFile file, service::open_file(options));
  bar.clear();
  Json document = flags.json ? describe_json(file) : Json();
  const Model model = read_model(file);
  if (flags.json) {
    add_model(model, document);
  } else {
    print_text(file);
    print_model(model);
  }
  if (flags.plan) {
    PUNA_TRY(models::Config config, models::read_config(file));
    const uint32_t usual = config.usual_context > 0 ? config.usual_context : 8192u;
    const uint32_t asked = options.engine.context.value_or(std::min(8192u, usual));
    config.planned_context = asked == 0 ? config.context : std::min(asked, config.context);
    PUNA_TRY(plan::Graph graph, models::build(file, config));
    const uint32_t n_layers = plan::n_layers(graph);
    PUNA_TRY(const uint32_t first_on_gpu,
             engine::first_gpu_layer(graph, options.engine.gpu_layers.value_or(n_layers)));
    if (first_on_gpu == n_layers) {
      return base::fail(base::ErrorCode::kInvalidArgument,
                        "With --gpu-layers 0 there is no GPU plan.");
    }
    PUNA_TRY(const uint32_t experts_end,
             engine::end_of_cpu_experts(graph, options.engine.cpu_experts.value_or(0)));
    if (first_on_gpu > 0) graph = plan::split(graph, first_on_gpu).rest;
    plan::HostExperts experts = plan::host_experts(std::move(graph), experts_end);
    graph = plan::fuse(std::move(experts.device));
    plan::CacheConfig cache;
    cache.type = options.engine.kv_type;
    cache.pages_per_sequence = static_cast<uint32_t>(kernels::pages_for(config.planned_context));
    cache.n_pages = cache.pages_per_sequence;
    PUNA_TRY(const gpu::DeviceInfo device, service::describe_device(options));
    PUNA_TRY(const plan::GpuPlan plan,
             engine::plan_for_gpu(graph, cache, {.numerics = options.engine.numerics}, device));
    std::string text =
        plan::describe(plan) +
        fmt::format("staging {} bytes\n", engine::gpu_staging_bytes(plan, graph.n_out()));
    if (first_on_gpu > 0) {
      text +=
          fmt::format("on the CPU: the embedding and {} of {} layers\n", first_on_gpu, n_layers);
    }
    if (!experts.host.ops.empty()) {
      text += fmt::format("on the CPU: the experts of {} layers\n",
                          plan::expert_layers(experts.host).size());
    }
    if (flags.json) {
      document.set("plan", text);
    } else {
      print_out("plan for {} (context {}):\n{}", device.name, cache.n_pages * kernels::kPageTokens,
                base::printable(text, base::Keep::kLines));
    }
  }
  if (flags.json) print_json(document);
  return 0;
}

}  // namespace

Action add_inspect(CLI::App& app) {
  auto flags = std::make_shared<InspectFlags>();
  add_model_argument(app, flags->model);
  app.add_flag("--json", flags->json, "Print one JSON document");
  app.add_flag("--plan", flags->plan, "Add the buffers and dispatches of the GPU plan");
  add_engine_flags(app, flags->model);
  return [flags] { return run_inspect(*flags); };
}

}  // namespace puna::cli
