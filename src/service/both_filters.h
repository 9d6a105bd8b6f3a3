// Two filters that a text has to pass both.
#pragma once

#include <memory>

#include "engine/token_filter.h"

namespace puna::service {

// What both allow; what the first forces, else the second. Either may be null.
std::shared_ptr<engine::TokenFilter> both(std::shared_ptr<engine::TokenFilter> first,
                                          std::shared_ptr<engine::TokenFilter> second);

}  // namespace puna::service
