#include "cli/serve/loading.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <utility>

#include "api/answer_fields.h"
#include "base/log.h"
#include "cli/model_flags.h"
#include "service/model_card.h"

namespace puna::cli::serve {

using base::Result;

namespace {

// How many tokens all texts may have together, and how many each of them: where --ctx does not say
// it, all there are or a share of them, up to what the model was trained with.
void set_room(const ServeFlags& flags, const formats::ModelFile& file,
              engine::EngineOptions& options) {
  options.cache_tokens = flags.pool_tokens;
  std::optional<uint64_t> room = flags.pool_tokens;
  if (room && flags.splits_pool) room = std::max<uint64_t>(*room / flags.n_parallel, 1);
  if (flags.share) {
    room = flags.share;
    if (!flags.pool_tokens) options.cache_tokens = *room * flags.n_parallel;
  }
  if (!room) return;
  const uint64_t trained = service::number_of(file, "context_length");
  if (trained > 0) room = std::min(*room, trained);
  const bool bounds = flags.splits_pool || flags.share;
  const uint32_t own = options.context.value_or(0);
  if (own == 0 || bounds)
    options.context = static_cast<uint32_t>(own == 0 ? *room : std::min<uint64_t>(own, *room));
}

// Thinking as the flags have it, as far as the model's template has switches for it.
service::Think think_of(const ServeFlags& flags, const service::LoadedModel& model) {
  using service::Think;
  Think wanted = flags.effort.value_or(Think::kDefault);
  if (wanted == Think::kDefault || flags.think == Think::kOff)
    wanted = flags.think.value_or(Think::kDefault);
  // No room for thinking: what has a switch is told so.
  const bool none = model.defaults.request.max_thinking == 0u && model.abilities.thinking;
  if (wanted == Think::kDefault) return none ? Think::kOff : wanted;
  const bool level = wanted > Think::kOn;
  if (level ? model.abilities.thinking_levels : model.abilities.thinking) return wanted;
  base::log_warning("The chat template of {} has no switch for {}, so the flag has no effect.",
                    model.name, level ? "how much the model thinks" : "thinking");
  return level && model.abilities.thinking ? Think::kOn : Think::kDefault;
}

// Flags about what this model, on this device, does not have.
void say_what_has_no_effect(const ServeFlags& flags, const engine::Engine& engine) {
  const auto say = [](std::string_view flag, std::string_view why) {
    base::log_warning("{} has no effect: {}.", flag, why);
  };
  if (!engine.device() && flags.fit.spare_bytes > 0)
    say("--fit-target", "the model is not on a GPU");
  if (!engine.device() && flags.fit.least_context) say("--fit-ctx", "the model is not on a GPU");
  if (engine.device() && flags.fit.least_context && asks_for_room(flags))
    say("--fit-ctx", "the context was asked for");
  // Requests of Ollama's dialect may ask for a shift themselves.
  if (flags.n_keep && !flags.shifts) say("--keep", "a full context ends a text");
  if (engine.recurrent()) return;
  if (flags.states_each) say("--ctx-checkpoints", "the model has no recurrent states");
  if (flags.state_interval) say("--checkpoint-min-step", "the model has no recurrent states");
}

}  // namespace

std::string name_of_path(std::string model) {
  while (model.size() > 1 && model.ends_with('/')) model.pop_back();
  const std::filesystem::path path(model);
  return (path.extension() == ".gguf" ? path.stem() : path.filename()).string();
}

Result<service::OpenOptions> options_of(const ServeFlags& flags, ProgressBar& bar) {
  PUNA_TRY(service::OpenOptions options, open_options(flags.model, {}, bar));
  options.pull = !flags.offline;
  options.mmproj = flags.mmproj;
  if (!flags.finds_mmproj) options.mmproj.path.clear();
  options.engine.n_sequences = flags.n_parallel;
  options.engine.host_cache_bytes = flags.cache_ram_mib << 20;
  options.engine.step_ms = flags.step_ms;
  options.engine.fit = flags.fit;
  options.one_gpu = flags.one_gpu;
  if (flags.one_gpu) options.engine.more_gpus.shares.clear();
  options.engine.check_weights = flags.check_weights;
  if (flags.states_each) options.engine.states_each = *flags.states_each;
  if (flags.state_interval) options.engine.state_interval = *flags.state_interval;
  for (const auto& change : flags.defaults) change(options.defaults);
  if (flags.shifts) {
    options.defaults.request.shift.emplace().n_keep = api::number_or_none(flags.n_keep.value_or(0));
  }
  return options;
}

bool asks_for_room(const ServeFlags& flags) {
  return flags.model.context || flags.pool_tokens || flags.share;
}

void fit_to_file(const ServeFlags& flags, const formats::ModelFile& file,
                 engine::EngineOptions& options) {
  set_room(flags, file, options);
  // A file that says how embeddings are made is of a model that gives nothing else.
  options.embeddings = flags.embeddings || service::number_of(file, "pooling_type") > 0;
  options.pooling = flags.pooling;
}

service::EncoderWish encoder_wish(const ServeFlags& flags) {
  return {.named = flags.finds_mmproj ? flags.mmproj.path : "", .none = !flags.finds_mmproj};
}

Result<void> find_mmproj(const ServeFlags& flags, const std::string& name,
                         const formats::ModelFile& file, service::OpenOptions& options) {
  PUNA_TRY(const auto encoder, service::find_encoder(name, file, encoder_wish(flags)));
  options.mmproj.path = encoder ? encoder->path : "";
  options.mmproj.bytes = encoder ? encoder->bytes : 0;
  return {};
}

Result<void> finish(const ServeFlags& flags, service::LoadedModel& model) {
  if (flags.pooling && !model.engine->options().embeddings)
    base::log_warning("--pooling has no effect: the model is loaded to give text.");
  say_what_has_no_effect(flags, *model.engine);
  if (!flags.chat_template.empty()) {
    PUNA_TRY(chat::Template chat_template, chat::Template::parse(flags.chat_template));
    service::use_template(model, std::move(chat_template));
  }
  model.defaults.request.think = think_of(flags, model);
  if (model.defaults.request.form) {
    constexpr const char* kWhile = "While binding answers to the form that they have";
    PUNA_TRY_CONTEXT(service::tokenizer_of(model), kWhile);
    PUNA_TRY_CONTEXT(model.forms->filter(*model.defaults.request.form, /*style=*/nullptr,
                                         /*thinking_open=*/false),
                     kWhile);
  }
  PUNA_TRY_CONTEXT(model.engine->check_sampling(model.defaults.request.sampling),
                   "While checking the flags against the model");
  return {};
}

std::vector<std::string> aliases_of(const ServeFlags& flags) {
  std::vector out =
      flags.aliases.empty() ? std::vector{name_of_path(flags.model.model)} : flags.aliases;
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

Result<std::vector<service::LoadedModel>> load(const ServeFlags& flags) {
  ProgressBar bar;
  PUNA_TRY(const service::OpenOptions options, options_of(flags, bar));
  return service::open_replicas(
      options, flags.n_replicas, [&](service::OpenOptions own) -> Result<service::LoadedModel> {
        PUNA_TRY(formats::ModelFile file, service::open_file(own));
        PUNA_TRY(find_mmproj(flags, own.model, file, own));
        fit_to_file(flags, file, own.engine);
        PUNA_TRY(service::LoadedModel model, service::open(std::move(file), own));
        model.name = name_of_path(flags.model.model);
        PUNA_TRY(finish(flags, model));
        return model;
      });
}

api::ServedModel served_model(const ServeFlags& flags,
                              const std::shared_ptr<service::Hosts>& hosts) {
  api::ServedModel out;
  out.file_name = name_of_path(flags.model.model);
  out.aliases = aliases_of(flags);
  out.id = out.aliases.front();
  out.tags = flags.tags;
  out.created = static_cast<int64_t>(std::time(nullptr));
  const formats::ModelFile& file = hosts->model().engine->file();
  for (const auto& source : file.sources) out.file_bytes += source->size();
  if (!file.paths.empty()) out.path = file.paths.front();
  out.n_texts = flags.n_parallel * static_cast<uint32_t>(hosts->all().size());
  out.slot_folder = flags.slot_folder;
  out.hosts = hosts;
  return out;
}

}  // namespace puna::cli::serve
