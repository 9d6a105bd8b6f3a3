// Store::pull and Store::push of a build without PUNA_HTTP.
#include <fmt/format.h>

#include "store/store.h"

namespace puna::store {

base::Result<std::string> Store::pull(std::string_view name, const PullOptions&) const {
  PUNA_TRY(const Resolved found, resolve(name));
  if (!found.needs_pull()) return found.path;
  return base::fail(base::ErrorCode::kUnsupported,
                    fmt::format("This build has no downloads, so it cannot pull {}.", found.name));
}

base::Result<void> Store::fetch_again(const ModelName&, std::vector<Layer>&,
                                      const PullOptions&) const {
  return base::fail(base::ErrorCode::kUnsupported, "This build has no downloads.");
}

base::Result<void> Store::push(std::string_view name, const PullOptions&) const {
  return base::fail(base::ErrorCode::kUnsupported,
                    fmt::format("This build has no HTTP client, so it cannot push {}.", name));
}

}  // namespace puna::store
