// puna push: sends a stored model to the registry of its name.

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/options.h"
#include "cli/output.h"

namespace puna::cli {

Action add_push(CLI::App& app) {
  struct Flags {
    std::string model;
    bool insecure = false;
  };
  auto flags = std::make_shared<Flags>();
  not_empty(
      app.add_option("MODEL", flags->model, "HOST/NAMESPACE/MODEL:TAG, in the store")->required());
  app.add_flag("--insecure", flags->insecure, "Ask the registry by plain http");
  return [flags]() -> base::Result<int> {
    catch_interrupts();
    ProgressBar bar;
    PUNA_TRY(const store::Store store, store::Store::of_environment());
    store::PullOptions options = transfer_options(bar);
    options.insecure = flags->insecure;
    PUNA_TRY(store.push(flags->model, options));
    return 0;
  };
}

}  // namespace puna::cli
