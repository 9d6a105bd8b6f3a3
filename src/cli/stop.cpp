// puna stop: has a running server unload a model.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/client/client.h"
#include "cli/client/loaded_models.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/terminal.h"

namespace puna::cli {
namespace {

using base::Json;

struct StopFlags {
  std::string model;
  std::string host;
};

base::Result<std::vector<LoadedModelReport>> loaded_at(const Client& client) {
  PUNA_TRY(const Json answer, client.ask("/api/ps"));
  return loaded_models(answer);
}

bool has(const std::vector<LoadedModelReport>& models, const std::string& name) {
  return std::ranges::any_of(
      models, [&](const LoadedModelReport& model) { return same_model(model.name, name); });
}

base::Result<int> run_stop(const StopFlags& flags) {
  catch_interrupts();
  PUNA_TRY(const Client client, find_server(flags.host));
  // Asking for it would load one that is not.
  PUNA_TRY(const auto before, loaded_at(client));
  if (!has(before, flags.model)) {
    std::string names;
    for (const LoadedModelReport& model : before)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", model.name);
    return base::fail(
        base::ErrorCode::kNotFound,
        fmt::format("The model {} is not loaded at {}; {}.", flags.model, client.server().text(),
                    names.empty() ? "none is" : fmt::format("loaded: {}", names)));
  }
  Json body = Json::object().set("model", flags.model).set("keep_alive", 0);
  PUNA_TRY(client.ask("/api/generate", body.set("stream", false)));
  PUNA_TRY(const auto after, loaded_at(client));
  if (has(after, flags.model)) {
    print_err(
        "{} is still loaded: a server unloads it when no text needs it any more, and one of a "
        "single model (puna serve --model) never does.\n",
        base::printable(flags.model));
  }
  return 0;
}

}  // namespace

Action add_stop(CLI::App& app) {
  auto flags = std::make_shared<StopFlags>();
  not_empty(app.add_option("MODEL", flags->model, "A model that puna ps lists")->required());
  add_host_flag(app, flags->host);
  return [flags] { return run_stop(*flags); };
}

}  // namespace puna::cli
