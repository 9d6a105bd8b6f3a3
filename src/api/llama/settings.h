// What a text is written by, as llama.cpp's server tells it: `generation_settings` of answers and
// `params` of /props.
#pragma once

#include "base/json.h"
#include "service/request.h"

namespace puna::api::llama {

base::Json settings_json(const service::Request& request, bool stream);

}  // namespace puna::api::llama
