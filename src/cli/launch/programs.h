// The programs that `puna launch` starts, and what each reads of its environment and command line.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace puna::cli {

// What a program is told.
struct LaunchSetup {
  std::string url;       // of the server
  std::string key;       // programs want one, also where the server does not
  std::string model;     // as the server calls it
  uint64_t context = 0;  // tokens; 0: not known
};

using Variables = std::vector<std::pair<std::string, std::string>>;

struct LaunchedProgram {
  std::string_view name;     // of the command
  std::string_view title;    // for people
  std::string_view install;  // how it is installed
  Variables (*variables)(const LaunchSetup& setup);
  // Before those of the user; null: none.
  std::vector<std::string> (*arguments)(const LaunchSetup& setup) = nullptr;
};

std::span<const LaunchedProgram> launched_programs();

}  // namespace puna::cli
