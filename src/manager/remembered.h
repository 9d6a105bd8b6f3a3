// What a model knows of texts, kept in host memory while it sleeps (service/kept.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "manager/instance.h"
#include "service/hosts.h"

namespace puna::manager {

// What each of the hosts knows of texts that have ended, up to so many bytes of each; null:
// nothing. `name` says whose weights computed it. Waits for the hosts.
std::unique_ptr<Memories> remember(const service::Hosts& hosts, const std::string& name,
                                   uint64_t most_bytes);
// What was remembered is known again, by as many hosts as there are, as far as it fits. Waits for
// the hosts.
void recall(service::Hosts& hosts, const std::string& name, const Memories& memories);

}  // namespace puna::manager
