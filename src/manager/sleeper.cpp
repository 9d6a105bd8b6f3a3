#include "manager/sleeper.h"

#include <future>
#include <utility>

namespace puna::manager {

using base::Result;

Result<std::unique_ptr<Sleeper>> Sleeper::load(Entry entry, Milliseconds sleep_after,
                                               std::shared_ptr<Loader> loader) {
  Options options;
  options.limits.keep_alive = kForever;
  options.limits.sleep_after = sleep_after;
  options.entries = [entry = std::move(entry)]() -> Result<std::vector<Entry>> {
    return std::vector{entry};
  };
  std::unique_ptr<Sleeper> out(new Sleeper(std::move(options), std::move(loader)));
  const auto loaded = std::make_shared<std::promise<Result<void>>>();
  const auto waiting = out->acquire({}, [loaded](const Result<api::ModelLease>& model) {
    loaded->set_value(model ? Result<void>() : std::unexpected(model.error()));
  });
  PUNA_TRY(loaded->get_future().get());
  return out;
}

std::shared_ptr<void> Sleeper::acquire(const api::ModelWish& wish,
                                       std::function<void(Result<api::ModelLease>)> done) {
  // How long it stays is not for requests to say, as where it never sleeps.
  return manager_.acquire({.name = wish.name, .use = wish.use}, std::move(done));
}

std::vector<api::ModelLease> Sleeper::loaded() const {
  std::vector<api::ModelLease> out = manager_.loaded();
  if (!out.empty()) return out;
  for (const api::ModelStatus& each : manager_.list()) {
    if (each.asleep) out.push_back(each.asleep);
  }
  return out;
}

}  // namespace puna::manager
