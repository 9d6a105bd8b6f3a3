// puna ps: the models that a running server has loaded.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <ctime>
#include <memory>

#include "cli/client/client.h"
#include "cli/client/loaded_models.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/table.h"
#include "cli/terminal.h"

namespace puna::cli {
namespace {

constexpr size_t kShortIdDigits = 12;
constexpr Column kColumns[] = {{"NAME"},      {"ID"},      {"SIZE", /*right=*/true},
                               {"PROCESSOR"}, {"CONTEXT"}, {"UNTIL"}};

struct PsFlags {
  std::string host;
  bool json = false;
};

base::Result<int> run_ps(const PsFlags& flags) {
  catch_interrupts();
  PUNA_TRY(const Client client, find_server(flags.host));
  PUNA_TRY(const base::Json answer, client.ask("/api/ps"));
  PUNA_TRY(const std::vector<LoadedModelReport> models, loaded_models(answer));
  if (flags.json) {
    print_json(answer);
    return 0;
  }
  std::vector<std::vector<std::string>> rows;
  for (const LoadedModelReport& model : models) {
    rows.push_back(
        {base::printable(model.name),
         model.digest.empty() ? "-" : base::printable(model.digest.substr(0, kShortIdDigits)),
         human_bytes(model.bytes), processor_text(model.bytes, model.gpu_bytes),
         model.context > 0 ? fmt::to_string(model.context) : "-",
         base::printable(until_text(model.expires, std::time(nullptr)))});
  }
  print_table(kColumns, rows);
  return 0;
}

}  // namespace

Action add_ps(CLI::App& app) {
  auto flags = std::make_shared<PsFlags>();
  add_host_flag(app, flags->host);
  app.add_flag("--json", flags->json, "Print what the server says as one JSON document");
  return [flags] { return run_ps(*flags); };
}

}  // namespace puna::cli
