// puna create: makes a model of the store from a Modelfile.

#include "service/create.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/log.h"
#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/text_file.h"
#include "service/quantize_type.h"

namespace puna::cli {
namespace {

struct CreateFlags {
  std::string name;
  std::string file = "Modelfile";
  std::string quantize;
  ModelFlags model;  // threads alone
};

base::Result<int> run_create(const CreateFlags& flags) {
  if (flags.model.verbose) base::set_log_sink(base::log_to_stderr, base::LogLevel::kInfo);
  PUNA_TRY(const std::string text, read_text_file("Modelfile", flags.file));
  PUNA_TRY_CONTEXT(store::ParsedModelfile parsed, store::parse_modelfile(text),
                   fmt::format("While reading {}", base::printable(flags.file)));
  for (const std::string& warning : parsed.warnings)
    print_err("{}: {}\n", base::printable(flags.file), base::printable(warning));
  catch_interrupts();
  ProgressBar bar;
  std::string said;
  service::CreateOptions options;
  options.cancel = &interrupted();
  options.pull = transfer_options(bar);
  options.progress = [&](const service::WorkProgress& progress) {
    if (progress.total_bytes > 0)
      return bar.update(progress.status, progress.done_bytes, progress.total_bytes);
    bar.clear();
    if (std::exchange(said, progress.status) != progress.status) print_err("{}\n", progress.status);
  };
  PUNA_TRY(const store::Store store, store::Store::of_environment());
  const std::filesystem::path folder = std::filesystem::path(flags.file).parent_path();
  const service::CreateRequest request{.name = flags.name,
                                       .modelfile = std::move(parsed.modelfile),
                                       .paths = true,
                                       .folder = folder.string(),
                                       .quantize = flags.quantize,
                                       .n_threads = flags.model.threads.value_or(0)};
  PUNA_TRY(service::create(store, request, options));
  bar.clear();
  return 0;
}

}  // namespace

Action add_create(CLI::App& app) {
  auto flags = std::make_shared<CreateFlags>();
  not_empty(app.add_option("NAME", flags->name, "What the model is to be called")->required());
  not_empty(app.add_option("-f,--file", flags->file,
                           "The Modelfile; what its FROM names is a GGUF file, a folder of weights "
                           "or a model")
                ->capture_default_str());
  not_empty(app.add_option(
      "-q,--quantize", flags->quantize,
      "What most matrices become (default: what they are): " + service::writable_mixes()));
  add_thread_flags(app, flags->model);
  return [flags] { return run_create(*flags); };
}

}  // namespace puna::cli
