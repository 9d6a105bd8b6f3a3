#include "store/modelfile.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/printable.h"
#include "store/modelfile_parameters.h"
#include "store/modelfile_syntax.h"

namespace puna::store {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

// Of ollama 0.17: what its model/renderers and model/parsers know, as far as Puna has such a
// family.
constexpr ModelFamily kFamilies[] = {
    {"deepseek3", "deepseek", false, true},
    {"deepseek3.1", "deepseek", true, false},
    {"gemma4", "gemma4", true, true},
    {"harmony", "gpt-oss", false, true},
    {"lfm2", "lfm2", true, true},
    {"lfm2-thinking", "lfm2", true, true},
    {"ministral", "mistral", false, true},
    {"nemotron-3-nano", "qwen-xml", true, true},
    {"olmo3", "olmo3", true, true},
    {"olmo3-32b-think", "olmo3", true, false},
    {"olmo3-think", "olmo3", true, true},
    {"olmo3.1", "olmo3", true, false},
    {"passthrough", "plain", false, true},
    {"qwen3", "hermes", false, true},
    {"qwen3-coder", "qwen-xml", true, true},
    {"qwen3-thinking", "hermes", false, true},
    {"qwen3-vl-instruct", "hermes", true, true},
    {"qwen3-vl-thinking", "hermes", true, true},
    {"qwen3.5", "qwen-xml", true, true},
};

// Numbers with dots between, and what semantic versions may have behind the third.
bool is_version(std::string_view text) {
  const auto is_number = [](std::string_view part) {
    return !part.empty() && (part == "0" || part[0] != '0') &&
           std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
  };
  // Identifiers of letters, digits and hyphens; numbers of a pre-release have no leading zero.
  const auto are_identifiers = [&](std::string_view list, bool of_release) {
    for (;;) {
      const std::string_view part = list.substr(0, list.find('.'));
      const bool fits = std::ranges::all_of(part, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               c == '-';
      });
      const bool digits = std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
      if (part.empty() || !fits || (of_release && digits && !is_number(part))) return false;
      if (part.size() == list.size()) return true;
      list.remove_prefix(part.size() + 1);
    }
  };
  int n_parts = 0;
  while (true) {
    const size_t end = text.find_first_of(".-+");
    if (!is_number(text.substr(0, end)) || ++n_parts > 3) return false;
    if (end == text.npos) return true;
    const char sign = text[end];
    text.remove_prefix(end + 1);
    if (sign == '.') continue;
    if (n_parts != 3) return false;
    if (sign == '+') return are_identifiers(text, false);
    const size_t plus = text.find('+');
    return are_identifiers(text.substr(0, plus), true) &&
           (plus == text.npos || are_identifiers(text.substr(plus + 1), false));
  }
}

class Builder {
 public:
  Result<void> add(const ModelfileCommand& command) {
    struct Row {
      std::string_view name;
      Result<void> (Builder::*add)(const ModelfileCommand& command);
    };
    static constexpr Row kRows[] = {
        {"from", &Builder::add_from},         {"parameter", &Builder::add_parameter},
        {"template", &Builder::add_template}, {"system", &Builder::add_system},
        {"message", &Builder::add_message},   {"license", &Builder::add_license},
        {"requires", &Builder::add_requires}, {"renderer", &Builder::add_renderer},
        {"parser", &Builder::add_parser},     {"adapter", &Builder::refuse},
        {"draft", &Builder::refuse},
    };
    return (this->*std::ranges::find(kRows, command.name, &Row::name)->add)(command);
  }

  ParsedModelfile take() { return std::move(out_); }

 private:
  std::unexpected<base::Error> fail(const ModelfileCommand& command, std::string_view what) const {
    return fail_at_line(command.line, ErrorCode::kInvalidArgument, what);
  }

  void warn(const ModelfileCommand& command, std::string_view what) {
    out_.warnings.push_back(fmt::format("(line {}): {}", command.line, what));
  }

