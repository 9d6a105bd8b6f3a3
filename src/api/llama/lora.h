// /lora-adapters: which adapters (LoRA) a model was loaded with, and how strong they are. There are
// none yet.
#pragma once

#include "api/exchange.h"

namespace puna::api::llama {

// An empty list.
base::Result<Exchange> lora_adapters(const Call& call);

// The body is a list of {"id", "scale"}. Errors: kInvalidArgument when it is no list, kUnsupported
// for one that names any adapter.
base::Result<Exchange> change_lora_adapters(const Call& call);

}  // namespace puna::api::llama
