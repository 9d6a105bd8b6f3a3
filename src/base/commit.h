// Whether memory is taken when it is allocated (pages.h) or as it is first used, which is usual.
#pragma once

#include <cstddef>

namespace puna::base {

// From now on Pages are taken when they are allocated, so that what is planned is what is taken,
// and memory that is not there is refused then. For a process whose memory others count with.
void commit_pages_at_once();

// Takes what was allocated otherwise, where Pages are taken at once. False: there is not so much.
bool commit(std::byte* data, size_t bytes);

}  // namespace puna::base