  // Says that a command takes the place of one before.
  void warn_again(const ModelfileCommand& command, bool is_set) {
    if (!is_set) return;
    const std::string detail = command.detail.empty() ? "" : " " + command.detail;
    warn(command, fmt::format("{}{} takes the place of the one before", command.name, detail));
  }

  Result<void> add_from(const ModelfileCommand& command) {
    if (command.value.empty()) return fail(command, "from names no model");
    file().from.push_back(command.value);
    return {};
  }

  Result<void> add_parameter(const ModelfileCommand& command) {
    const std::span<const std::string_view> former = former_parameters();
    if (std::ranges::find(former, command.detail) != former.end()) {
      warn(command, fmt::format("parameter {} is deprecated", command.detail));
      return {};
    }
    auto value = read_parameter(command.detail, command.value);
    if (!value) return fail(command, value.error().message);
    const Json* before = file().parameters.find(command.detail);
    if (value->is_string()) {
      Json list = before ? *before : Json::array();
      file().parameters.set(command.detail, list.push(*std::move(value)));
      return {};
    }
    warn_again(command, before != nullptr);
    file().parameters.set(command.detail, *std::move(value));
    return {};
  }

  Result<void> add_template(const ModelfileCommand& command) {
    warn_again(command, file().chat_template.has_value());
    file().chat_template = command.value;
    return {};
  }

  Result<void> add_system(const ModelfileCommand& command) {
    warn_again(command, file().system.has_value());
    file().system = command.value;
    return {};
  }

  Result<void> add_message(const ModelfileCommand& command) {
    file().messages.push_back({.role = command.detail, .content = command.value});
    return {};
  }

  Result<void> add_license(const ModelfileCommand& command) {
    file().licenses.push_back(command.value);
    return {};
  }

  Result<void> add_requires(const ModelfileCommand& command) {
    const std::string version = command.value.substr(command.value.starts_with('v') ? 1 : 0);
    if (!is_version(version)) return fail(command, "requires must be a valid semver (e.g. 0.14.0)");
    warn_again(command, !file().minimal_version.empty());
    file().minimal_version = version;
    return {};
  }

  Result<void> add_renderer(const ModelfileCommand& command) {
    return add_family(command, &ModelFamily::renderer, &Modelfile::renderer);
  }

  Result<void> add_parser(const ModelfileCommand& command) {
    return add_family(command, &ModelFamily::parser, &Modelfile::parser);
  }

  Result<void> add_family(const ModelfileCommand& command, bool ModelFamily::* known_as,
                          std::string Modelfile::* slot) {
    const auto* const found = std::ranges::find(kFamilies, command.value, &ModelFamily::name);
    if (found == std::end(kFamilies) || !(found->*known_as)) {
      std::string names;
      for (const ModelFamily& each : kFamilies) {
        if (each.*known_as) names += (names.empty() ? "" : ", ") + std::string(each.name);
      }
      return fail_at_line(command.line, ErrorCode::kUnsupported,
                          fmt::format("there is no {} \"{}\"; there are {}", command.name,
                                      base::printable(command.value.substr(0, 100)), names));
    }
    warn_again(command, !(file().*slot).empty());
    file().*slot = command.value;
    return {};
  }

  Result<void> refuse(const ModelfileCommand& command) {
    return fail_at_line(command.line, ErrorCode::kUnsupported,
                        fmt::format("{} is not supported yet", command.name));
  }

  Modelfile& file() { return out_.modelfile; }

  ParsedModelfile out_;
};

// The words of a parameter, one command each.
std::vector<std::string> texts_of(const Json& value) {
  std::vector<std::string> out;
  if (value.is_array()) {
    for (const Json& each : value.items())
      out.push_back(each.is_string() ? each.string() : each.dump());
  } else {
    out.push_back(value.is_string() ? value.string() : value.dump());
  }
  return out;
}

