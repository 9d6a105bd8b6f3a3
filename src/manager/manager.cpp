#include "manager/manager.h"

#include <utility>

#include "manager/shared.h"

namespace puna::manager {

using api::ModelLease;
using base::Result;

Manager::Manager(Options options, std::shared_ptr<Loader> loader)
    : shared_(std::make_shared<Shared>(std::move(options), std::move(loader))) {
  shared_->begin();
}

Manager::~Manager() { stop(); }

void Manager::stop() { shared_->stop(); }

std::shared_ptr<void> Manager::acquire(const api::ModelWish& wish,
                                       std::function<void(Result<ModelLease>)> done) {
  return shared_->acquire(wish, std::move(done));
}

std::vector<ModelLease> Manager::loaded() const { return shared_->loaded(); }
bool Manager::is_remote() const { return shared_->is_remote(); }
// What can be done with a source is done with its models, not with itself.
api::ModelControl* Manager::control() const { return const_cast<Manager*>(this); }

std::vector<api::ModelStatus> Manager::list() const { return shared_->list(); }
void Manager::renew() { shared_->renew(); }
Result<api::ShownModel> Manager::show(std::string_view name) const { return shared_->show(name); }
Result<void> Manager::load(std::string_view name) { return shared_->load(name); }
Result<void> Manager::unload(std::string_view name) { return shared_->unload(name); }
Result<void> Manager::download(std::string_view name, std::string_view stored_as) {
  return shared_->download(name, stored_as);
}
Result<void> Manager::remove(std::string_view name) { return shared_->remove(name); }
std::shared_ptr<void> Manager::listen(std::function<void(const api::ModelEvent&)> told) {
  return shared_->listen(std::move(told));
}
size_t Manager::most_loaded() const { return shared_->options().limits.n_models; }
bool Manager::autoload() const { return shared_->options().autoload; }
void Manager::look_at_clock() { shared_->look_at_clock(); }

}  // namespace puna::manager
