// What a model says of itself beside its weights, as those who look at it are told.
#pragma once

#include <string>

#include "base/json.h"

namespace puna::service {

// Empty and null for what there is not.
struct ModelTexts {
  std::string license{};
  std::string modelfile{};
  std::string parameters{};  // as parameters_text() has them (shown.h)
  std::string chat_template{}, system{};
  std::string renderer{}, parser{}, minimal_version{};
  base::Json messages{};  // [{role, content}]
};

}  // namespace puna::service
