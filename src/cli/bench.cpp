// puna bench: prefill and decode speed of a model, real or synthetic, at given depths.

#include "service/bench.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>

#include "cli/bench_hops.h"
#include "cli/bench_media.h"
#include "cli/bench_parallel.h"
#include "cli/bench_types.h"
#include "cli/command.h"
#include "cli/measured.h"
#include "cli/model_flags.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/prompt_media.h"
#include "cli/usage.h"
#include "kernels/sample/sample.h"
#include "models/synthetic.h"

namespace puna::cli {
namespace {

using base::Json;
using base::Result;

constexpr uint32_t kMaxTokens = 1 << 24;  // above the context of any model
constexpr uint32_t kMaxTexts = 4096;      // at once

using Ceilings = std::optional<kernels::Ceilings>;

struct BenchFlags {
  ModelFlags model;
  std::string synthetic;
  std::vector<uint32_t> prompts, decodes;  // none: as usual
  std::vector<uint32_t> depths = {0};
  std::vector<uint32_t> parallel;  // numbers of texts at once; none: one text alone
  uint32_t n_shared = 0;
  bool beside_filtered = false;
  uint32_t repeats = 5;
  std::string sampling = "greedy";
  bool kernels = false;
  std::string mmproj, image;
  bool hops = false;
  std::string types;
  std::string shape = "14336x4096";
  bool json = false;

  std::vector<uint32_t> n_prompts() const {
    if (!prompts.empty()) return prompts;
    return {parallel.empty() ? 512u : 128u};
  }
  std::vector<uint32_t> n_decodes() const {
    if (!decodes.empty()) return decodes;
    return {parallel.empty() ? 128u : 64u};
  }
  // At most.
  uint32_t n_prompt() const { return std::ranges::max(n_prompts()); }
  uint32_t n_decode() const { return std::ranges::max(n_decodes()); }
};

// What decodes choose their tokens by.
kernels::SamplingParams sampling_of(const BenchFlags& flags) {
  kernels::SamplingParams params;  // as puna run
  if (flags.sampling == "greedy") params.temperature = 0;
  return params;
}

// Where the time of one step goes.
struct Breakdown {
  const char* phase;
  uint32_t tokens;
  uint32_t depth;
  engine::StepTimes times;
};

struct Row {
  const char* phase;
  uint32_t tokens;
  uint32_t depth;
  std::vector<double> tokens_per_s;
};

// Peak resident memory of this process in bytes; 0 where it is not known.
uint64_t host_peak_bytes() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) * 1024;
  }
  return 0;
}

Result<Row> measure(service::LoadedModel& model, const service::Phase& phase, uint32_t repeats) {
  const bool decode = phase.kind == service::Phase::Kind::kDecode;
  Row row{decode ? "decode" : "prefill", phase.n_tokens, phase.depth, {}};
  const base::Timer since_start;
  for (bool warm = false; row.tokens_per_s.size() < repeats;
       warm = warm || since_start.ms() > kWarmMs) {
    if (interrupted())
      return base::fail(base::ErrorCode::kCancelled, "The benchmark was interrupted.");
    PUNA_TRY(const double ms,
             base::run_until(service::time_phase(model, phase), [&] { model.poll(); }));
    if (warm) row.tokens_per_s.push_back(phase.n_tokens * 1000.0 / ms);
  }
  return row;
}

struct Measured {
  std::vector<Row> rows;
  std::vector<Breakdown> steps;  // with --kernels
  Ceilings ceilings;             // with --kernels
};

