// puna serve in a build without a server (PUNA_HTTP=OFF): it says so.

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/serve/child.h"

namespace puna::cli {

Action add_serve(CLI::App& app) {
  app.allow_extras();
  return []() -> base::Result<int> {
    return base::fail(base::ErrorCode::kUsage,
                      "This build has no server: it was made without PUNA_HTTP.");
  };
}

base::Result<int> run_child() {
  return base::fail(base::ErrorCode::kUsage, "This build has no server.");
}

base::Result<std::vector<std::string>> spell_serve(std::vector<std::string> words) { return words; }

}  // namespace puna::cli
