// Whether memory is taken when it is allocated (pages.h) or as it is first used, which is usual.
#pragma once

namespace puna::base {

// From now on Pages are taken when they are allocated, so that what is planned is what is taken,
// and memory that is not there is refused then. For a process whose memory others count with.
void commit_pages_at_once();

}  // namespace puna::base
