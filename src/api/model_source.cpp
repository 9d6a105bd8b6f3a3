#include "api/model_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace puna::api {
bool same_name(std::string_view a, std::string_view b) {
  const auto bare = [](std::string_view name) {
    constexpr std::string_view kLatest = ":latest";
    return name.ends_with(kLatest) ? name.substr(0, name.size() - kLatest.size()) : name;
  };
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(bare(a), bare(b), {}, lower, lower);
}

std::string_view name_of(ModelState state) {
  switch (state) {
    case ModelState::kUnloaded:
      return "unloaded";
    case ModelState::kDownloading:
      return "downloading";
    case ModelState::kLoading:
      return "loading";
    case ModelState::kLoaded:
      return "loaded";
    case ModelState::kSleeping:
      break;
  }
  return "sleeping";
}

base::Json files_json(const FilesProgress& files) {
  base::Json out = base::Json::object();
  for (const auto& [file, progress] : files)
    out.set(file, base::Json::object().set("done", progress.done).set("total", progress.total));
  return out;
}

std::vector<ModelStatus> ModelSource::list() const {
  std::vector<ModelStatus> out;
  for (ModelLease& model : loaded()) {
    ModelStatus one{.id = model->id, .aliases = model->aliases, .tags = model->tags};
    one.created = model->created;
    one.digest = model->digest;
    one.model = std::move(model);
    out.push_back(std::move(one));
  }
  return out;
}

base::Result<ShownModel> ModelSource::show(std::string_view name) const {
  return base::fail(base::ErrorCode::kNotFound, fmt::format("There is no model \"{}\".", name));
}

bool ServedModel::answers_to(std::string_view name) const {
  if (!file_name.empty() && same_name(file_name, name)) return true;
  return std::ranges::any_of(aliases,
                             [&](const std::string& each) { return same_name(each, name); });
}

void ServedModel::make_shared_parts() {
  slots = std::make_shared<SlotTable>(n_texts);
  running = std::make_shared<Running>();
}

OneModel::OneModel(ServedModel model) {
  model.make_shared_parts();
  model_ = std::make_shared<const ServedModel>(std::move(model));
}

std::shared_ptr<void> OneModel::acquire(const ModelWish& wish,
                                        std::function<void(base::Result<ModelLease>)> done) {
  if (wish.name.empty() || model_->answers_to(wish.name)) {
    done(model_);
  } else {
    done(base::fail(base::ErrorCode::kNotFound,
                    fmt::format("The model \"{}\" is not served here; there is \"{}\".", wish.name,
                                model_->id)));
  }
  return nullptr;
}

}  // namespace puna::api
