#include "service/host_here.h"

#include <utility>

namespace puna::service {

HostHere::HostHere(LoadedModel model, engine::GiveWay later, HostOptions options)
    : Host(std::move(model), options) {
  inbox().set_on_mail([this, later = std::move(later), alive = std::weak_ptr(alive_)] {
    later([this, alive] {
      if (!alive.expired()) turn();
    });
  });
}

// What is left of answers may still knock.
HostHere::~HostHere() { inbox().set_on_mail({}); }

}  // namespace puna::service
