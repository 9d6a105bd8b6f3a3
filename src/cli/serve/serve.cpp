// puna serve: a model behind HTTP, or all that there are, for many clients at once.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>

#include "api/model_source.h"
#include "base/json.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "cli/serve/flags.h"
#include "cli/serve/loading.h"
#include "cli/serve/many.h"
#include "cli/serve/sleeping.h"
#include "cli/terminal.h"
#include "io/byte_source.h"
#include "server/server.h"
#include "server/stored_models.h"
#include "service/replicas.h"
#include "web_store/web_store.h"

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
  if (std::ranges::all_of(out, is_loopback) || !flags.server.api_keys.empty()) return out;
  if (!flags.web_store.empty()) {
    return base::fail(ErrorCode::kUsage,
                      "--web-store keeps conversations of whoever has a key, and --host listens "
                      "beyond this machine, so --api-key is needed.");
  }
  if (flags.no_auth) return out;
  return base::fail(ErrorCode::kUsage,
                    "--host listens beyond this machine, so --api-key is needed, or --no-auth.");
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
  if (flags.model.model.empty() && !flags.aliases.empty())
    return wrong("--alias is given, and no --model that could have other names.");
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
  if (flags.web) options.page = server::page_files();
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

// Where its models are, until it is told to end.
void keep_serving(const ServeFlags& flags, server::Server& server, api::ModelSource& models,
                  api::WebStore* web_store, std::string_view what) {
  std::optional<server::StoredModels> stored;
  if (auto root = store::default_root()) {
    std::vector<store::Place> places = store::places_of_environment();
    if (!flags.many.folder.empty())
      places.insert(places.begin(), {store::Origin::kFolder, flags.many.folder});
    stored.emplace(store::Store(*std::move(root), store::catalogue(), std::move(places)),
                   flags.model.threads.value_or(0));
  } else {
    base::log_warning("No models are kept: {}", root.error().text());
  }
  server.serve(models, stored ? &*stored : nullptr, web_store);
  const bool tls = !flags.server.certificate_file.empty();
  for (const server::Address& address : server.addresses())
    base::log_info("{} is served on {}", what, text_of(address, tls));
  while (wait_for_signal() == Signal::kHangup) read_keys_again(flags, server);
  base::log_info("Ending; what is under way has {} s.", flags.drain.count());
  server.drain(flags.drain);
  server.stop();
}

Result<int> run_serve(ServeFlags& flags, const GivenFlags& given) {
  catch_interrupts();
  if (!flags.key_file.empty()) catch_hangups();
  if (flags.lists_devices) return print_devices(/*json=*/false);
  PUNA_TRY(check(flags));
  std::ofstream requests;
  PUNA_TRY(open_request_log(flags.log_jsonl, requests, flags.server));
  PUNA_TRY(addresses_of(flags));
  PUNA_TRY(open_log(flags.log));
  for (const std::string& note : flags.notes) print_err("{}\n", note);
  if (!flags.model.model.empty()) {
    for (const std::string& flag : flags.many.given) {
      if (flag == "--sleep-idle-seconds") continue;
      print_err("{} has no effect here: the one model of a process always stays.\n", flag);
    }
  }
  std::unique_ptr<api::WebStore> web_store;
  if (!flags.web_store.empty()) {
    PUNA_TRY(web_store, web_store::SqliteWebStore::open(flags.web_store));
  }
  // A port that is taken is told of before the model is read.
  PUNA_TRY(const auto server, listen(flags));
  if (flags.model.model.empty()) {
    PUNA_TRY(const auto models, serve::manage(flags, given));
    keep_serving(flags, *server, *models, web_store.get(), "Each of them");
    models->stop();
    return 0;
  }
  if (flags.many.sleep_after) {
    PUNA_TRY(const auto sleeper, serve::load_to_sleep(flags));
    const std::string id = sleeper->list().front().id;
    keep_serving(flags, *server, *sleeper, web_store.get(), id);
    sleeper->stop();
    return 0;
  }
  PUNA_TRY(std::vector<service::LoadedModel> models, serve::load(flags));
  service::Replicas replicas(std::move(models));
  api::OneModel source(serve::served_model(flags, replicas.hosts()));
  keep_serving(flags, *server, source, web_store.get(), source.loaded().front()->id);
  replicas.stop();
  return 0;
}

}  // namespace

Action add_serve(CLI::App& app) {
  app.set_version_flag("--version", PUNA_VERSION, "Print the version");
  const auto given = std::make_shared<GivenFlags>();
  add_serve_flags(app, *given);
  return [given]() -> Result<int> {
    PUNA_TRY(ServeFlags flags, read_serve_flags(*given));
    return run_serve(flags, *given);
  };
}

}  // namespace puna::cli
