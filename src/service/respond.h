// Writes the text of a request on the thread of the engine: ids become pieces of text, in whole
// UTF-8 characters and without stop strings. Who reads them need not be that thread
// (reply_reader.h); host.h brings both together.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "base/task.h"
#include "kernels/sample/chosen.h"
#include "service/model.h"
#include "service/prepare.h"

namespace puna::service {

struct Piece {
  kernels::Chosen chosen;      // kernels::kNoToken: what was left at the end
  std::string text;            // what became complete with the token; may be empty
  std::string stop_text = {};  // of the last piece: the stop string that the text ended before
  double ms = 0;               // since the text had a sequence; 0 of what was left at the end
};
using OnPiece = std::function<void(Piece)>;
using OnPrompt = std::function<void(const engine::PromptProgress&)>;

// Runs a request, beside others that run; the model outlives the task. on_prompt (may be null): as
// engine::GenerateOptions has it. Errors: those of engine::Scheduler::generate().
base::Task<base::Result<engine::GenerateStats>> respond(LoadedModel& model, Prepared prepared,
                                                        OnPiece on_piece, OnPrompt on_prompt = {});

}  // namespace puna::service
