// puna serve: a model behind HTTP, for many clients at once.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>

#include "api/model_source.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "cli/serve_flags.h"
#include "server/server.h"
#include "service/host_thread.h"

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

// "models/Tiny-q4_0.gguf" is "Tiny-q4_0".
std::string name_of_path(const std::string& model) {
  const std::filesystem::path path(model);
  return path.extension() == ".gguf" ? path.stem().string() : model;
}

api::ServedModel served_model(const ServeFlags& flags, service::Host& host) {
  api::ServedModel out;
  out.aliases = flags.aliases;
  out.aliases.push_back(name_of_path(flags.model.model));
  std::ranges::sort(out.aliases);
  out.aliases.erase(std::ranges::unique(out.aliases).begin(), out.aliases.end());
  if (flags.aliases.empty()) {
    out.id = out.aliases.front();
  } else {
    out.id = *std::ranges::min_element(flags.aliases);
  }
  out.tags = flags.tags;
  out.created = static_cast<int64_t>(std::time(nullptr));
  const formats::ModelFile& file = host.model().engine->file();
  for (const auto& source : file.sources) out.file_bytes += source->size();
  if (!file.paths.empty()) out.path = file.paths.front();
  out.n_texts = flags.n_parallel;
  out.host = &host;
  return out;
}

Result<service::LoadedModel> load(const ServeFlags& flags) {
  ProgressBar bar;
  PUNA_TRY(service::OpenOptions options, open_options(flags.model, {}, bar));
  options.engine.n_sequences = flags.n_parallel;
  options.engine.cache_tokens = flags.pool_tokens;
  options.engine.host_cache_bytes = flags.cache_ram_mib << 20;
  options.engine.step_ms = flags.step_ms;
  return service::open(options);
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

Result<int> run(ServeFlags& flags) {
  catch_interrupts();
  if (flags.model.model.empty())
    return base::fail(ErrorCode::kUsage, "--model is missing: which model is to be served?");
  std::ofstream log;
  if (!flags.log_jsonl.empty()) {
    log.open(flags.log_jsonl, std::ios::app);
    if (!log) {
      return base::fail(ErrorCode::kIo,
                        fmt::format("The log \"{}\" cannot be written.", flags.log_jsonl));
    }
    flags.server.on_request = [&log](const base::Json& line) { log << line.dump() << std::endl; };
  }
  // A port that is taken is told of before the model is read.
  PUNA_TRY(const auto server, listen(flags));
  PUNA_TRY(service::LoadedModel model, load(flags));
  service::HostThread host(std::move(model));
  api::OneModel source(served_model(flags, host));
  server->serve(source);
  const bool tls = !flags.server.certificate_file.empty();
  for (const server::Address& address : server->addresses())
    print_err("{} is served on {}\n", source.loaded().front()->id, text_of(address, tls));
  wait_for_signal();
  print_err("Ending; what is under way has {} s.\n", flags.drain.count());
  server->drain(flags.drain);
  host.stop();
  return 0;
}

}  // namespace

Action add_serve(CLI::App& app) {
  auto flags = std::make_shared<ServeFlags>();
  add_serve_flags(app, *flags);
  return [flags, &app]() -> Result<int> {
    PUNA_TRY(read_environment(app, *flags));
    return run(*flags);
  };
}

}  // namespace puna::cli
