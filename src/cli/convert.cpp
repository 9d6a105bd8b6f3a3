// puna convert: a folder of Hugging Face or MLC weights as a GGUF file.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/options.h"
#include "cli/write_model.h"
#include "formats/open.h"
#include "io/output_file.h"
#include "service/quantize_type.h"

namespace puna::cli {
namespace {

struct ConvertFlags {
  ModelFlags model;
  std::string output;
  std::string type;
  bool force = false;
  bool no_mmproj = false;
};

// Where the encoder of the folder goes, as llama.cpp's converter names it; empty: there is none to
// write.
base::Result<std::string> encoder_output(const ConvertFlags& flags, const io::OutputPlace& model) {
  const std::filesystem::path folder(flags.model.model);
  std::error_code ignored;
  if (flags.no_mmproj || !std::filesystem::is_directory(folder, ignored)) return std::string();
  PUNA_TRY(const bool has, formats::has_encoder(folder.string()));
  if (!has) return std::string();
  if (model.kind == io::OutputPlace::Kind::kFile) {
    const std::filesystem::path out(flags.output);
    return (out.parent_path() / ("mmproj-" + out.filename().string())).string();
  }
  return base::fail(base::ErrorCode::kUsage,
                    "The folder has an encoder too, which is a second file; name OUT as a file, or "
                    "give --no-mmproj.");
}

base::Result<void> check_free(const ConvertFlags& flags, const std::string& output) {
  std::error_code ignored;
  if (flags.force || output.empty() || !std::filesystem::exists(output, ignored)) return {};
  return base::fail(base::ErrorCode::kUsage,
                    fmt::format("\"{}\" exists already; give another name, or --force to replace "
                                "it.",
                                output));
}

base::Result<int> run_convert(const ConvertFlags& flags) {
  formats::QuantizeOptions options;
  if (!flags.type.empty()) {
    PUNA_TRY(options, service::parse_type(flags.type));
  }
  PUNA_TRY(const io::OutputPlace place, io::find_output(flags.output, {}));
  PUNA_TRY(const std::string encoder, encoder_output(flags, place));
  if (place.kind == io::OutputPlace::Kind::kFile) PUNA_TRY(check_free(flags, flags.output));
  PUNA_TRY(check_free(flags, encoder));
  PUNA_TRY(write_model(flags.model, options, flags.output));
  if (!encoder.empty()) PUNA_TRY(write_encoder(flags.model, encoder));
  return 0;
}

}  // namespace

Action add_convert(CLI::App& app) {
  auto flags = std::make_shared<ConvertFlags>();
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
  app.add_flag("--no-mmproj", flags->no_mmproj,
               "Leave out the encoder of pictures and sounds, which becomes mmproj-OUT");
  app.add_flag("--force", flags->force, "Replace OUT, and mmproj-OUT, where they exist");
  add_thread_flags(app, flags->model);
  return [flags] { return run_convert(*flags); };
}

}  // namespace puna::cli