Result<Measured> measure_all(const BenchFlags& flags, service::LoadedModel& model) {
  using Kind = service::Phase::Kind;
  Measured out;
  const auto add = [&](Kind kind, uint32_t n_tokens, uint32_t depth) -> Result<void> {
    service::Phase phase{kind, n_tokens, depth};
    phase.sampling = sampling_of(flags);
    phase.cancel = &interrupted();
    if (flags.sampling == "host") phase.where = engine::ChooseOn::kHost;
    PUNA_TRY(Row row, measure(model, phase, flags.repeats));
    out.rows.push_back(std::move(row));
    if (!flags.kernels) return {};
    phase.n_tokens =
        kind == Kind::kDecode ? 1 : std::min(n_tokens, model.engine->step_tokens(n_tokens));
    PUNA_TRY(engine::StepTimes times,
             base::run_until(service::time_step(model, phase), [&] { model.poll(); }));
    out.steps.push_back({out.rows.back().phase, phase.n_tokens, depth, std::move(times)});
    return {};
  };
  if (flags.kernels) {
    PUNA_TRY(out.ceilings, service::ceilings(model));
  }
  for (uint32_t depth : flags.depths) {
    for (const uint32_t n : flags.n_prompts()) {
      if (n > 0) PUNA_TRY(add(Kind::kPrefill, n, depth));
    }
    for (const uint32_t n : flags.n_decodes()) {
      if (n > 0) PUNA_TRY(add(Kind::kDecode, n, depth));
    }
  }
  return out;
}

// With --kernels: where a step goes in which so many texts are written, behind their prompts.
Result<Measured> steps_of_parallel(const BenchFlags& flags, service::LoadedModel& model) {
  Measured out;
  if (!flags.kernels) return out;
  PUNA_TRY(out.ceilings, service::ceilings(model));
  for (const uint32_t n_texts : flags.parallel) {
    service::Phase phase{.kind = service::Phase::Kind::kDecode, .depth = flags.n_prompt()};
    phase.n_texts = n_texts;
    phase.sampling = sampling_of(flags);
    PUNA_TRY(engine::StepTimes times,
             base::run_until(service::time_step(model, phase), [&] { model.poll(); }));
    out.steps.push_back({"decode", n_texts, phase.depth, std::move(times)});
  }
  return out;
}

// The part of a mixture's experts that one token uses; 1 of other models.
double used_of_experts(const formats::ModelFile& file) {
  const auto architecture = file.get_string("general.architecture");
  const std::string p = architecture ? *architecture + ".expert_" : "";
  const auto n = file.get_uint(p + "count", 0), used = file.get_uint(p + "used_count", 0);
  return n && used && *n > 0 ? static_cast<double>(*used) / static_cast<double>(*n) : 1;
}

// Weight bytes one token reads: everything, but of the embedding table only what the output layer
// shares, and of experts those that it uses.
double bytes_per_token(const formats::ModelFile& file) {
  const bool tied = file.find_tensor("output.weight") == nullptr;
  const double used = used_of_experts(file);
  double bytes = 0;
  for (const formats::Tensor& t : file.tensors) {
    const bool routed = t.name.find("_exps.") != std::string::npos;
    if (t.name != "token_embd.weight" || tied)
      bytes += static_cast<double>(t.bytes) * (routed ? used : 1);
  }
  return bytes;
}

double bits_per_weight(const formats::ModelFile& file) {
  uint64_t bytes = 0, elements = 0;
  for (const formats::Tensor& t : file.tensors) {
    bytes += t.bytes;
    elements += t.rows() * t.columns();
  }
  return elements > 0 ? 8.0 * static_cast<double>(bytes) / static_cast<double>(elements) : 0;
}

Json to_json(const std::vector<Breakdown>& steps, const Ceilings& ceilings) {
  Json out = Json::array();
  for (const Breakdown& step : steps) {
    Json kernels = Json::array();
    for (const engine::KernelTime& t : step.times.kernels) {
      Json k = Json::object();
      k.set("role", t.role).set("kernel", t.kernel).set("dispatches", t.dispatches);
      k.set("us", t.us)
          .set("gb_per_s", static_cast<double>(t.bytes) / t.us / 1e3)
          .set("tflops", t.flops / t.us / 1e6);
      if (t.in_step_us) k.set("in_step_us", *t.in_step_us);
      if (!t.type.empty()) {
        k.set("type", t.type).set("shape", fmt::format("{}x{}", t.weight_rows, t.weight_cols));
        if (ceilings) k.set("of_ceiling", engine::fraction_of_ceiling(t, *ceilings));
      }
      kernels.push(std::move(k));
    }
    Json s = Json::object();
    s.set("phase", step.phase).set("tokens", step.tokens).set("depth", step.depth);
    s.set("step_us", step.times.step_us).set("encode_us", step.times.encode_us);
    if (ceilings) s.set("of_read", engine::fraction_of_read(step.times, *ceilings));
    s.set("kernels", std::move(kernels));
    out.push(std::move(s));
  }
  return out;
}

