// Completion scripts, a function a shell.
#pragma once

#include <span>
#include <string>

#include "cli/command_facts.h"

namespace puna::cli {

std::string bash_completion(std::span<const CommandFacts> commands);
std::string zsh_completion(std::span<const CommandFacts> commands);
std::string fish_completion(std::span<const CommandFacts> commands);

// Whether the names of models are what an argument or a value of this option may be.
bool takes_model(const OptionFacts& option);

}  // namespace puna::cli
