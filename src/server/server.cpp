#include "server/server.h"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "server/core.h"
#include "server/front.h"
#include "server/sockets.h"
#include "server/watchdog.h"

namespace puna::server {

using std::chrono::milliseconds;

class Server::Impl {
 public:
  Impl(const Options& options, std::span<const Route> routes)
      : core(std::make_shared<Core>(options)), front(core, routes), sockets(core->options, front) {
    front.set_sockets(&sockets);
    constexpr milliseconds kSeldom{60'000};
    sockets.every(std::min(kSeldom, core->options.streams.kept / 5 + milliseconds(1)),
                  [core = core] { core->streams.sweep(); });
  }

  const std::shared_ptr<Core> core;
  Front front;
  Sockets sockets;
  // Not beyond the models.
  std::optional<Watchdog> watchdog;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() { stop(); }

base::Result<std::unique_ptr<Server>> Server::listen(const Options& options,
                                                     std::span<const Route> routes) {
  auto impl = std::make_unique<Impl>(options, routes);
  PUNA_TRY(impl->sockets.listen());
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

const std::vector<Address>& Server::addresses() const { return impl_->sockets.addresses(); }

void Server::serve(api::ModelSource& models, api::StoreSource* store, api::WebStore* web_store) {
  impl_->core->store = store;
  impl_->core->web_store = web_store;
  impl_->core->models = &models;
  impl_->watchdog.emplace([&models] { return models.loaded(); }, impl_->core->metrics);
}

void Server::set_keys(const std::vector<std::string>& keys) { impl_->core->guard.set_keys(keys); }

void Server::drain(milliseconds time) {
  // Those who are told to end have so long to be told, and clients to read the last of it.
  constexpr milliseconds kToEnd{2'000};
  constexpr milliseconds kBetweenLooks{5};
  impl_->core->draining = true;
  impl_->sockets.stop_accepting();
  impl_->core->streams.stop_unread();
  if (!impl_->core->pending.wait(time)) {
    impl_->sockets.stop_work();
    impl_->core->streams.shut_down();
    impl_->core->pending.wait(kToEnd);
  }
  impl_->sockets.wind_down();
  for (base::Timer timer; impl_->sockets.n_connections() > 0 && timer.ms() < kToEnd.count();)
    std::this_thread::sleep_for(kBetweenLooks);
}

void Server::stop() {
  impl_->watchdog.reset();
  impl_->core->draining = true;
  impl_->sockets.stop();
  impl_->core->works.stop();
  impl_->core->pool.stop();
  impl_->core->streams.clear();
}

}  // namespace puna::server
