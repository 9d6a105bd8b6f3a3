// The first look at a request, when its head has come: whether it is let in, what it is for, and
// the answers that need no model.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/core.h"
#include "server/page/page.h"
#include "server/wire.h"

namespace puna::server {

class Sockets;

class Front final : public Handler {
 public:
  Front(std::shared_ptr<Core> core, std::span<const Route> routes);

  // For what metrics say of connections; null: not listening.
  void set_sockets(const Sockets* sockets) { sockets_ = sockets; }

  // Handler:
  std::optional<api::HttpReply> check(Incoming& incoming) override;
  std::optional<api::HttpReply> open_sink(Incoming& incoming, std::function<void()> room) override;
  void handle(Incoming incoming, std::shared_ptr<Responder> responder) override;
  void refused(const Incoming& incoming, int status) override;

 private:
  // In this order; a reply refuses the request.
  std::optional<api::HttpReply> read_target(Incoming& incoming) const;
  std::optional<api::HttpReply> check_origin(Incoming& incoming) const;
  std::optional<api::HttpReply> find_route(Incoming& incoming) const;
  std::optional<api::HttpReply> check_rights(Incoming& incoming) const;
  std::optional<api::HttpReply> check_readiness(const Incoming& incoming) const;
  std::optional<api::HttpReply> check_switches(const Incoming& incoming) const;
  api::HttpReply answer(Own own) const;
  std::vector<api::ModelLease> models() const;
  // All that there are, where they come and go.
  std::vector<api::ModelStatus> known_models() const;
  api::HttpReply loads() const;

  const std::shared_ptr<Core> core_;
  const std::span<const Route> routes_;
  const Page page_;
  // Few ask for it, and no start waits for it: the first who does has it made.
  mutable std::once_flag openapi_made_;
  mutable std::string openapi_;
  const Sockets* sockets_ = nullptr;
};

}  // namespace puna::server
