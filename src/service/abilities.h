// What a chat template can do, found by trying it on a small conversation when a model is loaded.
#pragma once

#include "base/json.h"
#include "chat/template.h"
#include "service/request.h"

namespace puna::service {

struct Abilities {
  bool tools = false;            // it shows the model the tools that it may call
  bool thinking = false;         // it has a switch for thinking
  bool thinking_levels = false;  // and one for how much
};
Abilities find_abilities(const chat::Template& chat_template);

// Sets the variables that templates read about thinking: no family reads all of them.
void set_thinking(base::Json& variables, Think think);

}  // namespace puna::service
