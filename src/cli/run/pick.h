// Whether puna run asks a running server or runs the model itself.
#pragma once

#include <memory>
#include <optional>

#include "cli/chat/own_model.h"
#include "cli/client/client.h"
#include "cli/run/flags.h"

namespace puna::cli {

// The server that has the model; none: it runs in this process, as flags, a path or the lack of a
// server that has it ask for. Where --host names a server that lacks the model, that one is asked
// to fetch it. What is used instead of a server that a variable names is said on stderr. Errors:
// kUsage for an address; kNetwork where no server answers at --host; those of fetching.
base::Result<std::optional<Client>> pick_server(const RunFlags& flags);

// Loads the model here, and checks flags against it. `media` is encoded before that: beside the
// model there may be no room. `more_may_come`: later messages may have media, too. Errors: those of
// service::open(), of service::find_encoder() and of encoding; kUnsupported for what it lacks.
base::Result<std::unique_ptr<OwnModel>> open_own(const RunFlags& flags,
                                                 const std::optional<service::AnswerForm>& form,
                                                 const MediaFiles& media, bool more_may_come);

}  // namespace puna::cli