std::vector<ModelfileCommand> commands_of(const Modelfile& file) {
  std::vector<ModelfileCommand> out;
  const auto add = [&](std::string name, std::string value, std::string detail = {}) {
    out.push_back({.line = 1,
                   .name = std::move(name),
                   .detail = std::move(detail),
                   .value = std::move(value)});
  };
  for (const std::string& each : file.from) add("from", each);
  if (file.chat_template) add("template", *file.chat_template);
  if (file.system) add("system", *file.system);
  if (!file.renderer.empty()) add("renderer", file.renderer);
  if (!file.parser.empty()) add("parser", file.parser);
  if (!file.minimal_version.empty()) add("requires", file.minimal_version);
  if (file.parameters.is_object()) {
    for (const auto& [name, value] : file.parameters.members()) {
      for (std::string& text : texts_of(value)) add("parameter", std::move(text), name);
    }
  }
  for (const std::string& each : file.licenses) add("license", each);
  for (const ModelfileMessage& each : file.messages) add("message", each.content, each.role);
  return out;
}

// The comment that stands in place of a command that a Modelfile cannot have.
std::string left_out(const ModelfileCommand& command) {
  return fmt::format("# Left out, as a Modelfile has no such {}: \"{}\"\n",
                     command.name == "message" ? "role of a message" : "name of a parameter",
                     base::printable(command.detail.substr(0, 100)));
}

Result<Json> layer(std::string_view text, std::string_view what, bool (Json::*is_kind)() const) {
  PUNA_TRY_CONTEXT(Json json, Json::parse(text), fmt::format("While reading {}", what));
  if (!(json.*is_kind)()) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("The JSON of {} is of type {}.", what, json.type_name()));
  }
  return json;
}

}  // namespace

std::span<const ModelFamily> model_families() { return kFamilies; }

Result<ParsedModelfile> parse_modelfile(std::string_view text) {
  PUNA_TRY(const std::string decoded, decode_modelfile(text));
  PUNA_TRY(const std::vector<ModelfileCommand> commands, read_commands(decoded));
  Builder builder;
  for (const ModelfileCommand& command : commands) PUNA_TRY(builder.add(command));
  ParsedModelfile out = builder.take();
  if (out.modelfile.from.empty()) return base::fail(ErrorCode::kInvalidArgument, "no FROM line");
  return out;
}

Result<std::string> write_modelfile(const Modelfile& modelfile) {
  std::string out;
  for (const ModelfileCommand& command : commands_of(modelfile)) {
    PUNA_TRY(const std::string lines, write_command(command));
    out += lines;
  }
  return out;
}

Result<Modelfile> modelfile_of(const ModelParts& parts) {
  Modelfile file{.from = parts.model_paths,
                 .chat_template = parts.chat_template,
                 .system = parts.system,
                 .licenses = parts.licenses,
                 .minimal_version = parts.minimal_version,
                 .renderer = parts.renderer,
                 .parser = parts.parser};
  if (!parts.parameters.empty()) {
    PUNA_TRY(file.parameters, layer(parts.parameters, "the parameters", &Json::is_object));
  }
  if (!parts.messages.empty()) {
    PUNA_TRY(const Json messages, layer(parts.messages, "the messages", &Json::is_array));
    for (const Json& each : messages.items()) {
      PUNA_TRY(std::string role, each.get_string("role"));
      PUNA_TRY(std::string content, each.get_string("content"));
      file.messages.push_back({.role = std::move(role), .content = std::move(content)});
    }
  }
  return file;
}

Result<std::string> show_modelfile(const ModelParts& parts) {
  PUNA_TRY(const Modelfile file, modelfile_of(parts));
  std::string text;
  for (const ModelfileCommand& command : commands_of(file)) {
    PUNA_TRY(const std::string lines,
             has_readable_detail(command) ? write_command(command) : left_out(command));
    text += lines;
  }
  // A name of another store could hold a line feed, behind which commands would follow.
  return fmt::format(
      "# Modelfile generated by \"puna show\"\n"
      "# To build a new Modelfile based on this, replace FROM with:\n# FROM {}\n\n{}",
      base::printable(parts.name), text);
}

}  // namespace puna::store