void print(const std::vector<Breakdown>& steps, const Ceilings& ceilings) {
  if (ceilings) {
    print_out(
        "\nthis device at most: {:.1f} GB/s read, {:.2f} TFLOPS f32, {:.2f} f16, {:.2f} TOPS "
        "int8\n",
        ceilings->read_gb_per_s, ceilings->f32_tflops, ceilings->f16_tflops, ceilings->int8_tops);
  }
  for (const Breakdown& step : steps) {
    print_out("\n{} of {} at depth {}: {:.1f} us a step", step.phase, step.tokens, step.depth,
              step.times.step_us);
    if (step.times.encode_us > 0) print_out(", encoded in {:.1f} us", step.times.encode_us);
    if (ceilings) {
      print_out("; a plain read of its weights takes {:.0f} % of that",
                100 * engine::fraction_of_read(step.times, *ceilings));
    }
    print_out("\n{:<24} {:<8} {:>12} {:>5} {:>9} {:>7} {:>9} {:>8} {:>7} {:>7}  {}\n", "role",
              "type", "shape", "n", "us", "us each", "in step", "GB/s", "TFLOPS", "of max",
              "kernel");
    for (const engine::KernelTime& t : step.times.kernels) {
      const double fraction = ceilings ? engine::fraction_of_ceiling(t, *ceilings) : 0;
      print_out("{:<24} {:<8} {:>12} {:>5} {:>9.1f} {:>7.2f} {:>9} {:>8.1f} {:>7.2f} {:>7}  {}\n",
                t.role, t.type,
                t.type.empty() ? "" : fmt::format("{}x{}", t.weight_rows, t.weight_cols),
                t.dispatches, t.us, t.us / t.dispatches,
                t.in_step_us ? fmt::format("{:.1f}", *t.in_step_us) : "",
                static_cast<double>(t.bytes) / t.us / 1e3, t.flops / t.us / 1e6,
                fraction > 0 ? fmt::format("{:.0f} %", fraction * 100) : "", t.kernel);
    }
  }
}

Json to_json(const plan::MemoryUse& use) {
  Json out = Json::object();
  out.set("weights_bytes", use.weights).set("kv_bytes", use.kv).set("arena_bytes", use.arena);
  return out;
}

Json to_json(const engine::Placement& placement) {
  Json out = Json::object();
  out.set("n_layers", placement.n_layers).set("gpu_layers", placement.layers_on(true));
  out.set("cpu_experts", placement.cpu_experts);
  out.set("why", placement.why);
  Json stages = Json::array();
  for (const engine::Stage& stage : placement.stages) {
    Json one = Json::object().set("first_layer", stage.first_layer).set("n_layers", stage.n_layers);
    stages.push(one.set("device", stage.on_gpu ? stage.device_name : "CPU"));
  }
  out.set("stages", std::move(stages));
  out.set("gpu", to_json(placement.memory_on(true)))
      .set("cpu", to_json(placement.memory_on(false)));
  return out;
}

Json to_json(const engine::Engine& engine, const std::vector<Row>& rows) {
  const double weight_bytes = bytes_per_token(engine.file());
  Json results = Json::array();
  for (const Row& row : rows) {
    Json rate = rate_json(row.tokens_per_s);
    const double median = rate.find("median")->number();
    Json r = Json::object();
    r.set("phase", row.phase)
        .set("tokens", row.tokens)
        .set("depth", row.depth)
        .set("tokens_per_s", std::move(rate));
    uint32_t passes = row.tokens;
    if (std::string_view(row.phase) != "decode") {
      passes = 0;
      for (uint32_t left = row.tokens; left > 0; ++passes)
        left -= std::min(left, engine.step_tokens(left));
    }
    r.set("weight_gb_per_s",
          weight_bytes * static_cast<double>(passes) / row.tokens * median / 1e9);
    results.push(std::move(r));
  }
  return results;
}

