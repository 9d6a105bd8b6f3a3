// Store::pull of a build without PUNA_HTTP.
#include <fmt/format.h>

#include "store/store.h"

namespace puna::store {

base::Result<std::string> Store::pull(std::string_view name, const PullOptions&) const {
  PUNA_TRY(const ModelName wanted, parse_name(name));
  if (base::Result<std::string> stored = stored_path(wanted); stored) return stored;
  return base::fail(
      base::ErrorCode::kUnsupported,
      fmt::format("This build has no downloads, so it cannot pull {}.", wanted.text()));
}

}  // namespace puna::store
