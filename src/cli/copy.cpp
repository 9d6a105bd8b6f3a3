// puna cp: gives a stored model a second name.

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/options.h"
#include "store/store.h"

namespace puna::cli {

Action add_copy(CLI::App& app) {
  auto names = std::make_shared<std::pair<std::string, std::string>>();
  not_empty(app.add_option("FROM", names->first, "A model of the store")->required());
  not_empty(app.add_option("TO", names->second, "Its second name")->required());
  return [names]() -> base::Result<int> {
    PUNA_TRY(const store::Store store, store::Store::of_environment());
    PUNA_TRY(store.copy(names->first, names->second));
    return 0;
  };
}

}  // namespace puna::cli