Json to_json(const service::LoadedModel& model, Json results, const std::string& sampling,
             double load_ms, double first_token_ms) {
  const engine::Engine& engine = *model.engine;
  const plan::MemoryUse use = engine.memory();
  Json memory = Json::object();
  memory.set("weights_bytes", use.weights).set("kv_bytes", use.kv).set("arena_bytes", use.arena);
  memory.set("staging_bytes", use.staging).set("host_peak_bytes", host_peak_bytes());
  const gpu::Device* device = engine.device();
  Json out = Json::object();
  out.set("engine", "puna").set("device", model.device_name).set("model", model.name);
  out.set("backend", device ? device->info().backend : "cpu")
      .set("adapter", device ? device->info().name : "");
  out.set("driver", device ? device->info().driver : "").set("threads", engine.n_threads());
  out.set("kv_type", name(engine.options().kv_type))
      .set("numerics", name(engine.options().numerics));
  out.set("activations", activations_json(engine.options().profile.get()));
  out.set("bits_per_weight", bits_per_weight(engine.file())).set("sampling", sampling);
  out.set("results", std::move(results)).set("memory", std::move(memory));
  out.set("placement", to_json(engine.placement()));
  out.set("load_ms", load_ms).set("first_token_ms", first_token_ms);
  return out;
}

void print_phases(const Json& results) {
  print_out("{:<8} {:>6} {:>6} {:>10} {:>10} {:>10} {:>9}\n", "phase", "tokens", "depth",
            "min tok/s", "median", "max", "GB/s");
  for (const Json& r : results.items()) {
    const Json& rate = *r.find("tokens_per_s");
    print_out("{:<8} {:>6} {:>6} {:>10.1f} {:>10.1f} {:>10.1f} {:>9.1f}\n",
              r.find("phase")->string(), r.find("tokens")->integer(), r.find("depth")->integer(),
              rate.find("min")->number(), rate.find("median")->number(), rate.find("max")->number(),
              r.find("weight_gb_per_s")->number());
  }
}

void print_table(const service::LoadedModel& model, const Json& report, bool parallel) {
  print_out("{} on {} (kv {}, {}, {:.2f} bits per weight, sampling {})\n",
            base::printable(model.name), model.device_name, name(model.engine->options().kv_type),
            name(model.engine->options().numerics), report.find("bits_per_weight")->number(),
            report.find("sampling")->string());
  const Json& results = *report.find("results");
  parallel ? print_parallel(results) : print_phases(results);
  const plan::MemoryUse use = model.engine->memory();
  print_out(
      "memory: weights {}, kv {}, arena {}, staging {}, host peak {}; load {:.0f} ms, first token "
      "{:.1f} ms\n",
      human_bytes(use.weights), human_bytes(use.kv), human_bytes(use.arena),
      human_bytes(use.staging), human_bytes(host_peak_bytes()), report.find("load_ms")->number(),
      report.find("first_token_ms")->number());
}

