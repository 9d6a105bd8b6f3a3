#include "cli/serve/sleeping.h"

#include <ctime>
#include <utility>

#include "cli/serve/loading.h"
#include "cli/serve/many.h"
#include "cli/terminal.h"
#include "io/byte_source.h"
#include "manager/in_process.h"

namespace puna::cli::serve {

using base::Result;

namespace {

Result<manager::Entry> entry_of(const ServeFlags& flags) {
  manager::Entry out;
  out.file_name = name_of_path(flags.model.model);
  out.aliases = aliases_of(flags);
  out.id = out.aliases.front();
  out.tags = flags.tags;
  out.created = static_cast<int64_t>(std::time(nullptr));
  // Fetched if need be, so that it has a path.
  ProgressBar bar;
  PUNA_TRY(const service::OpenOptions options, options_of(flags, bar));
  PUNA_TRY(const formats::ModelFile file, service::open_file(options));
  out.path = flags.model.model;
  if (io::is_folder(out.path) || file.paths.empty()) return out;
  if (out.path != file.paths.front()) out.stored_as = std::exchange(out.path, file.paths.front());
  return out;
}

// As load() has it.
Result<manager::Recipe> recipe_of(const std::shared_ptr<const ServeFlags>& flags) {
  ProgressBar nowhere;
  manager::Recipe out;
  PUNA_TRY(out.options, options_of(*flags, nowhere));
  out.options.pull_options = {};
  out.options.engine.hooks = {};
  out.fit = [flags](const std::string& name, const formats::ModelFile& file,
                    service::OpenOptions& options) -> Result<void> {
    fit_to_file(*flags, file, options.engine);
    return find_mmproj(*flags, name, file, options);
  };
  out.finish = [flags](service::LoadedModel& model) { return finish(*flags, model); };
  out.asks_for_room = asks_for_room(*flags);
  out.n_texts = flags->n_parallel;
  out.n_replicas = flags->n_replicas;
  out.slot_folder = flags->slot_folder;
  return out;
}

}  // namespace

Result<std::unique_ptr<manager::Sleeper>> load_to_sleep(const ServeFlags& flags) {
  const auto shared = std::make_shared<const ServeFlags>(flags);
  PUNA_TRY(manager::Entry entry, entry_of(flags));
  auto loader = std::make_shared<manager::InProcess>(
      [shared](const manager::Entry&) { return recipe_of(shared); });
  return manager::Sleeper::load(std::move(entry), milliseconds(flags.many.sleep_after.value_or(-1)),
                                std::move(loader));
}

}  // namespace puna::cli::serve
