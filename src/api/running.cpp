#include "api/running.h"

#include <utility>

namespace puna::api {

std::unique_ptr<Running::Listed> Running::add(std::string id, Controls controls) {
  std::unique_ptr<Listed> out(new Listed(shared_from_this(), id));
  const std::lock_guard lock(mutex_);
  controls_.insert_or_assign(std::move(id), std::move(controls));
  return out;
}

Running::Controls Running::find(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  const auto found = controls_.find(id);
  return found == controls_.end() ? Controls() : found->second;
}

Running::Listed::~Listed() {
  const std::lock_guard lock(list_->mutex_);
  list_->controls_.erase(id_);
}

}  // namespace puna::api
