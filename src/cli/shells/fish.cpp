#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/shells/shells.h"

namespace puna::cli {
namespace {

std::string shell_word(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

}  // namespace

std::string fish_completion(std::span<const CommandFacts> commands) {
  std::string out = R"(# Completes command lines of puna in fish.
function __puna_models
  puna list 2>/dev/null | awk 'NR > 1 { print $1 }'
end
)";
  for (const CommandFacts& command : commands) {
    out += fmt::format("complete -c puna -n __fish_use_subcommand -f -a {} -d {}\n", command.name,
                       shell_word(command.summary));
  }
  for (const CommandFacts& command : commands) {
    const std::string head =
        fmt::format("complete -c puna -n '__fish_seen_subcommand_from {}'", command.name);
    for (const OptionFacts& option : command.options) {
      if (!option.argument.empty()) {
        if (takes_model(option)) out += fmt::format("{} -a '(__puna_models)'\n", head);
        continue;
      }
      out += head;
      for (const std::string& name : option.names) {
        const bool is_long = name.starts_with("--");
        // A single letter, or what is written with one dash all the same.
        const std::string_view flag = is_long ? "-l" : name.size() == 2 ? "-s" : "-o";
        out += fmt::format(" {} {}", flag, name.substr(is_long ? 2 : 1));
      }
      if (!option.type.empty()) out += " -r";
      if (takes_model(option)) {
        out += " -a '(__puna_models)'";
      } else if (!option.choices.empty()) {
        out +=
            fmt::format(" -f -a {}", shell_word(fmt::format("{}", fmt::join(option.choices, " "))));
      }
      out += fmt::format(" -d {}\n", shell_word(option.about));
    }
  }
  return out;
}

}  // namespace puna::cli
