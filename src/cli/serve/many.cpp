#include "cli/serve/many.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/log.h"
#include "cli/output.h"
#include "cli/serve/child.h"
#include "cli/serve/loading.h"
#include "cli/serve/presets.h"
#include "cli/serve/recipe.h"
#include "io/byte_source.h"
#include "manager/children.h"
#include "manager/shelf.h"
#include "service/known_senses.h"
#include "store/store.h"

namespace puna::cli::serve {

using base::ErrorCode;
using base::Result;
using manager::Entry;

namespace {

constexpr uint64_t kMib = 1 << 20;

// What all models of a server have in common, for as long as it runs.
struct Setup {
  GivenFlags given;
  Presets presets;
  std::string folder;

  // Of models that are not loaded.
  std::unique_ptr<service::KnownSenses> senses = std::make_unique<service::KnownSenses>();

  GivenFlags preset_of(std::string_view name) const {
    GivenFlags out = presets.common;
    if (const Preset* own = presets.find(name))
      out.insert(out.end(), own->given.begin(), own->given.end());
    return out;
  }
};

// What a preset's `model` means: a path, or the name of another. Errors: kNotFound.
Result<Entry> entry_of(const std::string& model, const std::vector<Entry>& entries) {
  const auto known =
      std::ranges::find_if(entries, [&](const Entry& each) { return each.answers_to(model); });
  if (known != entries.end()) return *known;
  if (!io::is_folder(model) && !io::open_file(model)) {
    return base::fail(ErrorCode::kNotFound,
                      fmt::format("There is no file, folder or model \"{}\".", model));
  }
  return Entry{.path = model, .file_name = name_of_path(model)};
}

Result<void> add_preset(const Setup& setup, const Preset& preset, std::vector<Entry>& entries) {
  PUNA_TRY(const ServeFlags flags, read_model_flags({}, setup.preset_of(preset.name)));
  auto to = std::ranges::find_if(entries,
                                 [&](const Entry& each) { return each.answers_to(preset.name); });
  if (to == entries.end() && flags.model.model.empty()) {
    return base::fail(ErrorCode::kNotFound,
                      "there is no such model, and no \"model\" says where it is");
  }
  if (!flags.model.model.empty()) {
    PUNA_TRY(Entry entry, entry_of(flags.model.model, entries));
    entry.id = preset.name;
    entry.aliases = {preset.name};
    if (to != entries.end()) {
      *to = std::move(entry);
    } else {
      to = entries.insert(entries.end(), std::move(entry));
    }
    to->source = "preset";
  }
  to->preset = preset.lines;
  to->load_at_start = preset.load_at_start;
  to->tags = flags.tags;
  to->aliases.insert(to->aliases.end(), flags.aliases.begin(), flags.aliases.end());
  std::ranges::sort(to->aliases);
  return {};
}

// A model for embeddings takes texts alone, as does one whose flags cannot be read.
service::Takes takes_of(const Setup& setup, const Entry& entry) {
  const auto flags = read_model_flags(setup.given, setup.preset_of(entry.id));
  if (!flags || flags->embeddings) return {};
  // By the name that has an encoder beside it in the store.
  const std::string& name = entry.stored_as.empty() ? entry.path : entry.stored_as;
  return setup.senses->of(name, encoder_wish(*flags));
}

// Presets first, then the folder, the store, and the other places of this machine.
Result<std::vector<Entry>> entries_now(const Setup& setup) {
  std::vector<store::StoredModel> models;
  if (!setup.folder.empty()) models = store::models_in({store::Origin::kFolder, setup.folder});
  PUNA_TRY(const store::Store store, store::Store::of_environment());
  PUNA_TRY(const std::vector<store::StoredModel> stored, store.list());
  models.insert(models.end(), stored.begin(), stored.end());
  std::vector<Entry> out = manager::entries_of(models);
  for (const Preset& preset : setup.presets.models) {
    const auto added = add_preset(setup, preset, out);
    if (!added)
      base::log_warning("The preset [{}] is passed over: {}.", preset.name, added.error().text());
  }
  return out;
}

Result<void> pull_from_store(const std::string& stored_as,
                             const manager::Downloads::OnFile& on_file,
                             const std::atomic<bool>& cancelled) {
  PUNA_TRY(const store::Store store, store::Store::of_environment());
  const auto progress = [&](const store::Progress& p) {
    if (p.phase != "downloading" || p.digest == store::Digest()) return;
    on_file(p.digest.text(), {p.done_bytes, p.total_bytes});
  };
  PUNA_TRY(store.pull(stored_as, {.progress = progress, .cancel = &cancelled}));
  return {};
}

// A request that another process answers takes two of them.
void allow_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0)
    base::log_warning("No more than {} descriptors may be open at once.", limit.rlim_cur);
}

}  // namespace

manager::Milliseconds milliseconds(double seconds) {
  constexpr double kMost = 1e9;
  if (seconds < 0 || seconds >= kMost) return manager::kForever;
  return manager::Milliseconds(std::llround(seconds * 1e3));
}

Result<std::unique_ptr<manager::Manager>> manage(const ServeFlags& flags, GivenFlags given) {
  const auto setup = std::make_shared<Setup>();
  setup->given = std::move(given);
  setup->folder = flags.many.folder;
  if (!setup->folder.empty() && !io::is_folder(setup->folder)) {
    return base::fail(ErrorCode::kUsage,
                      fmt::format("--models-dir is \"{}\", which is no folder.", setup->folder));
  }
  if (!flags.many.presets.empty()) {
    PUNA_TRY(setup->presets, read_presets(flags.many.presets));
    for (const std::string& note : setup->presets.notes) print_err("{}\n", note);
  }
  PUNA_TRY(const std::vector<Entry> entries, entries_now(*setup));
  manager::Options options;
  if (const auto room = manager::host_room()) {
    options.limits.bytes[std::string(manager::kHost)] = *room;
    base::log_info("Models may take {} MiB of this machine's memory.", *room / kMib);
  }
  options.limits.n_models = flags.many.most;
  options.limits.n_queued = flags.server.queue;
  options.limits.keep_alive = milliseconds(flags.many.keep_alive);
  options.limits.sleep_after = milliseconds(flags.many.sleep_after.value_or(-1));
  options.autoload = flags.many.autoload;
  options.entries = [setup] { return entries_now(*setup); };
  options.takes = [setup](const Entry& entry) { return takes_of(*setup, entry); };
  options.pull = pull_from_store;
  options.remove = [](const std::string& stored_as) -> Result<void> {
    PUNA_TRY(const store::Store store, store::Store::of_environment());
    return store.remove(stored_as);
  };
  base::log_info("{} here: GET /v1/models lists them.",
                 entries.size() == 1 ? "1 model is" : fmt::format("{} models are", entries.size()));
  allow_descriptors();
  manager::Child::Program program{.arguments = {"puna", std::string(kChildCommand)}};
  program.stall = milliseconds(flags.many.load_timeout);
  PUNA_TRY(auto children, manager::Children::make(program, [setup](const Entry& entry) {
             base::Json extra = base::Json::object();
             extra.set("given", to_json(setup->given));
             extra.set("debug", base::log_enabled(base::LogLevel::kDebug));
             return extra.set("preset", to_json(setup->preset_of(entry.id)));
           }));
  return std::make_unique<manager::Manager>(std::move(options), std::move(children));
}

}  // namespace puna::cli::serve
