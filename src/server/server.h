// The server: models behind HTTP. listen() takes the addresses, serve() says what is answered
// there. Read next: routes.h, transaction.h, sockets.h.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <vector>

#include "api/model_source.h"
#include "api/store_source.h"
#include "api/web_store.h"
#include "base/result.h"
#include "server/options.h"
#include "server/routes.h"

namespace puna::server {

class Server {
 public:
  // From now on clients are told that a model is being loaded. Errors: those of Sockets::listen().
  // The rows outlive it.
  static base::Result<std::unique_ptr<Server>> listen(
      const Options& options, std::span<const Route> routes = server::routes());
  ~Server();  // stop()
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // With the ports that the system has chosen.
  const std::vector<Address>& addresses() const;
  // Answers by these models, and by what the stores have (null: there is none), which outlive the
  // server or its stop().
  void serve(api::ModelSource& models, api::StoreSource* store = nullptr,
             api::WebStore* web_store = nullptr);

  // The keys that clients have to give from now on, in place of those of the options.
  void set_keys(const std::vector<std::string>& keys);

  // No more is accepted; what is under way has so long to end, then it is told so. Returns when all
  // has ended and is sent.
  void drain(std::chrono::milliseconds time);
  // At once; nothing is answered afterwards.
  void stop();

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace puna::server
