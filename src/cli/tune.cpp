// puna tune: finds faster numbers for the kernels of a model on a GPU and keeps them as its
// profile.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/measured.h"
#include "cli/model_flags.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/usage.h"
#include "engine/tuning.h"
#include "models/synthetic.h"
#include "service/profiles.h"

namespace puna::cli {
namespace {

using base::Json;
using base::Result;
using kernels::KnobValues;
using kernels::SearchResult;

struct TuneFlags {
  ModelFlags model;
  std::string synthetic;
  double budget_s = 60;
  bool json = false;
};

// "lanes 32 -> 64": what differs.
std::string changes(const SearchResult& result) {
  std::string out;
  for (const auto& [name, value] : result.best) {
    const uint32_t before = result.portable.at(name);
    if (before != value)
      out += fmt::format("{}{} {} -> {}", out.empty() ? "" : ", ", name, before, value);
  }
  return out.empty() ? "as it is" : out;
}

Json knobs_json(const KnobValues& knobs) {
  Json out = Json::object();
  for (const auto& [name, value] : knobs) out.set(name, value);
  return out;
}

Json to_json(const SearchResult& result) {
  Json out = Json::object();
  out.set("kernel", result.key).set("default_us", result.portable_us);
  out.set("tuned_us", result.best_us).set("default", knobs_json(result.portable));
  out.set("tuned", knobs_json(result.best));
  out.set("tried", result.n_tried).set("refused", result.n_refused);
  return out;
}

std::string line_of(const char* phase, const kernels::ActivationChoice& choice) {
  std::string out = fmt::format("activations, {}: {}", phase, name(choice.choice));
  if (choice.int8_us > 0)
    out += fmt::format(" (int8 {:.1f} us, float {:.1f} us)", choice.int8_us, choice.float_us);
  return out;
}

void print(const engine::TuneReport& report) {
  print_out("{:<44} {:>10} {:>10} {:>6} {:>6}  {}\n", "kernel", "before us", "after us", "gain",
            "tried", "changes");
  for (const SearchResult& r : report.kernels) {
    print_out("{:<44} {:>10.1f} {:>10.1f} {:>4.0f} % {:>6}  {}\n", r.key, r.portable_us, r.best_us,
              (r.portable_us / r.best_us - 1) * 100, r.n_tried, changes(r));
  }
  print_out("{}\n{}\n", line_of("decode", *report.profile.decode),
            line_of("prefill", *report.profile.prefill));
}

// What other models were tuned for stays; what was tuned now is replaced.
kernels::Profile merge(const gpu::DeviceInfo& device, const engine::TuneReport& report) {
  kernels::Profile merged = service::stored_profile(device).value_or(kernels::Profile{});
  for (const SearchResult& result : report.kernels) merged.kernels.erase(result.key);
  merged.kernels.insert(report.profile.kernels.begin(), report.profile.kernels.end());
  merged.decode = report.profile.decode;
  merged.prefill = report.profile.prefill;
  return merged;
}

Result<int> run_tune(const TuneFlags& flags) {
  if (flags.model.model.empty() == flags.synthetic.empty()) {
    return base::fail(base::ErrorCode::kUsage, "Give either --model or --synthetic SHAPE:TYPE.");
  }
  catch_interrupts();
  ProgressBar bar;
  PUNA_TRY(const service::OpenOptions options, open_options(flags.model, {}, bar));
  formats::ModelFile file;
  if (flags.synthetic.empty()) {
    PUNA_TRY(file, service::open_file(options));
  } else {
    PUNA_TRY(file, as_usage(models::synthetic_model(flags.synthetic)));
  }
  PUNA_TRY(const service::DeviceUse use, service::open_device(options));
  if (!use.device) {
    return base::fail(
        base::ErrorCode::kUnsupported,
        fmt::format("Tuning is for GPUs, and the device is {} ({}).", use.name, use.why));
  }
  PUNA_TRY(const std::string path,
           service::profile_path(kernels::ProfileKey::of(use.device->info())));
  engine::TuneOptions tune;
  tune.budget_ms = flags.budget_s * 1000;
  tune.cancel = &interrupted();
  tune.on_progress = [&bar](const std::string& what, size_t done, size_t total) {
    bar.count(fmt::format("tuning {}", what), done, total);
  };
  PUNA_TRY(const engine::TuneReport report, engine::tune(file, *use.device, options.engine, tune));
  bar.clear();
  PUNA_TRY(service::store_profile(use.device->info(), merge(use.device->info(), report)));
  if (flags.json) {
    Json kernels = Json::array();
    for (const SearchResult& result : report.kernels) kernels.push(to_json(result));
    Json out = Json::object();
    out.set("device", use.name).set("profile", path).set("kernels", std::move(kernels));
    out.set("activations", activations_json(&report.profile));
    print_json(out);
  } else {
    print(report);
    print_out("stored in {}\n", base::printable(path));
  }
  return 0;
}

}  // namespace

Action add_tune(CLI::App& app) {
  auto flags = std::make_shared<TuneFlags>();
  not_empty(
      app.add_option("--model", flags->model.model,
                     "Tune for this model: a name in the store or catalogue, a .gguf path or a "
                     "folder"));
  not_empty(
      app.add_option("--synthetic", flags->synthetic,
                     "Tune for SHAPE:TYPE, no file needed. Shapes: " + models::synthetic_shapes()));
  add_number(app, "--budget", flags->budget_s, {0, 86400},
             "Seconds for all kernels together; every default is measured in any case");
  app.add_flag("--json", flags->json, "Print one JSON document");
  add_engine_flags(app, flags->model);
  return [flags] { return run_tune(*flags); };
}

}  // namespace puna::cli
