// A command of the program: its name, help, and a function that declares its options and returns
// what to run. commands.cpp is the table; each command is a file of its own.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

namespace puna::cli {

// Runs after parsing; the value is the exit code.
using Action = std::function<base::Result<int>()>;

struct Command {
  std::string_view name;
  std::string_view summary;
  std::string_view example;  // shown below the options
  Action (*add)(CLI::App& app);
  // The words behind its name as its options are called where they have other names too; null: they
  // have none. Errors: kUsage for words that it refuses.
  base::Result<std::vector<std::string>> (*spell)(std::vector<std::string> words) = nullptr;
};

std::span<const Command> commands();

Action add_bench(CLI::App& app);
Action add_completions(CLI::App& app);
Action add_convert(CLI::App& app);
Action add_copy(CLI::App& app);
Action add_create(CLI::App& app);
Action add_detokenize(CLI::App& app);
Action add_devices(CLI::App& app);
Action add_embed(CLI::App& app);
Action add_inspect(CLI::App& app);
Action add_launch(CLI::App& app);
Action add_list(CLI::App& app);
Action add_logits(CLI::App& app);
Action add_man(CLI::App& app);
Action add_perplexity(CLI::App& app);
Action add_ps(CLI::App& app);
Action add_pull(CLI::App& app);
Action add_push(CLI::App& app);
Action add_quantize(CLI::App& app);
Action add_remove(CLI::App& app);
Action add_run(CLI::App& app);
Action add_selftest(CLI::App& app);
Action add_serve(CLI::App& app);
Action add_stop(CLI::App& app);
Action add_show(CLI::App& app);
Action add_tokenize(CLI::App& app);
Action add_tune(CLI::App& app);
Action add_verify(CLI::App& app);

base::Result<std::vector<std::string>> spell_serve(std::vector<std::string> words);

// What puna devices prints; the value is the exit code.
base::Result<int> print_devices(bool json);

}  // namespace puna::cli
