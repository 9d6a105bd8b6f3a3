// puna serve: a model behind HTTP, for many clients at once.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>

#include "api/answer_fields.h"
#include "api/model_source.h"
#include "base/json.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/form_flags.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "cli/serve/flags.h"
#include "cli/terminal.h"
#include "io/byte_source.h"
#include "server/server.h"
#include "server/stored_models.h"
#include "service/host_thread.h"
#include "service/model_card.h"

namespace puna::cli {
namespace {

using base::ErrorCode;
using base::Result;

constexpr uint16_t kPort = 8080;
constexpr uint16_t kOllamaPort = 11434;

bool is_loopback(const server::Address& address) {
  return address.is_unix() || address.host == "localhost" || address.host == "::1" ||
         address.host.starts_with("127.");
}

std::string text_of(const server::Address& address, bool tls) {
  if (address.is_unix()) return address.host;
  const bool v6 = address.host.find(':') != std::string::npos;
  return fmt::format("http{}://{}{}{}:{}", tls ? "s" : "", v6 ? "[" : "", address.host,
                     v6 ? "]" : "", address.port);
}

// What was asked for; the second port of those who asked for none is tried later.
Result<std::vector<server::Address>> addresses_of(const ServeFlags& flags) {
  std::vector<server::Address> out;
  std::vector<std::string> hosts = flags.hosts;
  if (hosts.empty()) hosts = {"127.0.0.1"};
  for (const std::string& host : hosts) out.push_back({host, flags.port.value_or(kPort)});
  const bool open = std::ranges::all_of(out, is_loopback);
  if (open || flags.no_auth || !flags.server.api_keys.empty()) return out;
  return base::fail(ErrorCode::kUsage,
                    "--host listens beyond this machine, so --api-key is needed, or --no-auth.");
}

// "models/Tiny-q4_0.gguf" is "Tiny-q4_0", and the folder "models/Tiny/" is "Tiny": no client is
// told where it lies.
std::string name_of_path(std::string model) {
  while (model.size() > 1 && model.ends_with('/')) model.pop_back();
  const std::filesystem::path path(model);
  return (path.extension() == ".gguf" ? path.stem() : path.filename()).string();
}

api::ServedModel served_model(const ServeFlags& flags, service::Host& host) {
  api::ServedModel out;
  out.file_name = name_of_path(flags.model.model);
  out.aliases = flags.aliases.empty() ? std::vector{out.file_name} : flags.aliases;
  std::ranges::sort(out.aliases);
  out.aliases.erase(std::ranges::unique(out.aliases).begin(), out.aliases.end());
  out.id = out.aliases.front();
  out.tags = flags.tags;
  out.created = static_cast<int64_t>(std::time(nullptr));
  const formats::ModelFile& file = host.model().engine->file();
  for (const auto& source : file.sources) out.file_bytes += source->size();
  if (!file.paths.empty()) out.path = file.paths.front();
  out.n_texts = flags.n_parallel;
  out.slot_folder = flags.slot_folder;
  out.host = &host;
  return out;
}

// How many tokens all texts may have together, and how many each of them: where --ctx does not say
// it, all there are or a share of them, up to what the model was trained with.
void set_room(const ServeFlags& flags, const formats::ModelFile& file,
              engine::EngineOptions& options) {
  options.cache_tokens = flags.pool_tokens;
  std::optional<uint64_t> room = flags.pool_tokens;
  if (room && flags.splits_pool) room = std::max<uint64_t>(*room / flags.n_parallel, 1);
  if (flags.share) {
    room = flags.share;
    if (!flags.pool_tokens) options.cache_tokens = *room * flags.n_parallel;
  }
  if (!room) return;
  const uint64_t trained = service::number_of(file, "context_length");
  if (trained > 0) room = std::min(*room, trained);
  const bool bounds = flags.splits_pool || flags.share;
  const uint32_t own = options.context.value_or(0);
  if (own == 0 || bounds)
    options.context = static_cast<uint32_t>(own == 0 ? *room : std::min<uint64_t>(own, *room));
}

// Thinking as the flags have it, as far as the model's template has switches for it.
service::Think think_of(const ServeFlags& flags, const service::LoadedModel& model) {
  using service::Think;
  Think wanted = flags.effort.value_or(Think::kDefault);
  if (wanted == Think::kDefault || flags.think == Think::kOff)
    wanted = flags.think.value_or(Think::kDefault);
  // No room for thinking: what has a switch is told so.
  const bool none = model.defaults.request.max_thinking == 0u && model.abilities.thinking;
  if (wanted == Think::kDefault) return none ? Think::kOff : wanted;
  const bool level = wanted > Think::kOn;
  if (level ? model.abilities.thinking_levels : model.abilities.thinking) return wanted;
  base::log_warning("The chat template of {} has no switch for {}, so the flag has no effect.",
                    model.name, level ? "how much the model thinks" : "thinking");
  return level && model.abilities.thinking ? Think::kOn : Think::kDefault;
}

// Flags about what this model, on this device, does not have.
void say_what_has_no_effect(const ServeFlags& flags, const engine::EngineOptions& options,
                            const engine::Engine& engine) {
  const auto say = [](std::string_view flag, std::string_view why) {
    base::log_warning("{} has no effect: {}.", flag, why);
  };
  if (!engine.device() && flags.fit.spare_bytes > 0)
    say("--fit-target", "the model is not on a GPU");
  if (!engine.device() && flags.fit.least_context) say("--fit-ctx", "the model is not on a GPU");
  if (engine.device() && flags.fit.least_context && options.context)
    say("--fit-ctx", "the context was asked for");
  // Requests of Ollama's dialect may ask for a shift themselves.
  if (flags.n_keep && !flags.shifts) say("--keep", "a full context ends a text");
  if (engine.recurrent()) return;
  if (flags.states_each) say("--ctx-checkpoints", "the model has no recurrent states");
  if (flags.state_interval) say("--checkpoint-min-step", "the model has no recurrent states");
}

Result<service::LoadedModel> load(ServeFlags& flags) {
  ProgressBar bar;
  PUNA_TRY(service::OpenOptions options, open_options(flags.model, {}, bar));
  options.pull = !flags.offline;
  options.engine.n_sequences = flags.n_parallel;
  options.engine.host_cache_bytes = flags.cache_ram_mib << 20;
  options.engine.step_ms = flags.step_ms;
  options.engine.fit = flags.fit;
  options.engine.check_weights = flags.check_weights;
  if (flags.states_each) options.engine.states_each = *flags.states_each;
  if (flags.state_interval) options.engine.state_interval = *flags.state_interval;
  PUNA_TRY(formats::ModelFile file, service::open_file(options));
  set_room(flags, file, options.engine);
  // A file that says how embeddings are made is of a model that gives nothing else.
  options.engine.embeddings = flags.embeddings || service::number_of(file, "pooling_type") > 0;
  options.engine.pooling = flags.pooling;
  if (flags.pooling && !options.engine.embeddings)
    base::log_warning("--pooling has no effect: the model is loaded to give text.");
  options.change_defaults = [&flags](service::Defaults& defaults) {
    for (const auto& change : flags.defaults) change(defaults);
    if (flags.shifts)
      defaults.request.shift.emplace().n_keep = api::number_or_none(flags.n_keep.value_or(0));
  };
  PUNA_TRY(service::LoadedModel model, service::open(std::move(file), options));
  model.name = name_of_path(flags.model.model);
  say_what_has_no_effect(flags, options.engine, *model.engine);
  if (flags.chat_template) service::use_template(model, *std::move(flags.chat_template));
  model.defaults.request.think = think_of(flags, model);
  if (model.defaults.request.form) {
    PUNA_TRY_CONTEXT(check_form(model, *model.defaults.request.form),
                     "While reading the form that answers have");
  }
  PUNA_TRY_CONTEXT(model.engine->check_sampling(model.defaults.request.sampling),
                   "While checking the flags against the model");
  return model;
}

Result<void> open_request_log(const std::string& path, std::ofstream& file,
                              server::Options& options) {
  if (path.empty()) return {};
  if (path == "-") {
    options.on_request = [](const base::Json& line) {
      write_raw(stdout, line.dump() + "\n");
      std::fflush(stdout);
    };
    return {};
  }
  file.open(path, std::ios::app);
  if (!file)
    return base::fail(ErrorCode::kIo, fmt::format("The log \"{}\" cannot be written.", path));
  options.on_request = [&file](const base::Json& line) { file << line.dump() << std::endl; };
  return {};
}

// What several flags together may not say.
Result<void> check(const ServeFlags& flags) {
  const auto wrong = [](std::string_view text) {
    return base::fail(ErrorCode::kUsage, std::string(text));
  };
  if (flags.model.model.empty()) return wrong("--model is missing: which model is to be served?");
  if (flags.server.certificate_file.empty() != flags.server.key_file.empty())
    return wrong("--ssl-cert-file and --ssl-key-file belong together; one of them is missing.");
  if (flags.kv_on_cpu && flags.model.device != "cpu" && flags.model.gpu_layers != 0u)
    return wrong(
        "--no-kv-offload is not supported where layers go to a GPU: the cache of a layer lies "
        "where the layer is; --device cpu keeps both on the CPU.");
  if (!flags.slot_folder.empty() && !io::is_folder(flags.slot_folder))
    return wrong(fmt::format("--slot-save-path is \"{}\", which is no folder.", flags.slot_folder));
  return {};
}

// Where nobody asked for a port, on that of Ollama too, if it is free.
Result<std::unique_ptr<server::Server>> listen(const ServeFlags& flags) {
  server::Options options = flags.server;
  PUNA_TRY(options.listen, addresses_of(flags));
  if (flags.hosts.empty() && !flags.port) {
    server::Options both = options;
    both.listen.push_back({both.listen.front().host, kOllamaPort});
    if (auto listening = server::Server::listen(both)) return listening;
  }
  return server::Server::listen(options);
}

// Where the file cannot be read now, the keys stay that were read before.
void read_keys_again(const ServeFlags& flags, server::Server& server) {
  auto keys = read_keys(flags.key_file);
  if (!keys) {
    return base::log_warning("The keys of --api-key-file stay as they were: {}",
                             keys.error().text());
  }
  const size_t n_read = keys->size();
  keys->insert(keys->end(), flags.keys.begin(), flags.keys.end());
  server.set_keys(*keys);
  base::log_info("{} keys were read again from --api-key-file.", n_read);
}

Result<int> run(ServeFlags& flags) {
  catch_interrupts();
  if (!flags.key_file.empty()) catch_hangups();
  if (flags.lists_devices) return print_devices(/*json=*/false);
  PUNA_TRY(check(flags));
  std::ofstream requests;
  PUNA_TRY(open_request_log(flags.log_jsonl, requests, flags.server));
  PUNA_TRY(addresses_of(flags));
  PUNA_TRY(open_log(flags.log));
  for (const std::string& note : flags.notes) print_err("{}\n", note);
  // A port that is taken is told of before the model is read.
  PUNA_TRY(const auto server, listen(flags));
  PUNA_TRY(service::LoadedModel model, load(flags));
  service::HostThread host(std::move(model));
  api::OneModel source(served_model(flags, host));
  std::optional<server::StoredModels> stored;
  if (auto store = store::Store::of_environment()) {
    stored.emplace(*std::move(store), flags.model.threads.value_or(0));
  } else {
    base::log_warning("No models are kept: {}", store.error().text());
  }
  server->serve(source, stored ? &*stored : nullptr);
  const bool tls = !flags.server.certificate_file.empty();
  for (const server::Address& address : server->addresses())
    base::log_info("{} is served on {}", source.loaded().front()->id, text_of(address, tls));
  while (wait_for_signal() == Signal::kHangup) read_keys_again(flags, *server);
  base::log_info("Ending; what is under way has {} s.", flags.drain.count());
  server->drain(flags.drain);
  host.stop();
  return 0;
}

}  // namespace

Action add_serve(CLI::App& app) {
  app.set_version_flag("--version", PUNA_VERSION, "Print the version");
  const auto given = std::make_shared<GivenFlags>();
  add_serve_flags(app, *given);
  return [given]() -> Result<int> {
    PUNA_TRY(ServeFlags flags, read_serve_flags(*given));
    return run(flags);
  };
}

}  // namespace puna::cli
