// puna rm: deletes models of the store.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/options.h"
#include "store/store.h"

namespace puna::cli {

Action add_remove(CLI::App& app) {
  auto models = std::make_shared<std::vector<std::string>>();
  not_empty(app.add_option("MODEL", *models, "Models of the store")->required());
  return [models]() -> base::Result<int> {
    PUNA_TRY(const store::Store store, store::Store::of_environment());
    for (const std::string& model : *models) {
      PUNA_TRY_CONTEXT(store.remove(model), fmt::format("While deleting {}", model));
    }
    return 0;
  };
}

}  // namespace puna::cli
