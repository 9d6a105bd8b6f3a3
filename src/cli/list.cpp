// puna list: the models of this machine, whichever program keeps them.

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <memory>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "io/byte_source.h"
#include "store/store.h"

namespace puna::cli {
namespace {

using base::Json;
using store::StoredModel;

constexpr size_t kShortIdDigits = 12;  // as ollama shows

struct ListFlags {
  std::string prefix;
  std::vector<std::string> folders;
  bool json = false;
};

Json model_json(const store::Store& store, const StoredModel& model) {
  Json out = Json::object();
  out.set("name", store.shown_name(model.name))
      .set("from", store::origin_name(model.origin))
      .set("path", model.path)
      .set("digest", model.digest ? Json(model.digest->hex()) : Json())
      .set("size", model.bytes)
      .set("modified", model.modified_s);
  out.set("projector", model.projector)
      .set("family", model.family)
      .set("parameter_size", model.parameters)
      .set("quantization_level", model.file_type);
  return out;
}

std::string day(int64_t unix_s) {
  const std::time_t time = unix_s;
  std::tm local{};
  ::localtime_r(&time, &local);
  return fmt::format("{:%Y-%m-%d %H:%M}", local);
}

constexpr Column kColumns[] = {{"NAME"}, {"ID"}, {"SIZE", /*right=*/true}, {"MODIFIED"}, {"FROM"}};

void print_models(const store::Store& store, const std::vector<StoredModel>& models) {
  std::vector<std::vector<std::string>> rows;
  for (const StoredModel& model : models) {
    const std::string from =
        model.origin == store::Origin::kPuna
            ? std::string(store::origin_name(model.origin))
            : fmt::format("{} ({})", store::origin_name(model.origin), model.path);
    rows.push_back({base::printable(store.shown_name(model.name)),
                    model.digest ? model.digest->hex().substr(0, kShortIdDigits) : "-",
                    human_bytes(model.bytes), day(model.modified_s), base::printable(from)});
  }
  print_table(kColumns, rows);
}

base::Result<int> run_list(const ListFlags& flags) {
  PUNA_TRY(const std::string root, store::default_root());
  std::vector<store::Place> places = store::places_of_environment();
  for (const std::string& folder : flags.folders) {
    if (!io::is_folder(folder)) {
      return base::fail(base::ErrorCode::kNotFound,
                        fmt::format("--models-dir is \"{}\", which is no folder.", folder));
    }
    places.push_back({store::Origin::kFolder, folder});
  }
  const store::Store store(root, store::catalogue(), std::move(places));
  PUNA_TRY(std::vector<StoredModel> models, store.list());
  const std::string prefix = store::lower_case(flags.prefix);
  std::erase_if(models, [&](const StoredModel& model) {
    return !store::lower_case(store.shown_name(model.name)).starts_with(prefix);
  });
  if (!flags.json) {
    print_models(store, models);
    return 0;
  }
  Json list = Json::array();
  for (const StoredModel& model : models) list.push(model_json(store, model));
  Json out = Json::object();
  out.set("models", std::move(list));
  print_json(out);
  return 0;
}

}  // namespace

Action add_list(CLI::App& app) {
  auto flags = std::make_shared<ListFlags>();
  app.add_option("PREFIX", flags->prefix, "Only models whose name begins so");
  not_empty(app.add_option("--models-dir", flags->folders, "Look in this folder, too"))
      ->allow_extra_args(false);
  app.add_flag("--json", flags->json, "Print one JSON document");
  return [flags] { return run_list(*flags); };
}

}  // namespace puna::cli
