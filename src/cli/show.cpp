// puna show: what a model is, can do, and was made with.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "service/model_json.h"
#include "service/shown.h"

namespace puna::cli {
namespace {

using base::Json;
using base::Result;
using service::ShownModel;

struct Flags {
  std::string model;
  bool json = false, verbose = false;
  // One of these alone:
  bool modelfile = false, parameters = false, chat_template = false, system = false,
       license = false;
};

std::string license_of(const ShownModel& model) {
  std::string out;
  for (const std::string& each : model.parts.licenses) out += (out.empty() ? "" : "\n") + each;
  return out.empty() ? model.file.get_string("general.license", "").value_or("") : out;
}

Result<Json> shown_json(const ShownModel& model, bool all) {
  PUNA_TRY(const std::string modelfile, store::show_modelfile(model.parts));
  Json details = Json::object();
  details.set("format", model.card.format)
      .set("family", model.card.family)
      .set("parameter_size", service::parameter_size(model.card.n_parameters))
      .set("quantization_level", model.card.file_type)
      .set("context_length", model.card.context)
      .set("embedding_length", model.card.embedding);
  Json capabilities = Json::array();
  for (const std::string& each : model.card.capabilities) capabilities.push(each);
  Json messages = Json::array();
  for (const store::ModelfileMessage& each : model.modelfile.messages)
    messages.push(Json::object().set("role", each.role).set("content", each.content));
  Json out = Json::object();
  out.set("name", model.name)
      .set("path", model.parts.model_paths.front())
      .set("license", license_of(model))
      .set("modelfile", modelfile)
      .set("parameters", model.modelfile.parameters)
      .set("template", model.chat_template)
      .set("system", model.modelfile.system.value_or(""))
      .set("messages", std::move(messages))
      .set("details", std::move(details))
      .set("capabilities", std::move(capabilities))
      .set("model_info", service::metadata_json(model.file, all));
  if (all) out.set("tensors", service::tensors_json(model.file));
  return out;
}

void print_section(std::string_view title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  print_out("  {}\n", title);
  for (const std::string& line : lines) write_text(stdout, "    " + line + "\n");
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

void print_all(const ShownModel& model, bool verbose) {
  constexpr size_t kFewLines = 2;
  const service::ModelCard& card = model.card;
  const auto row = [](std::string_view name, std::string_view value) {
    return fmt::format("{:<20} {}", name, value);
  };
  std::vector<std::string> facts = {row("architecture", card.family),
                                    row("parameters", service::parameter_size(card.n_parameters))};
  if (card.context > 0) facts.push_back(row("context length", fmt::to_string(card.context)));
  if (card.embedding > 0) facts.push_back(row("embedding length", fmt::to_string(card.embedding)));
  facts.push_back(row("quantization", card.file_type.empty() ? "unknown" : card.file_type));
  print_section("Model", facts);
  print_section("Capabilities", card.capabilities);
  const auto all = [](std::string_view text) { return lines_of(text, text.size()); };
  print_section("Parameters", all(service::parameters_text(model.modelfile.parameters)));
  print_section("System", lines_of(model.modelfile.system.value_or(""), kFewLines));
  print_section("License", lines_of(license_of(model), kFewLines));
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

Result<int> run(const Flags& flags) {
  PUNA_TRY(const ShownModel model, service::show_model(flags.model));
  if (flags.json) {
    PUNA_TRY(const Json json, shown_json(model, flags.verbose));
    print_json(json);
    return 0;
  }
  if (flags.modelfile) {
    PUNA_TRY(const std::string text, store::show_modelfile(model.parts));
    write_text(stdout, text);
    return 0;
  }
  const std::pair<bool, std::string> parts[] = {
      {flags.parameters, service::parameters_text(model.modelfile.parameters)},
      {flags.chat_template, model.chat_template},
      {flags.system, model.modelfile.system.value_or("")},
      {flags.license, license_of(model)}};
  for (const auto& [wanted, text] : parts) {
    if (!wanted) continue;
    write_text(stdout, text.empty() ? "" : text + "\n");
    return 0;
  }
  print_all(model, flags.verbose);
  return 0;
}

}  // namespace

Action add_show(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  not_empty(
      app.add_option("MODEL", flags->model, "A model of this machine, a .gguf path or a folder")
          ->required());
  CLI::Option* const parts[] = {
      app.add_flag("--modelfile", flags->modelfile, "Print its Modelfile alone"),
      app.add_flag("--parameters", flags->parameters, "Print its parameters alone"),
      app.add_flag("--template", flags->chat_template, "Print its chat template alone"),
      app.add_flag("--system", flags->system, "Print its system message alone"),
      app.add_flag("--license", flags->license, "Print its licence alone"),
      app.add_flag("--json", flags->json, "Print one JSON document")};
  for (CLI::Option* one : parts) {
    for (CLI::Option* other : parts) {
      if (one != other) one->excludes(other);
    }
  }
  app.add_flag("-v,--verbose", flags->verbose, "With all metadata and tensors");
  return [flags] { return run(*flags); };
}

}  // namespace puna::cli
