#include "cli/serve/recipe.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "cli/serve/loading.h"
#include "cli/serve/table.h"
#include "service/model_card.h"

namespace puna::cli::serve {

using base::Json;
using base::Result;

namespace {

// Tokens that each of the texts has room for that are written at once, where nobody says how many
// all of them may have; one alone may have the whole context. A context for each would be memory
// that most models of a server never use.
constexpr uint64_t kTokensEach = 2048;
// What an engine gives a text at most where nobody asks for a context.
constexpr uint64_t kUsualContext = 8192;

void fit_among_others(const ServeFlags& flags, const formats::ModelFile& file,
                      engine::EngineOptions& options) {
  fit_to_file(flags, file, options);
  if (options.cache_tokens || options.embeddings) return;
  const uint64_t trained = service::number_of(file, "context_length");
  if (trained == 0) return;
  uint64_t context = std::min(trained, kUsualContext);
  if (options.context) context = *options.context > 0 ? *options.context : trained;
  const uint64_t all = context * options.n_sequences;
  options.cache_tokens = std::min(all, std::max(context, kTokensEach * options.n_sequences));
}

}  // namespace

Result<manager::Recipe> recipe_of(const GivenFlags& given, const GivenFlags& preset) {
  PUNA_TRY(ServeFlags read, read_model_flags(given, preset));
  const auto flags = std::make_shared<const ServeFlags>(std::move(read));
  manager::Recipe out;
  ProgressBar nowhere;
  PUNA_TRY(out.options, options_of(*flags, nowhere));
  out.options.pull = false;
  out.options.pull_options = {};
  out.options.engine.hooks = {};
  out.fit = [flags](const std::string& name, const formats::ModelFile& file,
                    service::OpenOptions& options) -> Result<void> {
    fit_among_others(*flags, file, options.engine);
    return find_mmproj(*flags, name, file, options);
  };
  out.finish = [flags](service::LoadedModel& model) { return finish(*flags, model); };
  out.asks_for_room = asks_for_room(*flags);
  out.n_texts = flags->n_parallel;
  out.n_replicas = flags->n_replicas;
  out.slot_folder = flags->slot_folder;
  return out;
}

Json to_json(const GivenFlags& given) {
  Json out = Json::array();
  for (const auto& [flag, value] : given) out.push(Json::array().push(flag->name()).push(value));
  return out;
}

Result<GivenFlags> read_given(const Json& json) {
  const auto wrong = [] {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      "What is told of flags is no list of them.");
  };
  if (!json.is_array()) return wrong();
  GivenFlags out;
  for (const Json& each : json.items()) {
    if (!each.is_array() || each.items().size() != 2 || !each.items()[0].is_string() ||
        !each.items()[1].is_string())
      return wrong();
    const Flag* const flag = find_flag(each.items()[0].string());
    if (!flag) return wrong();
    out.emplace_back(flag, each.items()[1].string());
  }
  return out;
}

}  // namespace puna::cli::serve
