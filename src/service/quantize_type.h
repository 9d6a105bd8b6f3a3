// What a model is to be written as, by the names that users have for it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "formats/quantize.h"

namespace puna::service {

// Names of the mixes that can be written, for help texts.
std::string writable_mixes();

// "q4_k_m", "pure:q4_k", of any case. Errors: kUsage.
base::Result<formats::QuantizeOptions> parse_type(std::string_view text);

}  // namespace puna::service
