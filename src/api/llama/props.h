// GET and POST /props. Source: llama.cpp's server, README, "GET /props".
#pragma once

#include "api/exchange.h"

namespace puna::api::llama {

// {default_generation_settings, total_slots, model_alias, model_path, model_ftype, modalities,
//  chat_template, chat_template_caps, bos_token, eos_token, build_info, is_sleeping}: what the
// model has of it. What the server around it has switched on is not in it.
base::Result<Exchange> props(const Call& call);
// The same as data, of a model that runs in this process.
base::Json props_json(const ServedModel& served);
// What needs no model: of one that sleeps what it was, which does not wake it, and of a server of
// several models what that is (router.h).
base::Result<std::optional<HttpReply>> props_before(const Call& call);
// {success}: nothing of it can be changed, as there.
base::Result<Exchange> change_props(const Call& call);

}  // namespace puna::api::llama
