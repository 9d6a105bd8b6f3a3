#include "api/ollama/models.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "api/ollama/details.h"
#include "api/ollama/time.h"

namespace puna::api::ollama {

using base::Json;
using base::Result;

namespace {

// Of a model that stays: far away, but so that clients can still add to it.
constexpr const char* kNever = "2200-01-01T00:00:00Z";

std::string expires_at(const ModelStatus& model) {
  if (!model.seconds_left) return kNever;
  const std::chrono::duration<double> left(*model.seconds_left);
  return timestamp(std::chrono::system_clock::now() +
                   std::chrono::duration_cast<std::chrono::milliseconds>(left));
}

// A model that is served, as the store would have it; none: its file cannot be read, or is not
// there yet.
std::optional<StoredModel> served_model(const ModelSource& models, const ModelStatus& model) {
  if (const ModelLease& lease = model.model ? model.model : model.asleep) {
    StoredModel out;
    out.digest = lease->digest;
    out.bytes = lease->file_bytes;
    out.modified_s = lease->created;
    out.card = lease->facts().card;
    return out;
  }
  auto shown = models.show(model.id);
  if (!shown) return {};
  for (const auto& source : shown->file.sources) shown->model.bytes += source->size();
  return std::move(shown->model);
}

Json models_json(Json list) { return Json::object().set("models", std::move(list)); }

}  // namespace

// Those that are served by other names than the store has them by come first.
Result<Exchange> tags(const Call& call) {
  std::vector<StoredModel> stored;
  if (call.store) {
    PUNA_TRY(stored, call.store->list());
  }
  std::ranges::stable_sort(stored, std::greater{}, &StoredModel::modified_s);
  std::vector<StoredModel> all;
  for (const ModelStatus& model : call.models.list()) {
    for (const std::string& alias : model.aliases) {
      const std::string name = tagged(alias);
      const auto is_same = [&](const StoredModel& each) { return same_name(each.name, name); };
      if (std::ranges::any_of(stored, is_same)) continue;
      if (auto served = served_model(call.models, model)) {
        served->name = name;
        all.push_back(*std::move(served));
      }
    }
  }
  all.insert(all.end(), stored.begin(), stored.end());
  Json list = Json::array();
  for (const StoredModel& model : all) {
    Json one = Json::object().set("name", model.name).set("model", model.name);
    one.set("modified_at", modified_at(model.modified_s)).set("size", model.bytes);
    one.set("digest", model.digest).set("details", details_json(model.card));
    list.push(one.set("capabilities", capabilities_json(model.card)));
  }
  return HttpReply::json(models_json(std::move(list)));
}

Result<Exchange> ps(const Call& call) {
  Json list = Json::array();
  std::vector<ModelStatus> models = call.models.list();
  std::erase_if(models, [](const ModelStatus& model) { return !model.model; });
  // Those that stay longest first.
  std::ranges::stable_sort(models, std::greater(), [](const ModelStatus& model) {
    return model.seconds_left.value_or(std::numeric_limits<double>::infinity());
  });
  for (const ModelStatus& model : models) {
    const ModelFacts facts = model.model->facts();
    const std::string name = tagged(model.id);
    Json one = Json::object().set("name", name).set("model", name);
    one.set("size", facts.memory_bytes).set("digest", model.digest);
    one.set("details", details_json(facts.card)).set("expires_at", expires_at(model));
    one.set("size_vram", facts.gpu_bytes);
    list.push(one.set("context_length", facts.context));
  }
  return HttpReply::json(models_json(std::move(list)));
}

}  // namespace puna::api::ollama
