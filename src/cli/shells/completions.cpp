// puna completions: the script that completes command lines in a shell, made of what --help knows.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/shells/shells.h"
#include "cli/usage.h"

namespace puna::cli {
namespace {

struct Shell {
  std::string_view name;
  std::string (*script)(std::span<const CommandFacts> commands);
};
constexpr Shell kShells[] = {
    {"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}};

std::vector<std::string> shell_names() {
  std::vector<std::string> out;
  for (const Shell& shell : kShells) out.emplace_back(shell.name);
  return out;
}

}  // namespace

bool takes_model(const OptionFacts& option) {
  return option.argument == "MODEL" ||
         std::ranges::find(option.names, "--model") != option.names.end();
}

Action add_completions(CLI::App& app) {
  auto wanted = std::make_shared<std::string>();
  not_empty(
      app.add_option("SHELL", *wanted, fmt::format("One of: {}", fmt::join(shell_names(), ", ")))
          ->required());
  return [wanted, &app]() -> base::Result<int> {
    for (const Shell& shell : kShells) {
      if (shell.name != *wanted) continue;
      write_raw(stdout, shell.script(command_facts(app)));
      return 0;
    }
    const std::vector<std::string> names = shell_names();
    return base::fail(
        base::ErrorCode::kUsage,
        fmt::format("{}; {} are known", unknown("shell", *wanted, names), fmt::join(names, ", ")));
  };
}

}  // namespace puna::cli
