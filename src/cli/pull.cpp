// puna pull: fetches a model into the store.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/options.h"
#include "cli/output.h"

namespace puna::cli {
namespace {

struct PullFlags {
  std::string model;
  std::string as;
  bool insecure = false;
};

base::Result<int> run_pull(const PullFlags& flags) {
  catch_interrupts();
  ProgressBar bar;
  PUNA_TRY(const store::Store store, store::Store::of_environment());
  if (const auto name = store.named(flags.model)) {
    if (const store::CatalogueEntry* entry = store::find(store::catalogue(), *name)) {
      print_err("{} ({}), {}\nLicence: {}\n", entry->title, entry->file_type,
                human_bytes(entry->bytes), entry->license);
    }
  }
  store::PullOptions options = transfer_options(bar);
  options.insecure = flags.insecure;
  options.as = flags.as;
  PUNA_TRY(const std::string path, store.pull(flags.model, options));
  bar.clear();
  write_text(stdout, path + "\n");
  return 0;
}

}  // namespace

Action add_pull(CLI::App& app) {
  auto flags = std::make_shared<PullFlags>();
  not_empty(app.add_option("MODEL", flags->model,
                           "A catalogue name (smollm2, gemma3:270m-base), hf.co/USER/REPO:QUANT, "
                           "[HOST/]NAMESPACE/MODEL:TAG of a registry, or the https address of a "
                           "GGUF file")
                ->required());
  not_empty(app.add_option("--as", flags->as, "Store it under this name"));
  app.add_flag("--insecure", flags->insecure, "Allow plain http; a registry is asked by it");
  return [flags] { return run_pull(*flags); };
}

}  // namespace puna::cli