// Errors: kUsage for what does not go together.
Result<void> check(const BenchFlags& flags) {
  if (flags.model.model.empty() == flags.synthetic.empty())
    return base::fail(base::ErrorCode::kUsage,
                      "Give --model, --synthetic SHAPE:TYPE, --types or --hops.");
  if (flags.image.empty() && !flags.mmproj.empty()) {
    return base::fail(base::ErrorCode::kUsage,
                      "--mmproj FILE is for --image WIDTHxHEIGHT, which is missing.");
  }
  if (!flags.image.empty() && (!flags.synthetic.empty() || !flags.parallel.empty())) {
    return base::fail(
        base::ErrorCode::kUsage,
        "--image is of a model with a vocabulary and of one text; it goes with neither "
        "--synthetic nor --parallel.");
  }
  if (flags.n_prompt() == 0 && flags.n_decode() == 0 && flags.image.empty())
    return base::fail(base::ErrorCode::kUsage, "With -p 0 and -n 0 there is nothing to measure.");
  if (flags.parallel.empty()) {
    if (flags.n_shared > 0)
      return base::fail(base::ErrorCode::kUsage, "--shared-prefix is of --parallel.");
    if (flags.beside_filtered)
      return base::fail(base::ErrorCode::kUsage, "--beside-filtered is of --parallel.");
    return {};
  }
  if (flags.prompts.size() > 1 || flags.decodes.size() > 1)
    return base::fail(base::ErrorCode::kUsage, "--parallel goes with one -p and one -n.");
  if (flags.n_prompt() == 0)
    return base::fail(base::ErrorCode::kUsage, "--parallel needs prompts; -p 0 leaves them out.");
  if (flags.n_shared > flags.n_prompt()) {
    return base::fail(base::ErrorCode::kUsage,
                      fmt::format("--shared-prefix {} is more than the prompt, which has {} (-p).",
                                  flags.n_shared, flags.n_prompt()));
  }
  if (flags.kernels && std::ranges::max(flags.parallel) > kernels::kMaxBatch) {
    return base::fail(
        base::ErrorCode::kUsage,
        fmt::format("--kernels measures one step, of up to {} texts.", kernels::kMaxBatch));
  }
  if (flags.sampling == "host" || flags.depths != std::vector<uint32_t>{0}) {
    return base::fail(base::ErrorCode::kUsage,
                      "--parallel goes with neither --depth nor --sampling host.");
  }
  return {};
}

Result<int> run_bench(const BenchFlags& flags) {
  if (!flags.types.empty() || flags.hops) {
    if (!flags.model.model.empty() || !flags.synthetic.empty())
      return base::fail(base::ErrorCode::kUsage,
                        "--types and --hops measure a device and take no model.");
    if (flags.hops) return bench_hops(flags.model, flags.json);
    return bench_types(flags.model, flags.types, flags.shape, flags.json);
  }
  PUNA_TRY(check(flags));
  std::optional<PictureSize> picture;
  if (!flags.image.empty()) {
    PUNA_TRY(picture, parse_picture_size(flags.image));
  }
  catch_interrupts();
  ProgressBar bar;
  PUNA_TRY(service::OpenOptions options, open_options(flags.model, {}, bar));
  const bool parallel = !flags.parallel.empty();
  if (parallel)
    options.engine.n_sequences = std::ranges::max(flags.parallel) + flags.beside_filtered;
  // A picture is as many tokens as its encoder makes; the model's own context is what they fit.
  if (!options.engine.context && !picture) {
    const uint32_t most = parallel ? flags.n_prompt() + flags.n_decode()
                                   : std::max({flags.n_prompt(), flags.n_decode(), 1u});
    options.engine.context = std::ranges::max(flags.depths) + most + 2;
  }
  const base::Timer load;
  PUNA_TRY(formats::ModelFile file, flags.synthetic.empty()
                                        ? service::open_file(options)
                                        : as_usage(models::synthetic_model(flags.synthetic)));
  if (picture) {
    PUNA_TRY(const auto encoder,
             service::find_encoder(options.model, file, {.named = flags.mmproj}));
    if (!encoder) return std::unexpected(no_encoder(flags.model.model));
    options.mmproj.path = encoder->path;
  }
  PUNA_TRY_CONTEXT(service::LoadedModel model, service::open(std::move(file), options),
                   fmt::format("While making room for {} tokens (-d, -p and -n)",
                               options.engine.context.value_or(0)));
  if (!flags.synthetic.empty()) model.name = flags.synthetic;
  const double load_ms = load.ms();
  bar.clear();
  const base::Timer first;
  PUNA_TRY(base::run_until(service::time_phase(model, {}), [&] { model.poll(); }));
  const double first_token_ms = first.ms();
  Measured measured;
  Json results;
  if (parallel) {
    service::Together what;
    what.n_prompt = flags.n_prompt();
    what.n_answer = flags.n_decode();
    what.n_shared = flags.n_shared;
    what.beside_filtered = flags.beside_filtered;
    what.sampling = sampling_of(flags);
    PUNA_TRY(results, bench_parallel(model, flags.parallel, what, flags.repeats));
    PUNA_TRY(measured, steps_of_parallel(flags, model));
  } else {
    PUNA_TRY(measured, measure_all(flags, model));
    results = to_json(*model.engine, measured.rows);
  }
  Json report = to_json(model, std::move(results), flags.sampling, load_ms, first_token_ms);
  if (picture) {
    PUNA_TRY(Json image, bench_picture(model, *picture, flags.repeats));
    report.set("image", std::move(image));
  }
  if (measured.ceilings) report.set("ceilings", ceilings_json(*measured.ceilings));
  if (flags.kernels) report.set("steps", to_json(measured.steps, measured.ceilings));
  if (flags.json) {
    print_json(report);
  } else {
    print_table(model, report, parallel);
    if (picture) print_picture(*report.find("image"));
    print(measured.steps, measured.ceilings);
  }
  return 0;
}

}  // namespace

