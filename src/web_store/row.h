// A row as it is kept, and how changes of several devices become one: member by member, the later
// one holds, whatever the order in which they arrive (a map of last-writer-wins registers: Shapiro
// et al. 2011, "A comprehensive study of Convergent and Commutative Replicated Data Types", 3.2).
// Whether a row is removed does not depend on their order either. What a removal takes is gone for
// good, so that changes of members that were made later and came earlier are lost where the row
// comes back. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "api/web_store.h"
#include "base/json.h"

namespace puna::web_store {

struct Row {
  base::Json value = base::Json::object();
  base::Json times = base::Json::object();  // ms since 1970, of each member and those that are gone
  std::optional<int64_t> whole_ms{};        // of the latest value that had all members
  std::optional<int64_t> removed_ms{};      // of the latest removal

  bool is_removed() const { return removed_ms && (!whole_ms || *removed_ms >= *whole_ms); }
  // False: some of its members came, and nobody has told of the others.
  bool is_known() const { return whole_ms || removed_ms; }
};

// Of equal times the change holds. Times behind `now_ms` count as that. A row that is removed has
// neither value nor times.
void merge(Row& row, const api::WebChange& change, int64_t now_ms);
// As a change that removes it would.
void remove(Row& row, int64_t time_ms);

}  // namespace puna::web_store
