// puna pull: fetches a model of the catalogue.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/options.h"
#include "cli/output.h"

namespace puna::cli {
namespace {

base::Result<int> run(const std::string& model) {
  catch_interrupts();
  ProgressBar bar;
  ModelFlags flags;
  flags.model = model;
  PUNA_TRY(const service::OpenOptions options, open_options(flags, {}, bar));
  PUNA_TRY(const store::Resolved found, store::resolve(model));
  if (!found.entry) {
    return base::fail(base::ErrorCode::kUsage,
                      fmt::format("\"{}\" is here already ({}); only catalogue models are pulled.",
                                  model, found.path));
  }
  print_err("{} ({}), {}\nLicence: {}\n", found.entry->title, found.entry->file_type,
            human_bytes(found.entry->bytes), found.entry->license);
  PUNA_TRY(const std::string root, store::default_root());
  PUNA_TRY(const std::string path, store::Store(root).pull(model, options.pull_options));
  bar.clear();
  write_text(stdout, path + "\n");
  return 0;
}

}  // namespace

Action add_pull(CLI::App& app) {
  auto model = std::make_shared<std::string>();
  not_empty(
      app.add_option("MODEL", *model, "A catalogue name: smollm2, gemma3:270m-base")->required());
  return [model] { return run(*model); };
}

}  // namespace puna::cli
