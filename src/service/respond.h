// Answers requests: ids become a stream of events. Text only appears here in whole UTF-8 characters
// and never includes a stop string.
#pragma once

#include "base/result.h"
#include "base/task.h"
#include "service/model.h"
#include "service/prepare.h"
#include "service/request.h"

namespace puna::service {

// Runs a request, beside others that run; the model outlives the task. Errors: those of
// engine::Scheduler::generate().
base::Task<base::Result<Reply>> respond(LoadedModel& model, Prepared prepared, OnEvent on_event);
// The same, blocking.
base::Result<Reply> run(LoadedModel& model, Prepared prepared, const OnEvent& on_event);
// Prepares it before. Errors: those of prepare() too.
base::Result<Reply> run(LoadedModel& model, Request request, const OnEvent& on_event);

}  // namespace puna::service
