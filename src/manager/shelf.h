// The models that there are to be loaded, and how much memory there is for them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "manager/instance.h"
#include "store/store.h"

namespace puna::manager {

// Of models of a store and of folders: by their names, without ":latest". Of two with one name the
// first counts.
std::vector<Entry> entries_of(std::span<const store::StoredModel> models);

// Bytes of host memory that models may take: what is free now, and what the control group of this
// process leaves of it, less a tenth for the rest of the process and for files. None: nobody says.
std::optional<uint64_t> host_room();

}  // namespace puna::manager
