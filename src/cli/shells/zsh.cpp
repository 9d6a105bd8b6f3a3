#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/shells/shells.h"

namespace puna::cli {
namespace {

// With the names of commands and the cases of each.
constexpr const char* kScript = R"ZSH(#compdef puna
# Completes command lines of puna in zsh.
_puna_models() {{
  local -a models
  models=(${{(f)"$(puna list 2>/dev/null | awk 'NR > 1 {{ print $1 }}')"}})
  compadd -a models
  _files
}}
_puna() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
_puna "$@"
)ZSH";

// Of a description in a specification of _arguments between single quotes.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string action_of(const OptionFacts& option) {
  if (takes_model(option)) return "_puna_models";
  if (!option.choices.empty()) return fmt::format("({})", fmt::join(option.choices, " "));
  return "_files";
}

std::string specification(const OptionFacts& option) {
  const std::string_view many = option.repeats ? "*" : "";
  if (!option.argument.empty())
    return fmt::format("'{}:{}:{}'", option.repeats ? "*" : "", escaped(option.argument),
                       action_of(option));
  std::string value;
  if (!option.type.empty()) value = fmt::format(":{}:{}", escaped(option.type), action_of(option));
  const std::string about = fmt::format("[{}]", escaped(option.about));
  std::string out;
  for (const std::string& name : option.names) {
    const std::string others =
        option.repeats ? "" : fmt::format("({})", fmt::join(option.names, " "));
    const std::string_view joined = !option.type.empty() && name.starts_with("--") ? "=" : "";
    out += fmt::format("{}'{}{}{}{}{}{}'", out.empty() ? "" : " ", others, many, name, joined,
                       about, value);
  }
  return out;
}

}  // namespace

std::string zsh_completion(std::span<const CommandFacts> commands) {
  std::string names, cases;
  for (const CommandFacts& command : commands) {
    names += fmt::format("    '{}:{}'\n", command.name, escaped(command.summary));
    cases += fmt::format("    {})\n      _arguments", command.name);
    for (const OptionFacts& option : command.options)
      cases += fmt::format(" \\\n        {}", specification(option));
    cases += "\n      ;;\n";
  }
  return fmt::format(fmt::runtime(kScript), names, cases);
}

}  // namespace puna::cli
