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

bool ServedModel::answers_to(std::string_view name) const {
  if (!file_name.empty() && same_name(file_name, name)) return true;
  return std::ranges::any_of(aliases,
                             [&](const std::string& each) { return same_name(each, name); });
}

OneModel::OneModel(ServedModel model) {
  model.slots = std::make_shared<SlotTable>(model.n_texts);
  model.running = std::make_shared<Running>();
  model_ = std::make_shared<const ServedModel>(std::move(model));
}

void OneModel::acquire(std::string_view name, std::function<void(base::Result<ModelLease>)> done) {
  if (name.empty() || model_->answers_to(name)) return done(model_);
  done(base::fail(
      base::ErrorCode::kNotFound,
      fmt::format("The model \"{}\" is not served here; there is \"{}\".", name, model_->id)));
}

}  // namespace puna::api
