// GET /slots and POST /slots/{id}. Source: llama.cpp's server, README, "GET /slots" and "POST
// /slots/{id_slot}". What slots are here: slot_table.h.
#pragma once

#include <span>

#include "api/exchange.h"
#include "api/fields.h"

namespace puna::api::llama {

std::span<const Field> change_slot_fields();

// {id, n_ctx, speculative, is_processing} of each slot, and of one that was used what its text is
// or was: {id_task, params, n_prompt_tokens, n_prompt_tokens_processed, n_prompt_tokens_cache,
// next_token}; how much of the prompt was known is 0 until the text has ended. With
// fail_on_no_slot=1 503 when all are busy. Never waits for the engine.
base::Result<Exchange> slots(const Call& call);
// ?action=save, restore or erase (saved_slot.h). 501 for the first two where no folder was given,
// 503 while the slot is busy. Errors: kInvalidArgument for another action, no such slot, and a
// filename that is no plain name.
base::Result<Exchange> change_slot(const Call& call);

}  // namespace puna::api::llama
