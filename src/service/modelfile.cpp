#include "service/modelfile.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "service/model_card.h"

namespace puna::service {

using base::Json;
using base::Result;
using kernels::SamplingParams;

namespace {

// A parameter, the field of requests that it is the default of, and how it is taken. `context` is
// that of the model.
struct Parameter {
  std::string_view name;
  std::string_view field;
  void (*take)(const Json& value, uint32_t context, Defaults& to);
};

uint32_t whole(const Json& value) {
  return static_cast<uint32_t>(std::clamp<int64_t>(value.integer(), 0, UINT32_MAX));
}

template <float SamplingParams::* kMember>
void number(const Json& value, uint32_t, Defaults& to) {
  to.request.sampling.*kMember = static_cast<float>(value.number());
}

constexpr Parameter kParameters[] = {
    {"temperature", "temperature", number<&SamplingParams::temperature>},
    {"top_p", "top_p", number<&SamplingParams::top_p>},
    {"min_p", "min_p", number<&SamplingParams::min_p>},
    {"typical_p", "typical_p", number<&SamplingParams::typical_p>},
    {"repeat_penalty", "repeat_penalty", number<&SamplingParams::repeat_penalty>},
    {"presence_penalty", "presence_penalty", number<&SamplingParams::presence_penalty>},
    {"frequency_penalty", "frequency_penalty", number<&SamplingParams::frequency_penalty>},
    {"top_k", "top_k",
     [](const Json& value, uint32_t, Defaults& to) { to.request.sampling.top_k = whole(value); }},
    {"repeat_last_n", "repeat_last_n",
     [](const Json& value, uint32_t context, Defaults& to) {
       to.request.sampling.repeat_last = value.integer() < 0 ? context : whole(value);
     }},
    {"mirostat", "mirostat",
     [](const Json& value, uint32_t, Defaults& to) {
       to.request.sampling.mirostat.version = whole(value);
     }},
    {"mirostat_tau", "mirostat_tau",
     [](const Json& value, uint32_t, Defaults& to) {
       to.request.sampling.mirostat.tau = static_cast<float>(value.number());
     }},
    {"mirostat_eta", "mirostat_eta",
     [](const Json& value, uint32_t, Defaults& to) {
       to.request.sampling.mirostat.eta = static_cast<float>(value.number());
     }},
    {"seed", "seed",
     [](const Json& value, uint32_t, Defaults& to) {
       to.seed = static_cast<uint64_t>(value.integer());
     }},
    // -1 and -2: until the end, or the context is full.
    {"num_predict", "max_tokens",
     [](const Json& value, uint32_t, Defaults& to) {
       to.request.max_tokens.reset();
       if (value.integer() >= 0) to.request.max_tokens = whole(value);
     }},
    {"num_keep", "n_keep",
     [](const Json& value, uint32_t, Defaults& to) {
       if (!to.request.shift) return;
       to.request.shift->n_keep.reset();
       if (value.integer() >= 0) to.request.shift->n_keep = whole(value);
     }},
    {"stop", "stop",
     [](const Json& value, uint32_t, Defaults& to) {
       to.request.stop.clear();
       for (const Json& each : value.items()) to.request.stop.push_back(each.string());
     }},
};

// What the table of parameters says is checked; a store of another program may have anything.
bool is_usable(std::string_view name, const Json& value) {
  if (name == "stop") {
    return value.is_array() && std::ranges::all_of(value.items(), [](const Json& each) {
             return each.is_string() && !each.string().empty();
           });
  }
  constexpr std::string_view kWhole[] = {"top_k", "repeat_last_n", "mirostat",
                                         "seed",  "num_predict",   "num_keep"};
  const bool whole = std::ranges::find(kWhole, name) != std::end(kWhole);
  return whole ? value.is_integer() : value.is_number();
}

void apply_parameters(const Json& parameters, const LoadedModel& model, Defaults& to) {
  if (!parameters.is_object()) return;
  for (const auto& [name, value] : parameters.members()) {
    const auto* const row = std::ranges::find(kParameters, name, &Parameter::name);
    if (row == std::end(kParameters)) continue;  // of loading, or of nothing that there is here
    const auto leave_out = [&](std::string_view why) {
      base::log_warning("The parameter {} of the Modelfile of {} is not used: {}", name, model.name,
                        why);
    };
    if (!is_usable(name, value)) {
      leave_out("it is " + value.dump().substr(0, 100) + ".");
      continue;
    }
    Defaults changed = to;
    row->take(value, model.context(), changed);
    if (const auto fine = kernels::check(changed.request.sampling); !fine) {
      leave_out(fine.error().message);
      continue;
    }
    changed.named.emplace(row->field);
    to = std::move(changed);
  }
}

int64_t whole_parameter(const store::Modelfile& modelfile, std::string_view name,
                        int64_t otherwise) {
  const Json* value = modelfile.parameters.is_object() ? modelfile.parameters.find(name) : nullptr;
  return value && value->is_integer() ? value->integer() : otherwise;
}

}  // namespace

void apply(const store::Modelfile& modelfile, LoadedModel& model) {
  if (modelfile.chat_template) {
    Result<chat::Template> parsed = any_template(*modelfile.chat_template);
    if (parsed) {
      use_template(model, *std::move(parsed));
    } else {
      base::log_warning("The TEMPLATE of {} is not used, {}: {}", model.name,
                        model.chat_template ? "but the model's own" : "and the model has no other",
                        parsed.error().text());
      if (!model.chat_template) model.template_error = std::move(parsed.error());
    }
  }
  Defaults& defaults = model.defaults;
  if (modelfile.system) defaults.system = *modelfile.system;
  for (const store::ModelfileMessage& each : modelfile.messages)
    defaults.messages.push_back({.role = each.role, .content = each.content});
  apply_parameters(modelfile.parameters, model, defaults);
}

void apply(const store::Modelfile& modelfile, uint64_t trained, engine::EngineOptions& options) {
  const int64_t context = whole_parameter(modelfile, "num_ctx", 0);
  if (!options.context && context > 0) {
    const uint64_t most = trained > 0 ? std::min<uint64_t>(trained, UINT32_MAX) : UINT32_MAX;
    options.context = static_cast<uint32_t>(std::min(static_cast<uint64_t>(context), most));
    // Whoever says how much all texts may have says how much one may; without that it is a default,
    // and one text may have all of it.
    if (options.cache_tokens)
      options.cache_tokens = std::max<uint64_t>(*options.cache_tokens, *options.context);
  }
  constexpr int64_t kMostThreads = 1024;
  const int64_t threads = whole_parameter(modelfile, "num_thread", 0);
  if (options.n_threads == 0 && threads > 0)
    options.n_threads = static_cast<int>(std::min(threads, kMostThreads));
  // More than none is what there is room for in any case.
  if (!options.gpu_layers && whole_parameter(modelfile, "num_gpu", -1) == 0) options.gpu_layers = 0;
}

}  // namespace puna::service
