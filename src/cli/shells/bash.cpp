#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/shells/shells.h"

namespace puna::cli {
namespace {

// Words are those that spaces part: bash itself parts them at ":" and "=", too, which are in names
// of models and in options. A value that is not known is completed as a file.
constexpr const char* kBegin = R"(# Completes command lines of puna in bash.
_puna_models() { puna list 2>/dev/null | awk 'NR > 1 { print $1 }'; }
_puna() {
  local line=${COMP_LINE:0:COMP_POINT}
  local -a words
  read -ra words <<< "$line"
  local cur=${line##* } command=${words[1]} option=
  local count=${#words[@]}
  [ -n "$cur" ] && count=$((count - 1))
  [ "$count" -ge 2 ] && option=${words[count - 1]}
  local whole=$cur choices=
  COMPREPLY=()
  case $cur in -*=*) option=${cur%%=*} cur=${cur#*=} ;; esac
  if [ "$count" -le 1 ]; then
    choices="@COMMANDS@"
  else
    case "$command $option" in
)";

constexpr const char* kMiddle = R"(      *)
        case "$command $cur" in
)";

constexpr const char* kEnd = R"(        esac
        ;;
    esac
  fi
  local word skip=${whole%"${whole##*[:=]}"}
  for word in $(compgen -W "$choices" -- "$cur"); do
    [ "$whole" != "$cur" ] && word=${whole%%=*}=$word
    COMPREPLY+=("${word#"$skip"}")
  done
}
complete -o default -F _puna puna
)";

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

std::string bash_completion(std::span<const CommandFacts> commands) {
  std::vector<std::string> names;
  std::string values, options;
  for (const CommandFacts& command : commands) {
    names.push_back(command.name);
    std::vector<std::string> all;
    bool models = false;
    for (const OptionFacts& option : command.options) {
      all.insert(all.end(), option.names.begin(), option.names.end());
      models = models || (!option.argument.empty() && takes_model(option));
      if (option.type.empty() || option.names.empty()) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names)
        patterns.push_back(fmt::format("\"{} {}\"", command.name, name));
      const std::string choices = takes_model(option)
                                      ? "$(_puna_models)"
                                      : fmt::format("{}", fmt::join(option.choices, " "));
      values += fmt::format("      {}) choices=\"{}\" ;;\n", fmt::join(patterns, " | "), choices);
    }
    options +=
        fmt::format("          \"{} -\"*) choices=\"{}\" ;;\n", command.name, fmt::join(all, " "));
    if (models)
      options += fmt::format("          \"{} \"*) choices=$(_puna_models) ;;\n", command.name);
  }
  names.insert(names.end(), {"--help", "--version"});
  return replaced(kBegin, "@COMMANDS@", fmt::format("{}", fmt::join(names, " "))) + values +
         kMiddle + options + kEnd;
}

}  // namespace puna::cli
