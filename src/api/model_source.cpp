#include "api/model_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace puna::api {
namespace {

// Names are compared without case; "model" and "model:latest" are the same.
bool same_name(std::string_view a, std::string_view b) {
  const auto bare = [](std::string_view name) {
    constexpr std::string_view kLatest = ":latest";
    return name.ends_with(kLatest) ? name.substr(0, name.size() - kLatest.size()) : name;
  };
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(bare(a), bare(b), {}, lower, lower);
}

}  // namespace

OneModel::OneModel(ServedModel model)
    : model_(std::make_shared<const ServedModel>(std::move(model))) {}

void OneModel::acquire(std::string_view name, std::function<void(base::Result<ModelLease>)> done) {
  const bool known = name.empty() || std::ranges::any_of(model_->aliases, [&](const auto& alias) {
                       return same_name(name, alias);
                     });
  if (known) return done(model_);
  done(base::fail(
      base::ErrorCode::kNotFound,
      fmt::format("The model \"{}\" is not served here; there is \"{}\".", name, model_->id)));
}

}  // namespace puna::api
