// What a model knows of texts, kept in host memory while it sleeps (service/kept.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "manager/instance.h"
#include "service/host.h"

namespace puna::manager {

// What the host knows of texts that have ended, up to so many bytes; null: nothing. `name` says
// whose weights computed it. Waits for the host.
std::unique_ptr<Memories> remember(service::Host& host, const std::string& name,
                                   uint64_t most_bytes);
// What was remembered is known again, as far as it fits. Waits for the host.
void recall(service::Host& host, const std::string& name, const Memories& memories);

}  // namespace puna::manager
