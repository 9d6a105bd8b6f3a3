// GET /slots and POST /slots/{id}. Source: llama.cpp's server, README, "GET /slots".
#pragma once

#include "api/exchange.h"

namespace puna::api::llama {

// One {id, n_ctx, speculative, is_processing} for each text that can be written at once, so many of
// them busy as texts are being written; which text is whose is not told. With fail_on_no_slot=1 503
// when all are busy. Never waits for the engine.
base::Result<Exchange> slots(const Call& call);
// ?action=save, restore or erase: 501, what is known of texts belongs to no slot. Errors:
// kInvalidArgument for another action, or no such slot.
base::Result<Exchange> change_slot(const Call& call);

}  // namespace puna::api::llama
