// puna show: what a model is, can do, and was made with.

#include "api/ollama/show.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/word_wrap.h"
#include "service/model_json.h"
#include "service/shown.h"

namespace puna::cli {
namespace {

using base::Json;
using base::Result;
using service::ShownModel;

struct ShowFlags {
  std::string model;
  bool json = false, verbose = false;
  // One of these alone:
  bool modelfile = false, parameters = false, chat_template = false, system = false,
       license = false;
};

// As POST /api/show answers, and behind its name and path; parameters are an object here.
Json json_of(const ShownModel& model, const service::ModelTexts& texts, bool all) {
  Json out = Json::object();
  out.set("name", model.name).set("path", model.parts.model_paths.front());
  const Json shown = api::ollama::shown_json(texts, model.card, model.file, all);
  for (const auto& [name, value] : shown.members()) out.set(name, value);
  if (model.encoder) {
    const service::FoundEncoder& encoder = *model.encoder;
    Json kinds = Json::array();
    for (const std::string& kind : encoder.kinds) kinds.push(kind);
    out.set("projector", Json::object()
                             .set("path", encoder.path)
                             .set("kinds", std::move(kinds))
                             .set("parameters", encoder.n_parameters)
                             .set("embedding_length", encoder.embedding)
                             .set("dimensions", encoder.width)
                             .set("quantization_level", encoder.file_type)
                             .set("size", encoder.bytes));
  }
  return out.set("parameters", model.modelfile.parameters)
      .set("messages", texts.messages.is_null() ? Json::array() : texts.messages);
}

void print_section(std::string_view title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  print_out("  {}\n", title);
  constexpr size_t kIndent = 4;
  for (const std::string& line : lines)
    write_text(stdout, std::string(kIndent, ' ') + wrapped(stdout, line + "\n", kIndent));
  print_out("\n");
}

std::vector<std::string> lines_of(std::string_view text, size_t most) {
  std::vector<std::string> out;
  while (!text.empty() && out.size() < most) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (!text.empty()) out.emplace_back("...");
  return out;
}

std::string row(std::string_view name, std::string_view value) {
  return fmt::format("{:<20} {}", name, value);
}

std::vector<std::string> encoder_rows(const service::FoundEncoder& encoder) {
  return {row("architecture", "clip"),
          row("kind", base::printable(fmt::format("{}", fmt::join(encoder.kinds, ", ")))),
          row("parameters", service::parameter_size(encoder.n_parameters)),
          row("embedding length", fmt::to_string(encoder.embedding)),
          row("dimensions", fmt::to_string(encoder.width)),
          row("quantization", encoder.file_type.empty() ? "unknown" : encoder.file_type),
          row("size", human_bytes(encoder.bytes)),
          row("file", base::printable(encoder.path))};
}

void print_all(const ShownModel& model, const service::ModelTexts& texts, bool verbose) {
  constexpr size_t kFewLines = 2;
  const service::ModelCard& card = model.card;
  std::vector<std::string> facts = {row("architecture", card.family),
                                    row("parameters", service::parameter_size(card.n_parameters))};
  if (card.context > 0) facts.push_back(row("context length", fmt::to_string(card.context)));
  if (card.embedding > 0) facts.push_back(row("embedding length", fmt::to_string(card.embedding)));
  facts.push_back(row("quantization", card.file_type.empty() ? "unknown" : card.file_type));
  print_section("Model", facts);
  if (model.encoder) print_section("Projector", encoder_rows(*model.encoder));
  print_section("Capabilities", card.capabilities);
  const auto all = [](std::string_view text) { return lines_of(text, text.size()); };
  print_section("Parameters", all(texts.parameters));
  print_section("System", lines_of(texts.system, kFewLines));
  print_section("License", lines_of(texts.license, kFewLines));
  if (!verbose) return;
  std::vector<std::string> metadata, tensors;
  const Json pairs = service::metadata_json(model.file, /*all=*/false);
  for (const auto& [key, value] : pairs.members())
    metadata.push_back(fmt::format("{:<40} {}", key, value.dump()));
  print_section("Metadata", metadata);
  for (const formats::Tensor& tensor : model.file.tensors) {
    std::string shape;
    for (const uint64_t n : tensor.shape) shape += (shape.empty() ? "" : " ") + fmt::to_string(n);
    tensors.push_back(fmt::format("{:<40} {:<8} [{}]", tensor.name, tensor.type_name(), shape));
  }
  print_section("Tensors", tensors);
}

Result<int> run_show(const ShowFlags& flags) {
  if (flags.modelfile + flags.parameters + flags.chat_template + flags.system + flags.license +
          flags.json >
      1) {
    return base::fail(base::ErrorCode::kUsage,
                      "Of --modelfile, --parameters, --template, --system, --license and --json "
                      "one may be given.");
  }
  PUNA_TRY(const ShownModel model, service::show_model(flags.model));
  PUNA_TRY(const service::ModelTexts texts, service::texts_of(model, model.parts.model_paths));
  if (flags.json) {
    print_json(json_of(model, texts, flags.verbose));
    return 0;
  }
  if (flags.modelfile) {
    write_text(stdout, texts.modelfile);
    return 0;
  }
  const std::pair<bool, std::string> parts[] = {{flags.parameters, texts.parameters},
                                                {flags.chat_template, texts.chat_template},
                                                {flags.system, texts.system},
                                                {flags.license, texts.license}};
  for (const auto& [wanted, text] : parts) {
    if (!wanted) continue;
    write_text(stdout, text.empty() ? "" : text + "\n");
    return 0;
  }
  print_all(model, texts, flags.verbose);
  return 0;
}

}  // namespace

Action add_show(CLI::App& app) {
  auto flags = std::make_shared<ShowFlags>();
  not_empty(
      app.add_option("MODEL", flags->model, "A model of this machine, a .gguf path or a folder")
          ->required());
  app.add_flag("--modelfile", flags->modelfile, "Print its Modelfile alone");
  app.add_flag("--parameters", flags->parameters, "Print its parameters alone");
  app.add_flag("--template", flags->chat_template, "Print its chat template alone");
  app.add_flag("--system", flags->system, "Print its system message alone");
  app.add_flag("--license", flags->license, "Print its licence alone");
  app.add_flag("--json", flags->json, "Print one JSON document");
  app.add_flag("-v,--verbose", flags->verbose, "With all metadata and tensors");
  return [flags] { return run_show(*flags); };
}

}  // namespace puna::cli
