// puna quantize: writes a model again with other weight types.

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/options.h"
#include "cli/write_model.h"
#include "service/quantize_type.h"

namespace puna::cli {
namespace {

struct QuantizeFlags {
  ModelFlags model;
  std::string output;
  std::string type;
};

base::Result<int> run_quantize(const QuantizeFlags& flags) {
  PUNA_TRY(const formats::QuantizeOptions options, service::parse_type(flags.type));
  PUNA_TRY(write_model(flags.model, options, flags.output));
  return 0;
}

}  // namespace

Action add_quantize(CLI::App& app) {
  auto flags = std::make_shared<QuantizeFlags>();
  not_empty(app.add_option("IN", flags->model.model,
                           "A name in the store or catalogue, a .gguf path or a folder")
                ->required());
  not_empty(
      app.add_option("OUT", flags->output, "The GGUF file to write; replaced when it is complete")
          ->required());
  app.add_option("TYPE", flags->type,
                 "What most matrices become, or pure:TYPE for one type throughout: " +
                     service::writable_mixes())
      ->required();
  add_thread_flags(app, flags->model);
  return [flags] { return run_quantize(*flags); };
}

}  // namespace puna::cli
