// puna convert: a folder of Hugging Face or MLC weights as a GGUF file.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/options.h"
#include "cli/write_model.h"
#include "io/output_file.h"
#include "service/quantize_type.h"

namespace puna::cli {
namespace {

struct Flags {
  ModelFlags model;
  std::string output;
  std::string type;
  bool force = false;
};

base::Result<int> run(const Flags& flags) {
  formats::QuantizeOptions options;
  if (!flags.type.empty()) {
    PUNA_TRY(options, service::parse_type(flags.type));
  }
  PUNA_TRY(const io::OutputPlace place, io::find_output(flags.output, {}));
  std::error_code ignored;
  if (!flags.force && place.kind == io::OutputPlace::Kind::kFile &&
      std::filesystem::exists(place.path, ignored)) {
    return base::fail(base::ErrorCode::kUsage,
                      fmt::format("\"{}\" exists already; give another name, or --force to replace "
                                  "it.",
                                  flags.output));
  }
  PUNA_TRY(write_model(flags.model, options, flags.output));
  return 0;
}

}  // namespace

Action add_convert(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  not_empty(app.add_option("DIR", flags->model.model, "A folder of Hugging Face or MLC weights")
                ->required());
  not_empty(
      app.add_option("OUT", flags->output, "The GGUF file to write; it appears when it is complete")
          ->required());
  not_empty(app.add_option(
      "--type", flags->type,
      "What most matrices become (default: what they are; MLC's q4f16_1 becomes q4_0, which holds "
      "the same values): " +
          service::writable_mixes()));
  app.add_flag("--force", flags->force, "Replace OUT where it exists");
  add_thread_flags(app, flags->model);
  return [flags] { return run(*flags); };
}

}  // namespace puna::cli
