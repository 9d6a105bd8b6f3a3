// What is known of a model that sleeps: what it was when it went to sleep.
#pragma once

#include "api/model_source.h"

namespace puna::manager {

// Of one that is loaded. It has the same names, facts, props and counts, and no process that would
// answer.
api::ModelLease asleep_of(const api::ServedModel& model);

}  // namespace puna::manager