Action add_bench(CLI::App& app) {
  auto flags = std::make_shared<BenchFlags>();
  not_empty(app.add_option("--model", flags->model.model,
                           "A name in the store or catalogue, a .gguf path or a folder"));
  not_empty(app.add_option(
      "--synthetic", flags->synthetic,
      "SHAPE:TYPE with random weights, no file needed; TYPE is a mix (q4_k_m) or pure:TYPE. "
      "Shapes: " +
          models::synthetic_shapes()));
  not_empty(
      app.add_option("--mmproj", flags->mmproj,
                     "The model's encoder of pictures, an mmproj file, for --image; without it the "
                     "one beside the model"));
  not_empty(
      app.add_option("--image", flags->image,
                     "WIDTHxHEIGHT: also how long pictures of random pixels of this size take, "
                     "to encode and to the first token, new and known"));
  add_numbers(
      app, "-p,--prompt", flags->prompts, {0, kMaxTokens},
      "Tokens of the prefill, several numbers separated by commas; 0 leaves it out; without "
      "it 512, with --parallel 128");
  add_numbers(app, "-n,--decode", flags->decodes, {0, kMaxTokens},
              "Tokens to decode, likewise; without it 128, with --parallel 64");
  add_numbers(app, "-d,--depth", flags->depths, {0, kMaxTokens},
              "Tokens already in the cache, separated by commas");
  add_numbers(app, "--parallel", flags->parallel, {1, kMaxTexts},
              "Measure so many texts at once, each with a prompt of -p tokens and an answer of -n; "
              "several numbers separated by commas");
  add_number(app, "--shared-prefix", flags->n_shared, {0, kMaxTokens},
             "Of --parallel: so many tokens of each prompt are the same in all");
  app.add_flag("--beside-filtered", flags->beside_filtered,
               "Of --parallel: one more text is written beside them, which may hold half of the "
               "vocabulary only and is not counted");
  add_number(app, "-r,--repeats", flags->repeats, {1, 1000},
             "Repeats; the report has minimum, median and maximum");
  app.add_option("--sampling", flags->sampling,
                 "How decodes choose tokens: greedy, gpu (as puna run does, on the device) or host "
                 "(the same, from logits that are read back)")
      ->check(CLI::IsMember({"greedy", "gpu", "host"}))
      ->capture_default_str();
  app.add_flag("--kernels", flags->kernels,
               "Also say where the time of a step goes, by kernel, and what share of the measured "
               "ceilings of the device each reaches");
  not_empty(app.add_option(
      "--types", flags->types,
      "No model: the mat-vec of these weight types (q4_0,q8_0; all) against plain reads"));
  not_empty(app.add_option("--shape", flags->shape, "Of --types: weight rows x columns")
                ->capture_default_str());
  app.add_flag(
      "--hops", flags->hops,
      "No model: what it costs to hand values from the first GPU of --device to the second, "
      "by way of the host");
  app.add_flag("--json", flags->json, "Print one JSON document");
  add_engine_flags(app, flags->model);
  return [flags] { return run_bench(*flags); };
}

}  // namespace puna::cli
